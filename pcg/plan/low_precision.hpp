#pragma once
// Training in low precision, as Transformer Engine does it: which products are in it, and the bytes of what they multiply. Linear layers
// inside of weighty blocks, latent attention's and the experts' with them, multiply in low precision, forward and for both gradients, and
// write bf16. Attention, routers, norms, embeddings, the head and the loss stay in bf16 (DeepSeek-V3, arXiv 2412.19437, section 3.3.1,
// leaves out the same), and so do whole layers where the training says (Bf16Layers).

#include <optional>
#include <string>

#include "base/yaml/reader.hpp"
#include "pcg/plan/plan.hpp"

namespace pcg {

// Whether the products of a node are in the plan's low precision; input 0 is then an activation, and input 1 a weight.
[[nodiscard]] bool multiplies_low(const Plan& plan, const PcgNode& node);

// Reads `bf16_layers: {first: , last: , mtp: }`, where it is given; complains where the precision is not a low one.
[[nodiscard]] Bf16Layers read_bf16_layers(base::MapReader& in, Precision precision);

// Bytes of a number that is cast for a product, its share of the scales among them. Rows are read by the forward product (by the gradient's
// product with the weight, of a gradient), columns by the products of the backward pass; 0 columns: the rows serve either way. Source:
// Transformer Engine, docs/features/low_precision_training: scales are fp32 for a tensor or for 128 numbers, a byte for 32 (mxfp8), a byte
// for 16 (nvfp4).
struct OperandFormat {
  double rows = 0, columns = 0;
  bool amax = false;    // a pass over the tensor finds its largest value before the cast
  double swizzled = 0;  // bytes of scales, for each number, that a kernel brings into the order of the tensor cores
  [[nodiscard]] double kept() const { return rows + columns; }
};
// `copies_columns`: devices read fp8 along rows alone, and need a transposed copy (profiles::DeviceProfile). Requires:
// casts_products(training.precision).
[[nodiscard]] OperandFormat operand_format(const TrainingConfig& training, bool copies_columns);

// The same of a weight, whose scales blockwise fp8 has for 128 x 128 numbers.
[[nodiscard]] OperandFormat weight_format(const TrainingConfig& training, bool copies_columns);
// Why weights cannot be kept so with this precision, or nullopt: they can. Low precision multiplies one format.
[[nodiscard]] std::optional<std::string> wrong_weights(WeightStorage weights, Precision precision);

}  // namespace pcg
