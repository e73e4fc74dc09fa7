#include "sim/dataflow/layout.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace sim {
namespace {

// The shard of each tensor that each point holds. It follows from loops and degrees alone: nodes that have the same devices in another
// order have it in common.
struct Shards {
  std::vector<std::vector<int>> inputs, outputs;
  std::vector<std::vector<int>> input_gradients, output_gradients;
};

Shards shards_of(const pcg::PcgNode& node) {
  Shards all;
  const auto add = [&](auto&& shard_of, std::size_t tensor, std::vector<std::vector<int>>& to) {
    std::vector<int>& of_point = to.emplace_back(static_cast<std::size_t>(node.sharding.points()));
    for (std::size_t p = 0; p < of_point.size(); ++p) of_point[p] = shard_of(*node.space, node.sharding, tensor, static_cast<int>(p));
  };
  for (std::size_t i = 0; i < node.space->inputs.size(); ++i) {
    add(pcg::input_shard, i, all.inputs);
    add(pcg::input_gradient_shard, i, all.input_gradients);
  }
  for (std::size_t j = 0; j < node.space->outputs.size(); ++j) {
    add(pcg::output_shard, j, all.outputs);
    add(pcg::output_gradient_shard, j, all.output_gradients);
  }
  return all;
}

Layout lay(pcg::ParallelShape shape, std::span<const base::DeviceId> points, std::span<const int> shard) {
  Layout l{std::move(shape), {}};
  l.devices.resize(static_cast<std::size_t>(l.shape.shards()));
  std::size_t laid = 0;
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (shard[p] < 0) continue;  // another input's summand
    l.devices[static_cast<std::size_t>(shard[p])] = points[p];
    ++laid;
  }
  // Every shard has its device: else a movement would wait for data that no device holds.
  BASE_CHECK(l.devices.size() == laid, "{} shards for {} points of {}", l.devices.size(), laid, pcg::to_text(l.shape));
  return l;
}

NodeLayouts layouts_of_node(const pcg::Plan& plan, pcg::NodeId id, const Shards& shards) {
  const pcg::PcgNode& node = plan.pcg.node(id);
  const auto inputs = plan.pcg.whole_inputs(id);
  const auto outputs = plan.pcg.whole_outputs(id);
  const pcg::IterationSpace& space = *node.space;
  const pcg::Sharding& s = node.sharding;
  NodeLayouts l;
  l.points = pcg::devices_of(plan.mapping[id.value], s);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    l.inputs.push_back(lay(pcg::input_shape(space, s, i, inputs[i]), l.points, shards.inputs[i]));
    l.input_gradients.push_back(lay(pcg::input_gradient_shape(space, s, i, inputs[i]), l.points, shards.input_gradients[i]));
  }
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    l.outputs.push_back(lay(pcg::output_shape(space, s, j, outputs[j]), l.points, shards.outputs[j]));
    l.output_gradients.push_back(lay(pcg::output_gradient_shape(space, s, j, outputs[j]), l.points, shards.output_gradients[j]));
  }
  return l;
}

// A hash of some facts from which the layouts of a node follow: equal for nodes that are laid out alike.
std::uint64_t layout_hash(const pcg::Plan& plan, std::size_t node) {
  const pcg::MachineView& view = plan.mapping[node];
  base::Hash h(0);
  h(view.start.value);
  for (const int stride : view.strides) h(static_cast<std::uint64_t>(stride));
  for (const base::DeviceId d : view.devices) h(d.value);
  const pcg::PcgNode& n = plan.pcg.nodes()[node];
  for (const int degree : n.sharding.degrees) h(static_cast<std::uint64_t>(degree));
  for (const pcg::ParallelShape& s : n.outputs)
    for (const pcg::ParallelDim& d : s.dims) h(static_cast<std::uint64_t>(d.size));
  return h.value();
}

bool laid_out_alike(const pcg::Plan& plan, std::size_t a, std::size_t b) {
  const pcg::PcgNode &m = plan.pcg.nodes()[a], &n = plan.pcg.nodes()[b];
  const auto same_shape = [&](pcg::TensorRef s, pcg::TensorRef t) { return plan.pcg.shape(s) == plan.pcg.shape(t); };
  return plan.mapping[a] == plan.mapping[b] && m.sharding == n.sharding && m.outputs == n.outputs && *m.space == *n.space &&
         std::ranges::equal(m.inputs, n.inputs, same_shape);
}

}  // namespace

PlanLayouts::PlanLayouts(const pcg::Plan& plan) : number_(plan.pcg.nodes().size(), 0), distinct_(1) {
  std::vector<std::size_t> first{0};                                      // node of each number
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> numbers;  // by hash
  const pcg::PcgNode* last = nullptr;                                     // that was laid out
  Shards shards;
  for (std::size_t n = 0; n < number_.size(); ++n) {
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    if (!node.computes()) continue;
    std::vector<std::uint32_t>& candidates = numbers[layout_hash(plan, n)];
    const auto known = std::ranges::find_if(candidates, [&](std::uint32_t k) { return laid_out_alike(plan, first[k], n); });
    if (known != candidates.end()) {
      number_[n] = *known;
      continue;
    }
    number_[n] = static_cast<std::uint32_t>(distinct_.size());
    candidates.push_back(number_[n]);
    first.push_back(n);
    if (last == nullptr || last->sharding != node.sharding || *last->space != *node.space) shards = shards_of(node);
    last = &node;
    distinct_.push_back(layouts_of_node(plan, pcg::NodeId(n), shards));
  }
}

pcg::TensorRef origin(const pcg::Pcg& pcg, pcg::TensorRef t) {
  while (pcg.node(t.node).parallel_operator()) t = pcg.node(t.node).inputs[0];
  return t;
}

}  // namespace sim
