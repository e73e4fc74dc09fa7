#pragma once
// A plan as text.

#include <string>

#include "pcg/plan/plan.hpp"

namespace pcg {

// The text form, version 1 (docs/formats.md). read_plan(base::parse_yaml(write_plan(p))) == p.
[[nodiscard]] std::string write_plan(const Plan& plan);

}  // namespace pcg
