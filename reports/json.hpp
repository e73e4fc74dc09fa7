#pragma once
// A scenario's answer as JSON, format 1 (docs/formats.md, "Result").

#include <string>

#include "scenarios/result.hpp"

namespace reports {

[[nodiscard]] std::string json(const scenarios::ScenarioResult& r);

}  // namespace reports
