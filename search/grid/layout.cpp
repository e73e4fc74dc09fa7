#include "search/grid/layout.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace search {
namespace {

using pcg::Graph;
using pcg::GraphNode;
using pcg::GraphNodeId;
using pcg::GraphTensorRef;

const std::vector<MeshAxis> kData = {MeshAxis::data_outer, MeshAxis::data_inner};
const std::vector<MeshAxis> kContext = {MeshAxis::context_outer, MeshAxis::context_middle, MeshAxis::context_inner};
const std::vector<MeshAxis> kTensor = {MeshAxis::tensor_outer, MeshAxis::tensor_middle, MeshAxis::tensor_inner};

// The innermost axes of context that have this degree together. Requires: there are such (search/grid/grid.cpp).
std::vector<MeshAxis> inner_context(const Grid& grid, int degree) {
  std::vector<MeshAxis> axes;
  for (std::size_t i = kContext.size(); i-- > 0 && grid.degree(axes) < degree;) axes.insert(axes.begin(), kContext[i]);
  return axes;
}

std::vector<MeshAxis> expert_axes(const Grid& grid) {
  std::vector<MeshAxis> axes = inner_context(grid, std::gcd(grid.expert / grid.size(MeshAxis::tensor_middle), grid.context));
  axes.insert(axes.begin(), MeshAxis::data_inner);
  axes.push_back(MeshAxis::tensor_middle);
  return axes;
}

// Which dims of every tensor hold samples, positions and experts: samples and positions are followed from the inputs through the
// operators' loops, experts from the first product of each expert.
class DimRoles {
 public:
  explicit DimRoles(const Graph& graph) : graph_(graph), samples_(graph.nodes().size(), -1), positions_(samples_), experts_(samples_) {
    const auto consumers = graph.consumers();
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
      if (const auto* input = std::get_if<pcg::Input>(&graph.nodes()[n].op)) seed(GraphNodeId(n), *input, consumers[n]);
      else if (!std::holds_alternative<pcg::Weight>(graph.nodes()[n].op)) follow(GraphNodeId(n));
    }
  }

  // Loops of a node, -1 if it has none.
  [[nodiscard]] int samples(std::size_t n) const { return samples_[n]; }
  [[nodiscard]] int positions(std::size_t n) const { return positions_[n]; }
  [[nodiscard]] int experts(std::size_t n) const { return experts_[n]; }
  [[nodiscard]] bool any_positions() const {
    return std::ranges::any_of(positions_, [](int loop) { return loop >= 0; });
  }

 private:
  // Dim 0 of every input holds samples; dim 1 of indices that select rows of an embedding hold positions.
  void seed(GraphNodeId id, const pcg::Input& input, const std::vector<GraphNodeId>& readers) {
    if (!input.shape.sizes.empty()) sample_dim_[{id, 0}] = 0;
    const bool looked_up =
        std::ranges::any_of(readers, [&](GraphNodeId r) { return std::holds_alternative<pcg::Embedding>(graph_.node(r).op); });
    if (looked_up && input.shape.sizes.size() == 2) position_dim_[{id, 0}] = 1;
  }

  int loop_of(GraphNodeId id, const std::map<GraphTensorRef, int>& dims) const {
    const GraphNode& node = graph_.node(id);
    const pcg::IterationSpace& s = *node.space;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (const auto d = dims.find(node.inputs[i]); d != dims.end())
        if (const int loop = s.inputs[i][static_cast<std::size_t>(d->second)]; loop >= 0) return loop;
    return -1;
  }

  void pass_on(GraphNodeId id, int loop, std::map<GraphTensorRef, int>& dims) const {
    const pcg::IterationSpace& s = *graph_.node(id).space;
    for (std::size_t j = 0; loop >= 0 && j < s.outputs.size(); ++j)
      for (std::size_t d = 0; d < s.outputs[j].size(); ++d)
        if (s.outputs[j][d] == loop) dims[{id, static_cast<int>(j)}] = static_cast<int>(d);
  }

  void follow(GraphNodeId id) {
    samples_[id.value] = loop_of(id, sample_dim_);
    positions_[id.value] = loop_of(id, position_dim_);
    // Images become positions on their way to attention, which says which dim they are.
    if (positions_[id.value] < 0 && std::holds_alternative<pcg::Attention>(graph_.node(id).op))
      positions_[id.value] = pcg::find_loop(*graph_.node(id).space, "s");
    // Operators between an expert's products stay with the expert.
    const bool expert = std::holds_alternative<pcg::ExpertLinear>(graph_.node(id).op);
    experts_[id.value] = expert ? pcg::find_loop(*graph_.node(id).space, "experts") : loop_of(id, expert_dim_);
    pass_on(id, samples_[id.value], sample_dim_);
    pass_on(id, positions_[id.value], position_dim_);
    pass_on(id, experts_[id.value], expert_dim_);
  }

  const Graph& graph_;
  std::map<GraphTensorRef, int> sample_dim_, position_dim_, expert_dim_;
  std::vector<int> samples_, positions_, experts_;
};

// Hands out the axes of the mesh to the loops of one operator; what is left makes copies.
class Assignment {
 public:
  Assignment(const Graph& graph, GraphNodeId node, const Grid& grid) : graph_(graph), node_(node), grid_(grid) {
    layout_.loops.resize(graph.node(node).space->loops.size());
  }

  bool give(int loop, std::vector<MeshAxis> axes) {
    std::erase_if(axes, [&](MeshAxis a) { return grid_.size(a) == 1 || taken_[static_cast<std::size_t>(a)]; });
    if (axes.empty() || loop < 0) return axes.empty();
    std::vector<MeshAxis> all = layout_.loops[static_cast<std::size_t>(loop)];
    all.insert(all.end(), axes.begin(), axes.end());
    if (!can_cut(graph_, node_, loop, grid_.degree(all))) return false;
    // Only now: an axis that cannot be given stays free for another loop.
    for (MeshAxis a : axes) taken_[static_cast<std::size_t>(a)] = true;
    layout_.loops[static_cast<std::size_t>(loop)] = std::move(all);
    return true;
  }

  Layout finish() && {
    for (std::size_t a = 0; a < kMeshAxes; ++a)
      if (!taken_[a] && grid_.sizes[a] > 1) layout_.copies.push_back(static_cast<MeshAxis>(a));
    return std::move(layout_);
  }

 private:
  const Graph& graph_;
  GraphNodeId node_;
  const Grid& grid_;
  Layout layout_;
  bool taken_[kMeshAxes] = {};
};

std::optional<Refusal> indivisible_sequence(const Graph& graph, const Grid& grid) {
  const int parts = grid.sequence_parts();
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const auto& sizes = graph.nodes()[n].outputs[0].sizes;
    if (std::get_if<pcg::Embedding>(&graph.nodes()[n].op) == nullptr || sizes.size() != 3 || sizes[1] % parts == 0) continue;
    return refuse(Constraint::sequence, "a sequence of {} does not divide by context {}{}", sizes[1], grid.context,
                  grid.sequence_parallel ? fmt::format(" x tensor {}", grid.tensor) : "");
  }
  return std::nullopt;
}

std::optional<Refusal> indivisible_experts(const Graph& graph, const Grid& grid) {
  bool found = false;
  for (const GraphNode& n : graph.nodes()) {
    if (!std::holds_alternative<pcg::ExpertLinear>(n.op)) continue;
    found = true;
    const std::int64_t experts = n.outputs[0].sizes[0];
    if (experts % grid.expert != 0)
      return refuse(Constraint::experts, "{}: {} experts do not divide by expert {}", n.name, experts, grid.expert);
  }
  if (!found && grid.expert_tensor < grid.tensor)
    return refuse(Constraint::experts, "{} has no experts to cut among expert_tensor {}", graph.name(), grid.expert_tensor);
  if (!found && grid.expert > 1)
    return refuse(Constraint::experts, "{} has no experts to share among expert {}", graph.name(), grid.expert);
  return std::nullopt;
}

// A capacity factor that gives each expert this capacity: from the middle between one less and as many, so that
// the digits that a message gives are enough.
double capacity_factor_for(std::int64_t places, const pcg::MoeDispatch& op, const pcg::TensorShape& gates) {
  return (static_cast<double>(places) - 0.5) * static_cast<double>(gates.sizes[2]) / (op.top_k * static_cast<double>(gates.sizes[1]));
}

// Ranks that share the sequence route their own tokens, to their own places at every expert.
std::optional<Refusal> indivisible_places(const Graph& graph, const Grid& grid) {
  const int parts = grid.sequence_parts();
  for (const GraphNode& n : graph.nodes()) {
    const auto* dispatch = std::get_if<pcg::MoeDispatch>(&n.op);
    if (dispatch == nullptr || n.outputs[0].sizes[2] % parts == 0) continue;
    const std::int64_t places = n.outputs[0].sizes[2], enough = (places + parts - 1) / parts * parts;
    return refuse(Constraint::experts,
                  "{}: the {} places of a sample at each expert do not divide by context {}{}; capacity_factor {:.4g} gives {}", n.name,
                  places, grid.context, grid.sequence_parallel ? fmt::format(" x tensor {}", grid.tensor) : "",
                  capacity_factor_for(enough, *dispatch, graph.shape(n.inputs[1])), enough);
  }
  return std::nullopt;
}

Refusal indivisible_heads(const GraphNode& node, int degree, const Grid& grid) {
  if (const auto* scan = std::get_if<pcg::StateSpace>(&node.op))
    return refuse(Constraint::heads, "{}: {} groups of state space heads do not divide by {}, tensor {} x context {}", node.name,
                  scan->groups, degree, degree / grid.context, grid.context);
  const auto& attention = std::get<pcg::Attention>(node.op);
  return refuse(Constraint::heads, "{}: {} {} do not divide by {}, tensor {} x {} ranks of context that exchange heads", node.name,
                attention.kv_heads, attention.kv_heads != attention.heads ? "key-value heads" : "attention heads", degree,
                degree / grid.context_all_to_all, grid.context_all_to_all);
}

}  // namespace

pcg::Sharding Layout::sharding(const Grid& grid) const {
  pcg::Sharding s;
  s.copies = grid.degree(copies);
  for (const auto& axes : loops) s.degrees.push_back(grid.degree(axes));
  return s;
}

pcg::MachineView Layout::view(const Grid& grid, std::span<const int> places) const {
  std::vector<MeshAxis> order = copies;
  for (const auto& axes : loops) order.insert(order.end(), axes.begin(), axes.end());
  pcg::MachineView v;
  const int points = grid.degree(order);
  for (int p = 0; p < points; ++p) {
    int rest = p, device = 0;  // of the mesh, of which each direction has a part
    for (std::size_t i = order.size(); i-- > 0;) {
      device += rest % grid.size(order[i]) * grid.stride(order[i]);
      rest /= grid.size(order[i]);
    }
    const int place = places[static_cast<std::size_t>(device / grid.group_devices())];
    v.devices.emplace_back(static_cast<std::size_t>(place * grid.group_devices() + device % grid.group_devices()));
  }
  return pcg::compact(v, sharding(grid));
}

Attempt<std::vector<Layout>> layouts(const Graph& graph, const Grid& grid, const std::vector<int>& block_stages) {
  if (auto refused = indivisible_sequence(graph, grid)) return *refused;
  if (auto refused = indivisible_experts(graph, grid)) return *refused;
  if (auto refused = indivisible_places(graph, grid)) return *refused;
  const auto tensor = tensor_loops(graph, block_stages, grid.tensor);
  if (!tensor) return tensor.refusal();
  const DimRoles roles(graph);
  if (grid.context > 1 && !roles.any_positions())
    return refuse(Constraint::sequence, "{} has no sequence to share among context {}", graph.name(), grid.context);
  const std::vector<MeshAxis> experts = expert_axes(grid), exchanged = inner_context(grid, grid.context_all_to_all);
  std::vector<Layout> result;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const GraphNode& node = graph.nodes()[n];
    if (is_source(node)) {
      result.emplace_back();
      continue;
    }
    Assignment a(graph, GraphNodeId(n), grid);
    // Experts take their axes first: samples and positions of an expert's operators are cut by what is left.
    a.give(roles.experts(n), experts);
    a.give(roles.samples(n), kData);
    std::vector<MeshAxis> heads;
    if (std::holds_alternative<pcg::Attention>(node.op)) heads = exchanged;
    // Megatron-Core exchanges a Mamba layer's positions for heads among the ranks of context (megatron/core/ssm/mamba_context_parallel.py).
    if (std::holds_alternative<pcg::StateSpace>(node.op) && grid.context > 1) heads = kContext;
    if (!heads.empty() && (*tensor)[n] >= 0) heads.insert(heads.begin(), kTensor.begin(), kTensor.end());
    if (!heads.empty() && !a.give(pcg::find_loop(*node.space, "heads"), heads)) return indivisible_heads(node, grid.degree(heads), grid);
    a.give(roles.positions(n), kContext);
    // Tensor ranks that do not cut an expert have their own tokens of it.
    if (roles.experts(n) >= 0) a.give(roles.positions(n), {MeshAxis::tensor_outer});
    if ((*tensor)[n] >= 0) a.give((*tensor)[n], roles.experts(n) >= 0 ? std::vector{MeshAxis::tensor_inner} : kTensor);
    else if (grid.sequence_parallel) a.give(roles.positions(n), kTensor);
    result.push_back(std::move(a).finish());
  }
  return result;
}

std::vector<pcg::Sharding> shardings(const Graph& graph, const Grid& grid, const std::vector<Layout>& layouts) {
  std::vector<pcg::Sharding> result;
  for (std::size_t n = 0; n < layouts.size(); ++n)
    result.push_back(layouts[n].loops.empty() ? pcg::unsharded(*graph.nodes()[n].space) : layouts[n].sharding(grid));
  for (std::size_t n = graph.nodes().size(); n-- > 0;)  // from the back, so that the first reader has the last word
    for (std::size_t i = 0; i < graph.nodes()[n].inputs.size(); ++i) {
      const GraphTensorRef t = graph.nodes()[n].inputs[i];
      if (!std::holds_alternative<pcg::Input>(graph.node(t.node).op)) continue;
      const pcg::ParallelShape wanted = pcg::input_shape(*graph.nodes()[n].space, result[n], i, graph.shape(t));
      for (std::size_t d = 0; d < wanted.dims.size(); ++d) result[t.node.value].degrees[d] = wanted.dims[d].degree;
    }
  return result;
}

}  // namespace search
