#pragma once
// A plan as text.

#include <string>

#include "pcg/plan/plan.hpp"

namespace pcg {

// The text form, version 1 (docs/formats.md). read_plan(base::parse_yaml(write_plan(p))) == p where
// violations(p) is empty, views are compact and no node's name ends in a colon and a number.
[[nodiscard]] std::string write_plan(const Plan& plan);

// What a plan file says besides name, summary, model, rewrites and graph, as a map in the order of the file. Most defaults are left out.
[[nodiscard]] base::Yaml plan_settings(const Plan& plan);

}  // namespace pcg
