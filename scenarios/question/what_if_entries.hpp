#pragma once
// The `what_if:` list of a scenario: changes by name, and sweeps, which stand for the product of their lists.

#include <string>
#include <utility>
#include <vector>

#include "base/yaml/tree.hpp"
#include "scenarios/question/what_if.hpp"

namespace scenarios {

// Returns the what-ifs in order, a sweep as one what-if for each of its points: the last of its keys changes fastest. Problems go to
// `sink`.
[[nodiscard]] std::vector<WhatIf> read_what_ifs(const base::Yaml& list, base::Diagnostics& sink);

}  // namespace scenarios
