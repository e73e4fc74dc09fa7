#pragma once
// Published rules evaluated as their own file means them: each Replicate repeats slices side by side, Reduce adds neighbours, Linear reads
// the first replica and leaves the products of column blocks as replicas.

#include <optional>

#include "search/rules/proof/prove.hpp"
#include "search/rules/published/published_rule.hpp"

namespace rules {

// Returns sizes at which tensors have several rows and the sides differ; or a variable on which a mapped output depends on one side, once
// Linear reads all replicas, while nothing behind that output on the other side is that variable. Nullopt: neither was found.
[[nodiscard]] std::optional<Counterexample> refute(const PublishedRule& r);

}  // namespace rules
