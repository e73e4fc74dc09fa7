#pragma once
// All graphs of a few operators over the variables of a setting, and which of them are equal.

#include <cstdint>
#include <vector>

#include "substitutions/generation/families.hpp"
#include "substitutions/language/rule.hpp"

namespace substitutions {

struct Enumerated {
  std::int64_t graphs = 0;
  std::int64_t classes = 0;         // of equal graphs, with two members or more
  std::vector<Equation> equations;  // left: the representative of its class; over all variables of the setting
};

// Graphs grow operator by operator from the representatives of smaller graphs: of equal graphs the first found, of the fewest operators.
// So a graph with a part that a smaller equation would rewrite is never built: what is said of it follows. Equal means: equal types, and
// equal values at three unrelated choices of small sizes (compared whole; hashes only find what to compare). Inputs of commutative
// operators are ordered; both parts of a split count as one operator. With two outputs: each split of a graph, against the representatives
// of its parts. Deterministic. Cost: about 2 us a graph.
[[nodiscard]] Enumerated enumerate(const Setting& setting, int operators);

}  // namespace substitutions
