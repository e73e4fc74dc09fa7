#pragma once
// Reads the parts of `capacity:` that are about work, money, power and failures. What is wrong goes to the reader's sink, all at once.

#include <optional>
#include <vector>

#include "base/yaml/reader.hpp"
#include "scenarios/capacity/terms.hpp"

namespace scenarios {

// Each asks its reader for its keys alone; whoever made the reader finishes it.

// The keys of the section itself: train, deadline, budget, reliability.
[[nodiscard]] CapacityTerms read_terms(base::MapReader& section);
// The keys of a candidate that are about money and power: price, power, pue, owned. The name is left empty.
[[nodiscard]] CandidateTerms read_candidate_terms(base::MapReader& candidate);
// A candidate's numbers of nodes: an integer or a list of them, each at least 1, in order; empty where it does not say, or is wrong.
[[nodiscard]] std::vector<int> read_nodes(base::MapReader& candidate);

}  // namespace scenarios
