#pragma once
// The kernels that a device runs for a node of a plan, pass by pass, as the framework runs them. Their times: cost_table.hpp.

#include <cstdint>
#include <vector>

#include "pcg/plan/low_precision.hpp"
#include "pcg/plan/plan.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/flow_graph.hpp"

namespace sim {

// Low precision adds to the kernels of products and of what makes their operands: passes for the largest value, casts, transposed
// copies, scales in the order that tensor cores want. Internal to sim/kernels.
//
// Some kernels cast what they make (Transformer Engine 2.x, transformer_engine/pytorch/csrc/extensions/normalization.cpp and
// activation.cpp):
//              delayed   current     blockwise   mxfp8     nvfp4
//   norm       cast      amax        -           -         -
//   activation cast      amax        -           cast      -
// cast: it writes low precision itself; amax: it finds the largest value, and the cast is a kernel; -: pass and cast are kernels. That is
// so where the framework's activations are Transformer Engine's.
// The cast of an operand of a product, before its kernels.
enum class Cast {
  none,     // others have done it
  scales,   // done by the kernel that made it; scales are to be permuted
  kernel,   // its largest value is known where it is wanted
  complete  // after a pass for the largest value where it is wanted
};
// Whether a kernel writes its output for products in bf16 alone, also in low precision, or in low precision alone.
enum class Written { bf16, both, low };

struct CastsOfNode {
  bool low = false;  // a product in low precision
  Cast input = Cast::none, gradient = Cast::none;
  // The share of the operand that is cast here: one that is gathered is cast before, shard by shard.
  double input_share = 1, gradient_share = 1;
  Written output = Written::bf16;         // of the forward kernel
  Written made_gradient = Written::bf16;  // of the kernel of the input gradient, for the product that made the node's input
  bool copies_columns = false;            // pcg::operand_format
  bool operator==(const CastsOfNode&) const = default;
};
// Requires: the node computes.
[[nodiscard]] CastsOfNode casts_of(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, bool copies_columns);

// The kernels of a cast of `elements` numbers of bf16, in the order in which they run. `share`: of them, which are cast before they are
// gathered: columns of fp8 are then made of what was gathered, by a transpose.
enum class Operand { input, gradient, weight };
[[nodiscard]] std::vector<pcg::Kernel> cast_kernels(Operand what, Cast cast, double elements, const pcg::OperandFormat& format,
                                                    double share = 1);
// The casts of a weight of `elements` numbers, after it was updated and gathered.
[[nodiscard]] std::vector<pcg::Kernel> weight_cast_kernels(pcg::WeightStorage storage, double elements, const pcg::OperandFormat& format);

// Bytes that the last kernel of `kernels` writes more than in bf16 where it writes `elements` numbers so.
[[nodiscard]] base::Bytes bytes_written_more(Written written, double elements, const pcg::OperandFormat& format);

// Everything that the kernels of a node's own operator depend on: equal for nodes that repeat from block to block.
struct NodeShape {
  pcg::Operator op;                             // as one shard sees it: its share of the heads
  std::vector<pcg::TensorShape> read, outputs;  // shards; inputs with the halos that the kernels read
  std::vector<bool> needed;                     // per input: whether the backward pass needs its gradient; false for weights
  CastsOfNode casts;                            // of low precision
  bool casts_saved = false;                     // keeps what it reads in fp8: casts it there, and back for the backward pass
  bool unfused_biases = false;                  // experts' last product, whose biases a framework may add in kernels of their own
  bool activated_gate = false;                  // the activation of a gated unit, which its product may compute
  bool second_projection = false;               // of a gated unit, which may be one product with the gate's
  bool received_unsorted = false;               // dispatch or combine of tokens that come by all-to-all to ranks of several experts
  bool permuted_by_library = false;             // dispatch or combine whose library permutes tokens (Dispatch::forwarded_sorted)
  double rows_arriving = 1;                     // dispatch or combine: for each token of its own, where ranks get one copy of a token
  std::int64_t gathering_ranks = 1;             // dispatch or combine: the ranks that gather the tokens of all (Dispatch::all_gather)
  std::int64_t blocks_of_others = 0;            // attention whose positions are cut: blocks of keys of the other ranks of context
  bool trained = false;                         // the backward pass makes gradients of weights that it reads
  bool stored = false;                          // joins or cuts weights alone (FlowGraph::stored): runs no kernels
  bool graphed = false;                         // in a CUDA graph (pcg::GraphedParts): the host launches it in no time
  bool operator==(const NodeShape&) const = default;
};

// `copies_columns`: pcg::operand_format.
// Requires: the node computes.
[[nodiscard]] NodeShape node_shape(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, bool copies_columns = false);

// Each returns the kernels in the order in which they run; none where the pass has no work.
[[nodiscard]] std::vector<pcg::Kernel> forward_kernels(const NodeShape& shape, const pcg::TrainingConfig& training,
                                                       const profiles::FrameworkProfile& framework);
[[nodiscard]] std::vector<pcg::Kernel> input_gradient_kernels(const NodeShape& shape, const pcg::TrainingConfig& training,
                                                              const profiles::FrameworkProfile& framework);
[[nodiscard]] std::vector<pcg::Kernel> weight_gradient_kernels(const NodeShape& shape, const pcg::TrainingConfig& training,
                                                               const profiles::FrameworkProfile& framework);
// Casting a product's weight for all micro-batches, once it is updated and gathered. None where the plan trains in no low precision.
[[nodiscard]] std::vector<pcg::Kernel> weight_casts(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, bool copies_columns);
// Adding up the gradients of outputs that several nodes read.
[[nodiscard]] std::vector<pcg::Kernel> accumulation_kernels(const pcg::Plan& plan, const FlowGraph& flow,
                                                            const profiles::FrameworkProfile& framework, std::uint32_t node);
// Adding a micro-batch's gradients of the node's weights to those of the micro-batches before. None where the framework's
// weight-gradient kernels add them up themselves.
[[nodiscard]] std::vector<pcg::Kernel> gradient_buffer_kernels(const pcg::Plan& plan, const FlowGraph& flow,
                                                               const profiles::FrameworkProfile& framework, std::uint32_t node);
// Copies between the tensors of a unit's weights and the buffers that are gathered, or between those of their gradients and the buffers
// that are reduced, of the node's weights. None where their bytes are 0.
enum class UnitCopy { weights, gradients };
[[nodiscard]] std::vector<pcg::Kernel> unit_copies(const pcg::Plan& plan, const FlowGraph& flow, UnitCopy of,
                                                   const profiles::UnitCopies& copies, std::uint32_t node);

// The library that takes tokens to their experts and back (pcg::Dispatch) says which kernels put them in order. Internal to sim/kernels.
// The first writes into `shape` what the node's kernels depend on there.
// Requires: the node computes. The second changes the kernels of a dispatch or a combine in either pass, and leaves those of all other
// nodes as they are. `makes_tokens`: the pass ends with tokens of the rank's own, as combine does forward and dispatch backward.
void describe_dispatch(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node, NodeShape& shape);
void arrange_tokens(std::vector<pcg::Kernel>& kernels, const NodeShape& shape, const pcg::TrainingConfig& training,
                    const profiles::FrameworkProfile& framework, bool makes_tokens);

}  // namespace sim
