#pragma once
// Weights that are stored and trained as one (Weight::joined).

#include "pcg/graph/graph.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

// Returns the graph with joined weights where it joins weights that nothing else reads. Training such a weight trains its parts alike: the
// optimizers treat every element by itself. Keeps: names, of which a joined weight has that of the concat. Cost: O(nodes + edges).
[[nodiscard]] Graph with_joined_weights(const Graph& graph);
// Returns how many operators compute with weights alone. Where a rewrite adds one, what is trained may not be the model's weights.
[[nodiscard]] std::size_t operators_on_weights(const Graph& graph);

// Returns the PCG with the model's own weights, and what joins and cuts them: it computes the same.
[[nodiscard]] Pcg with_model_weights(const Pcg& pcg);

}  // namespace pcg
