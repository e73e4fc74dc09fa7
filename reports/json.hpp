#pragma once
// A scenario's answer as JSON, format 1 (docs/formats.md, "Result").

#include <string>

#include "reports/explanation.hpp"
#include "scenarios/answer/result.hpp"

namespace reports {

// `explained`: what each plan does otherwise than data parallelism is there, too.
[[nodiscard]] std::string json(const scenarios::ScenarioResult& r, Explained explained = Explained::no);

}  // namespace reports
