#pragma once
// What low precision adds to the kernels of products and of what makes their operands: passes for the largest value, casts, transposed
// copies, scales in the order that tensor cores want. Internal to sim/kernels.
//
// Some kernels cast what they make (Transformer Engine 2.x, transformer_engine/pytorch/csrc/extensions/normalization.cpp and
// activation.cpp):
//              delayed   current     blockwise   mxfp8     nvfp4
//   norm       cast      amax        -           -         -
//   activation cast      amax        -           cast      -
// cast: it writes low precision itself; amax: it finds the largest value, and the cast is a kernel; -: pass and cast are kernels. That is
// so where the framework's activations are Transformer Engine's.

#include <cstdint>
#include <string_view>
#include <vector>

#include "pcg/plan/low_precision.hpp"
#include "pcg/work/kernel.hpp"
#include "sim/dataflow/flow_graph.hpp"

namespace sim {

// Of what a product multiplies, before its kernels.
enum class Cast {
  none,     // others have done it
  scales,   // done by the kernel that made it; scales are to be brought into order
  kernel,   // its largest value is known where it is wanted
  complete  // after a pass for the largest value where it is wanted
};
// Of what a kernel makes for products: nothing of it, beside bf16 for other readers, in place of bf16.
enum class Written { bf16, both, low };

struct CastsOfNode {
  bool low = false;  // a product in low precision
  Cast input = Cast::none, gradient = Cast::none;
  // What is gathered is cast before, so a part of what the product multiplies.
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
// Those of a weight of `elements` numbers, after it was updated and gathered.
[[nodiscard]] std::vector<pcg::Kernel> weight_cast_kernels(pcg::WeightStorage storage, double elements, const pcg::OperandFormat& format);

// Bytes that the last kernel of `kernels` writes more than in bf16 where it writes `elements` numbers so.
[[nodiscard]] base::Bytes bytes_written_more(Written written, double elements, const pcg::OperandFormat& format);

}  // namespace sim
