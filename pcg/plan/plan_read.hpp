#pragma once
// A plan from its text form.

#include "base/yaml/tree.hpp"
#include "pcg/plan/plan.hpp"

namespace pcg {

// Throws: base::InputError with every problem found.
[[nodiscard]] Plan read_plan(const base::Yaml& document);

}  // namespace pcg
