#include "sim/dataflow/layout.hpp"

#include "base/check.hpp"

namespace sim {
namespace {

template <class ShardOf>
Layout lay(pcg::ParallelShape shape, std::span<const base::DeviceId> points, ShardOf shard_of) {
  Layout l{std::move(shape), {}};
  l.devices.resize(static_cast<std::size_t>(l.shape.shards()));
  std::size_t laid = 0;
  for (std::size_t p = 0; p < points.size(); ++p) {
    const int shard = shard_of(static_cast<int>(p));
    if (shard < 0) continue;  // another input's summand
    l.devices[static_cast<std::size_t>(shard)] = points[p];
    ++laid;
  }
  // Every shard has its device: else a movement would wait for data that nobody holds.
  BASE_CHECK(l.devices.size() == laid, "{} shards for {} points of {}", l.devices.size(), laid, pcg::to_text(l.shape));
  return l;
}

NodeLayouts layouts_of_node(const pcg::Plan& plan, pcg::NodeId id) {
  const pcg::PcgNode& node = plan.pcg.node(id);
  const auto inputs = plan.pcg.whole_inputs(id);
  const auto outputs = plan.pcg.whole_outputs(id);
  const pcg::IterationSpace& space = *node.space;
  const pcg::Sharding& s = node.sharding;
  NodeLayouts l;
  l.points = pcg::devices_of(plan.mapping[id.value], s);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    l.inputs.push_back(lay(pcg::input_shape(space, s, i, inputs[i]), l.points, [&](int p) { return pcg::input_shard(space, s, i, p); }));
    l.input_gradients.push_back(
        lay(pcg::input_gradient_shape(space, s, i, inputs[i]), l.points, [&](int p) { return pcg::input_gradient_shard(space, s, i, p); }));
  }
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    l.outputs.push_back(
        lay(pcg::output_shape(space, s, j, outputs[j]), l.points, [&](int p) { return pcg::output_shard(space, s, j, p); }));
    l.output_gradients.push_back(lay(pcg::output_gradient_shape(space, s, j, outputs[j]), l.points,
                                     [&](int p) { return pcg::output_gradient_shard(space, s, j, p); }));
  }
  return l;
}

}  // namespace

std::vector<NodeLayouts> layouts_of(const pcg::Plan& plan) {
  std::vector<NodeLayouts> all(plan.pcg.nodes().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (plan.pcg.nodes()[i].computes()) all[i] = layouts_of_node(plan, pcg::NodeId(i));
  }
  return all;
}

pcg::TensorRef origin(const pcg::Pcg& pcg, pcg::TensorRef t) {
  while (pcg.node(t.node).parallel_operator()) t = pcg.node(t.node).inputs[0];
  return t;
}

}  // namespace sim
