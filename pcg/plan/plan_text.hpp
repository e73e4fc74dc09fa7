#pragma once
// A plan as text, and from it.

#include <string>

#include "base/yaml/tree.hpp"
#include "pcg/plan/plan.hpp"

namespace pcg {

// The text form, version 1 (docs/formats/plan-file.md). read_plan(base::parse_yaml(write_plan(p))) == p where
// violations(p) is empty, views are compact and no node's name ends in a colon and a number.
[[nodiscard]] std::string write_plan(const Plan& plan);

// Returns what a plan file holds besides name, summary, model, rewrites and graph, as a map in the order of the file. Most defaults are
// left out.
[[nodiscard]] base::Yaml plan_settings(const Plan& plan);

// Returns the plan of a plan file. Throws: base::InputError with every problem found.
[[nodiscard]] Plan read_plan(const base::Yaml& document);

}  // namespace pcg
