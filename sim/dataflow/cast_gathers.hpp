#pragma once
// Tensors that low precision casts before tensor parallelism gathers them, so that fewer bytes travel (Transformer Engine,
// docs/features/low_precision_training/performance_considerations, "sequence parallelism"; casts of parts need one scale for all of them,
// whose reduction of a number is left out of account).

#include <cstdint>

#include "sim/dataflow/flow_graph.hpp"

namespace sim {

// What input `reader.input` of a product reads is made in shards by an operator of the same stage, and gathered for such products alone.
// What experts read is dispatched in bf16.
[[nodiscard]] bool is_gathered_cast(const pcg::Plan& plan, const FlowGraph& flow, Use reader);
// The gradient of a product's output comes as shards from its one reader, of the same stage, and is gathered for the product.
[[nodiscard]] bool is_gradient_gathered_cast(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t product);

}  // namespace sim
