#include "sim/results/misaligned_products.hpp"

namespace sim {

std::optional<MisalignedProducts> misaligned_products(const pcg::Plan& plan, const FlowGraph& flow) {
  const bool tf32 = plan.training.precision == pcg::Precision::tf32;
  if (!tf32 && !pcg::is_half(plan.training.precision)) return std::nullopt;
  MisalignedProducts misaligned{.multiple = tf32 ? 4 : 8};
  double all = 0, largest = 0;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    if (!node.computes() || !std::holds_alternative<pcg::Linear>(*node.operation())) continue;
    // Rows of the weight, and with them those of what the layer reads and makes, and of all their gradients.
    const std::vector<std::int64_t> weight = flow.layouts[n].inputs[1].shape.shard().sizes;
    const std::int64_t in = plan.pcg.shard_inputs(pcg::NodeId(n))[0].sizes.back();
    const auto made = static_cast<double>(plan.pcg.shard_outputs(pcg::NodeId(n))[0].elements());
    const double flops = made * static_cast<double>(in);
    all += flops;
    for (const std::int64_t row : weight)
      if (row % misaligned.multiple != 0) {
        misaligned.share += flops;
        if (flops > largest) largest = flops, misaligned.layer = node.name, misaligned.numbers = row;
        break;
      }
  }
  if (misaligned.layer.empty()) return std::nullopt;
  misaligned.share /= all;
  return misaligned;
}

}  // namespace sim
