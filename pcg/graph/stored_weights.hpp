#pragma once
// Weights that are stored and trained as a rewritten graph reads them: several of the model's as one, or one in parts (Weight::parts).

#include <optional>
#include <string>

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

// Returns the graph with weights in the place of concats, splits and slices of weights, where each element of the model's weights is then
// stored once; other weights stay as they are. Training these trains the model's: the optimizers treat every element by itself. Keeps:
// names; a part of a weight is named after it and its place ("up.weight.from512"), what has several has the name of the operator that it
// stands for. Cost: O(nodes + edges), and the square of the parts of a weight.
[[nodiscard]] Graph with_stored_weights(const Graph& graph);
// Returns how many operators compute with weights alone. Where a rewrite adds one, what is trained may not be the model's weights.
[[nodiscard]] std::size_t operators_on_weights(const Graph& graph);

// Returns why the weights cannot be stored and trained as the PCG says and still be the model's: an element that is stored twice, which
// would be trained apart, or parts that do not say the same of the weight that they are of. nullopt: they can. Cost: as above.
[[nodiscard]] std::optional<std::string> storage_fault(const Pcg& pcg);
// Returns the PCG with the model's own weights, and what joins and cuts them: it computes the same. Requires: it has no storage fault.
[[nodiscard]] Pcg with_model_weights(const Pcg& pcg);

}  // namespace pcg
