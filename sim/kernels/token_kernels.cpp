#include "sim/kernels/node_kernels.hpp"

#include "sim/dataflow/token_routing.hpp"

namespace sim {
namespace {

// Whether tokens come to (MoeDispatch) or from (MoeCombine) ranks that hold some of the experts, but not one alone, by all-to-all: in the
// order of the ranks that sent them.
bool receives_unsorted(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const std::int64_t ranks = ranks_of_experts(plan, flow, node);
  if (plan.dispatch != pcg::Dispatch::all_to_all || ranks == 1) return false;
  const bool dispatches = operation_of<pcg::MoeDispatch>(plan, node) != nullptr;
  const pcg::NodeId id(node);
  return ranks < (dispatches ? plan.pcg.whole_outputs(id) : plan.pcg.whole_inputs(id))[0].sizes[0];
}

const pcg::TensorShape& own_tokens(const NodeShape& shape) {
  return std::holds_alternative<pcg::MoeDispatch>(shape.op) ? shape.read[0] : shape.outputs[0];
}

// Sorting reads and writes what the experts read or wrote once more. Counts with the copy that the node runs anyway.
void sort_tokens(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
                 const profiles::FrameworkProfile& framework) {
  if (!shape.received_unsorted || !framework.sorts_exchanged_tokens || kernels.empty()) return;
  const pcg::TensorShape& of_experts = std::holds_alternative<pcg::MoeDispatch>(shape.op) ? shape.outputs[0] : shape.read[0];
  kernels.front().bytes += 2 * pcg::bytes_of(of_experts, training.precision);
}

// Each token is a row for each rank that has some of its experts: these rows are permuted into the order
// of the experts, and not the rank's own tokens.
void permute_arrived(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training) {
  if (shape.rows_arriving == 1) return;
  for (pcg::Kernel& k : kernels)
    if (k.kind == pcg::KernelKind::permutation) k.bytes += (shape.rows_arriving - 1) * pcg::bytes_of(own_tokens(shape), training.precision);
}

// HybridEP's own kernels permute tokens into the order of their experts as they arrive; after the others the framework's permutations do.
void permute_in_library(std::vector<pcg::Kernel>& kernels, const NodeShape& shape) {
  if (!shape.permuted_by_library) return;
  for (pcg::Kernel& k : kernels)
    if (k.kind == pcg::KernelKind::permutation) k.kind = pcg::KernelKind::copy;
}

// Outputs of experts lie among the tokens of all ranks that shared these out, which are zeroed first (torch's index_add and scatter_add,
// which unpermute and the gradient of permute come down to): one pass that writes.
void fill_gathered(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training, bool makes_tokens) {
  if (shape.gathering_ranks == 1 || !makes_tokens || kernels.empty()) return;
  kernels.front().bytes += static_cast<double>(shape.gathering_ranks) * pcg::bytes_of(own_tokens(shape), training.precision);
}

}  // namespace

void describe_dispatch(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, NodeShape& shape) {
  shape.received_unsorted = receives_unsorted(plan, flow, node);
  shape.permuted_by_library = plan.dispatch == pcg::Dispatch::forwarded_sorted;
  if (plan.dispatch == pcg::Dispatch::forwarded || plan.dispatch == pcg::Dispatch::forwarded_sorted)
    shape.rows_arriving = rows_arriving(plan, flow, node);
  if (plan.dispatch == pcg::Dispatch::all_gather) shape.gathering_ranks = ranks_of_experts(plan, flow, node);
}

void arrange_tokens(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
                    const profiles::FrameworkProfile& framework, bool makes_tokens) {
  sort_tokens(kernels, shape, training, framework);
  fill_gathered(kernels, shape, training, makes_tokens);
  permute_arrived(kernels, shape, training);
  permute_in_library(kernels, shape);
}

}  // namespace sim
