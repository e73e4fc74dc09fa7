#pragma once
// A plan as it was understood.

#include <string>

#include "pcg/plan/plan.hpp"

namespace reports {

[[nodiscard]] std::string plan_text(const pcg::Plan& p);
[[nodiscard]] std::string plan_json(const pcg::Plan& p);

}  // namespace reports
