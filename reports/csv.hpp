#pragma once
// A scenario's answer as comma-separated text, one row per run below a header.

#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

[[nodiscard]] std::string csv(const scenarios::ScenarioResult& r);

}  // namespace reports
