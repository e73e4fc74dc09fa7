#include "pcg/resizing/image_sizes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace pcg {
namespace {

constexpr std::array<std::int64_t, 4> kImages = {16, 32, 64, 96};

bool is_image(const TensorShape& s) { return s.sizes.size() == 4; }

std::int64_t stride(const Operator& op) {
  if (const auto* c = std::get_if<Conv2d>(&op)) return std::lcm(c->rows.stride, c->columns.stride);
  if (const auto* p = std::get_if<Pool2d>(&op)) return std::lcm(std::max(p->rows.stride, 1), std::max(p->columns.stride, 1));
  return 1;
}

// Of the longest way through convolutions and pools.
std::int64_t all_strides(const Graph& graph) {
  std::int64_t all = 1;
  std::vector<std::int64_t> before(graph.nodes().size(), 1);  // by node: the strides up to its outputs
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const GraphNode& node = graph.nodes()[n];
    if (!is_image(node.outputs[0])) continue;
    for (GraphTensorRef t : node.inputs) before[n] = std::lcm(before[n], before[t.node.value]);
    before[n] *= stride(node.op);
    all = std::lcm(all, before[n]);
  }
  return all;
}

// Of rows and columns.
std::int64_t all_degrees(const Pcg& pcg) {
  std::int64_t all = 1;
  for (const PcgNode& n : pcg.nodes())
    for (const ParallelShape& s : n.outputs)
      for (std::size_t d = 2; s.dims.size() == 4 && d < 4; ++d) all = std::lcm(all, std::int64_t{s.dims[d].degree});
  return all;
}

}  // namespace

ImageSizes::ImageSizes(const Graph& graph, const Pcg* pcg) {
  for (const GraphNode& n : graph.nodes())
    if (std::holds_alternative<Input>(n.op) && is_image(n.outputs[0])) sizes_.insert({n.outputs[0].sizes[2], n.outputs[0].sizes[3]});
  const std::int64_t degrees = pcg ? all_degrees(*pcg) : 1;
  if (degrees > 1) step_ = all_strides(graph) * degrees;
}

std::int64_t ImageSizes::draw(std::int64_t size, bool last_resort, base::Random& random) const {
  if (last_resort) return size;
  if (step_ == 0) return std::min(kImages[random.below(kImages.size())], size);
  const std::int64_t most = std::max<std::int64_t>(size - kImages[0], 0) / step_;  // so many steps less
  return size - step_ * (most - std::min<std::int64_t>(most, static_cast<std::int64_t>(random.below(2))));
}

}  // namespace pcg
