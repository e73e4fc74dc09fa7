#pragma once
// Two saved plans against each other.

#include <string>

#include "pcg/plan/plan.hpp"

namespace reports {

// Require: the plans are of one model (search/explanation/plan_comparison.hpp).
[[nodiscard]] std::string plan_comparison_text(const pcg::Plan& first, const pcg::Plan& second, std::size_t width);
[[nodiscard]] std::string plan_comparison_json(const pcg::Plan& first, const pcg::Plan& second);

}  // namespace reports
