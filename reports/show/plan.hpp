#pragma once
// A plan as it was understood.

#include <filesystem>
#include <string>

#include "pcg/plan/plan.hpp"

namespace reports {

// Files of the plan's model are named from `directory`.
[[nodiscard]] std::string plan_text(const pcg::Plan& p, const std::filesystem::path& directory, std::size_t width);
[[nodiscard]] std::string plan_json(const pcg::Plan& p, const std::filesystem::path& directory);

}  // namespace reports
