#include "search/solve/operators/operator_catalog.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <variant>

#include "sim/dataflow/dataflow.hpp"
#include "sim/dataflow/internal_movement.hpp"
#include "sim/effort.hpp"
#include "sim/kernels/cost_table.hpp"
#include "sim/memory/model_states.hpp"

namespace search {
namespace {

// Whether a tensor that is trained, or has a gradient for another reason, lies after each node.
std::vector<bool> nodes_with_gradients(const pcg::Graph& graph, const std::vector<pcg::GraphNodeId>& with_gradient) {
  std::vector<bool> is(graph.nodes().size(), false);
  for (const pcg::GraphNodeId n : with_gradient) is[n.value] = true;
  for (std::size_t n = 0; n < is.size(); ++n) {
    const pcg::GraphNode& node = graph.nodes()[n];
    const auto* weight = std::get_if<pcg::Weight>(&node.op);
    is[n] = is[n] || (weight != nullptr && !weight->frozen) ||
            std::ranges::any_of(node.inputs, [&](pcg::GraphTensorRef t) { return is[t.node.value]; });
  }
  return is;
}

bool are_alike(const OperatorKind& a, const OperatorKind& b) {
  return a.node.op == b.node.op && a.node.outputs == b.node.outputs && a.inputs == b.inputs && a.is_weight == b.is_weight &&
         a.has_gradient == b.has_gradient;
}

// Several operators of a kind, each between sources of its own: where a gradient is wanted, the source is a weight.
struct Specimens {
  pcg::Graph graph;
  std::vector<std::uint32_t> nodes;
};
Specimens specimens_of(const OperatorKind& kind, std::size_t count) {
  pcg::GraphBuilder builder("specimens");
  Specimens s;
  for (std::size_t c = 0; c < count; ++c) {
    std::vector<pcg::GraphTensorRef> inputs;
    for (std::size_t i = 0; i < kind.inputs.size(); ++i) {
      const std::string name = fmt::format("input {} of {}", i, c);
      if (kind.has_gradient[i]) inputs.push_back(builder.weight(name, kind.inputs[i]));
      else if (kind.is_weight[i]) inputs.push_back(builder.add_raw(name, pcg::Weight{.shape = kind.inputs[i], .frozen = true}, {}).front());
      else inputs.push_back(builder.input(name, kind.inputs[i]));
    }
    s.nodes.push_back(builder.add_raw(fmt::format("{}", c), kind.node.op, std::move(inputs)).front().node.value);
  }
  s.graph = std::move(builder).build();
  return s;
}

// The nodes of a PCG that are operators, in the order of the graph that it was made of.
std::vector<std::uint32_t> operators_of(const pcg::Pcg& pcg) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < pcg.nodes().size(); ++n)
    if (pcg.nodes()[n].parallel_operator() == nullptr) nodes.push_back(n);
  return nodes;
}

bool is_plain_cut(const Strategy& s, int devices, int machine) {
  std::vector<int> cut;
  for (const int d : s.sharding.degrees)
    if (d > 1) cut.push_back(d);
  if (s.sharding.copies > 1 || s.sharding.points() != devices) return false;
  return cut.size() < 2 || (cut.size() == 2 && cut[1] == machine && s.view.strides[1] == 1);
}

// On the slowest type of device: its kernels, or its host, if that takes longer.
double slowest(std::initializer_list<const sim::Cost*> costs) {
  double device = 0, host = 0;
  std::size_t types = 0;
  for (const sim::Cost* p : costs) types = std::max(types, p->on_type.size());
  for (std::size_t t = 0; t < types; ++t) {
    double on_device = 0, on_host = 0;
    for (const sim::Cost* p : costs) {
      if (p->empty()) continue;
      on_device += p->on_type[t].device.value();
      on_host += p->on_type[t].host.value();
    }
    device = std::max(device, on_device);
    host = std::max(host, on_host);
  }
  return std::max(device, host);
}

// What a strategy costs wherever its points are: kernels and what a device keeps of weights and their state.
StrategyCost cost_on_device(const OperatorKind& kind, const sim::NodeLayouts& layouts, std::uint32_t node,
                            const sim::ModelStateBytes& state, const pcg::TrainingConfig& training, sim::CostTable& costs) {
  StrategyCost cost;
  cost.kernels = slowest({&costs.forward(node), &costs.input_gradient(node), &costs.weight_gradient(node)});
  cost.forward = slowest({&costs.forward(node)});
  cost.buffering = slowest({&costs.gradient_buffer(node)});
  double parameters = 0;
  for (std::size_t i = 0; i < kind.inputs.size(); ++i) {
    if (!kind.is_weight[i]) continue;
    const double elements = layouts.input_gradients[i].shard_elements(), share = 1.0 / layouts.inputs[i].shape.copy;
    if (kind.has_gradient[i]) parameters += elements;
    const sim::ModelStateBytes each = kind.has_gradient[i] ? state : sim::ModelStateBytes{.weight = state.weight, .gradient = 0};
    for (int zero = 0; zero < 4; ++zero)
      cost.state_bytes[static_cast<std::size_t>(zero)] += sim::states_of(zero, {}, each, elements, share).total().value();
  }
  const auto device = [](const sim::Cost::OnType& t) { return t.device.value(); };  // the host's time is the iteration's
  if (parameters > 0)
    cost.update = std::ranges::max(costs.optimizer(training.optimizer, parameters).on_type | std::views::transform(device));
  return cost;
}

}  // namespace

double seconds_of(const StrategyCost& cost, const Objective& w) {
  return cost.kernels + cost.inside + (w.recomputes ? cost.forward : 0) +
         w.per_micro_batch * (cost.update + w.synchronisation * cost.synchronisation) + w.seconds_per_byte * bytes_of(cost, w);
}

double bytes_of(const StrategyCost& cost, const Objective& w) {
  return cost.state_bytes[static_cast<std::size_t>(w.zero)] + w.kept_copies * cost.kept_bytes;
}

OperatorCatalog::OperatorCatalog(const Problem& problem, int most_cut)
    : problem_(problem), most_cut_(most_cut), machines_are_alike_(problem.cluster.is_alike_everywhere()), movements_(problem) {
  const topology::Cluster& cluster = problem.cluster;
  for (const topology::Device& d : cluster.devices())
    machines_are_alike_ =
        machines_are_alike_ && kind_of(d) == kind_of(cluster.devices()[0]) && cluster.node_type(d.node) == cluster.node_type(0);
}

std::vector<KindNumber> OperatorCatalog::kinds_of(const pcg::Graph& graph, const std::vector<pcg::GraphNodeId>& with_gradient) {
  std::vector<KindNumber> of_node(graph.nodes().size(), kSource);
  const std::vector<bool> has_gradient = nodes_with_gradients(graph, with_gradient);
  for (std::uint32_t n = 0; n < of_node.size(); ++n) {
    const pcg::GraphNode& node = graph.nodes()[n];
    if (is_source(node)) continue;
    OperatorKind kind{node, graph.input_shapes(pcg::GraphNodeId(n)), {}, {}};
    for (const pcg::GraphTensorRef t : node.inputs) {
      kind.is_weight.push_back(std::holds_alternative<pcg::Weight>(graph.node(t.node).op));
      kind.has_gradient.push_back(has_gradient[t.node.value]);
    }
    std::vector<KindNumber>& candidates = by_operator_[node.op.index()];
    const auto known = std::ranges::find_if(candidates, [&](KindNumber k) { return are_alike(kinds_[k], kind); });
    if (known != candidates.end()) {
      of_node[n] = *known;
      continue;
    }
    of_node[n] = static_cast<KindNumber>(kinds_.size());
    candidates.push_back(of_node[n]);
    kinds_.push_back(std::move(kind));
  }
  return of_node;
}

std::optional<EdgeKind> OperatorCatalog::edge_at(const pcg::Graph& graph, const std::vector<KindNumber>& kinds, std::uint32_t node,
                                                 std::uint32_t input) const {
  const pcg::GraphTensorRef t = graph.nodes()[node].inputs[input];
  const KindNumber from = kinds[t.node.value], to = kinds[node];
  if (from == kSource) return std::nullopt;
  return EdgeKind{from, static_cast<std::uint32_t>(t.output), to, input, kinds_[to].has_gradient[input]};
}

const StrategyTable& OperatorCatalog::table(KindNumber k, DeviceBlock block) {
  if (const auto at = tables_.find({k, block}); at != tables_.end()) return at->second;
  const OperatorKind& kind = kinds_[k];
  std::vector<Strategy> strategies = strategies_of(kind.node, kind.inputs, block, most_cut_);
  // Some devices of the block may idle: they have no copies of weights to keep up.
  if (std::ranges::find(kind.is_weight, true) != kind.is_weight.end())
    for (int devices = 1; devices <= std::min(machine_size(), block.size - 1); ++devices) {
      if (block.size % devices != 0) continue;
      for (Strategy& s : strategies_of(kind.node, kind.inputs, {block.start, devices}, most_cut_))
        if (s.sharding.copies == 1) strategies.push_back(std::move(s));
    }
  return tables_.emplace(std::pair(k, block), table_of(k, std::move(strategies), block.size)).first->second;
}

Strategy OperatorCatalog::strategy(KindNumber k, DeviceBlock block, std::uint32_t number) {
  const DeviceBlock representative = alike(block);
  return shifted(table(k, representative).strategies[number], block.start - representative.start);
}

bool OperatorCatalog::can_use(KindNumber k, int devices) {
  const auto [at, is_new] = can_use_.try_emplace({k, devices}, false);
  if (is_new) {
    const OperatorKind& kind = kinds_[k];
    at->second = std::ranges::any_of(strategies_of(kind.node, kind.inputs, {0, devices}, most_cut_),
                                     [](const Strategy& s) { return s.sharding.copies == 1; });
  }
  return at->second;
}

const StrategyTable& OperatorCatalog::plain_table(KindNumber k, int devices) {
  const auto [at, is_new] = plain_tables_.try_emplace({k, devices});
  if (!is_new) return at->second;
  const OperatorKind& kind = kinds_[k];
  const std::vector<Strategy> all = strategies_of(kind.node, kind.inputs, {0, devices}, most_cut_);
  std::vector<Strategy> plain;
  std::ranges::copy_if(all, std::back_inserter(plain), [&](const Strategy& s) { return is_plain_cut(s, devices, machine_size()); });
  if (plain.empty()) plain = all;
  return at->second = table_of(k, std::move(plain), devices);
}

double OperatorCatalog::plain_seconds(KindNumber k, int devices, const Objective& objective) {
  return std::ranges::min(plain_table(k, devices).costs |
                          std::views::transform([&](const StrategyCost& c) { return seconds_of(c, objective); }));
}

double OperatorCatalog::alone_seconds(KindNumber k, int devices) {
  const StrategyTable& table = plain_table(k, devices);
  const auto by_samples = [&](const Strategy& s) { return !s.sharding.degrees.empty() && s.sharding.degrees[0] == devices; };
  const auto at = std::ranges::find_if(table.strategies, by_samples);
  if (at != table.strategies.end()) return table.costs[static_cast<std::size_t>(at - table.strategies.begin())].kernels;
  return std::ranges::max(table.costs, {}, &StrategyCost::kernels).kernels;
}

// One plan, in which every sharding has a specimen: strategies that share it differ in which device is at which point.
StrategyTable OperatorCatalog::table_of(KindNumber k, std::vector<Strategy> strategies, int devices) {
  const OperatorKind& kind = kinds_[k];
  StrategyTable table{.strategies = std::move(strategies)};
  problem_.oracle.spend(sim::kCostStrategy.of(table.strategies.size(), devices));
  std::vector<const Strategy*> first;  // of each specimen
  for (const Strategy& s : table.strategies)
    if (first.empty() || first.back()->sharding != s.sharding) first.push_back(&s);
  const Specimens specimens = specimens_of(kind, first.size());
  std::vector<Strategy> of_node(specimens.graph.nodes().size());
  for (std::size_t i = 0; i < first.size(); ++i) of_node[specimens.nodes[i]] = *first[i];
  const pcg::Plan plan = plan_of_strategies(problem_, specimens.graph, of_node);
  const std::vector<std::uint32_t> nodes = operators_of(plan.pcg);
  const sim::FlowGraph flow = sim::flow_graph(plan);
  const sim::ModelStateBytes state = sim::model_state_bytes(plan.training, problem_.oracle.framework(plan.training));
  sim::CostTable costs(plan, flow, problem_.cluster, problem_.oracle.framework(plan.training));
  std::vector<base::DeviceId> name(static_cast<std::size_t>(this->devices()));  // of each device of a specimen in a strategy
  auto s = table.strategies.begin();
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::uint32_t n = nodes[specimens.nodes[i]];
    const sim::NodeLayouts& layouts = flow.layouts[n];
    const sim::InternalMovements inside = sim::internal_movements(plan, flow, n);
    StrategyCost common = cost_on_device(kind, layouts, n, state, plan.training, costs);
    for (const pcg::TensorShape& output : plan.pcg.shard_outputs(pcg::NodeId(n)))
      common.kept_bytes += pcg::bytes_of(output, plan.training.precision).value();
    for (; s != table.strategies.end() && s->sharding == first[i]->sharding; ++s) {
      const std::vector<base::DeviceId> at = pcg::devices_of(s->view, s->sharding);
      for (std::size_t p = 0; p < at.size(); ++p) name[layouts.points[p].value] = at[p];
      const auto rename = [&](std::vector<base::DeviceId>& to) {
        for (base::DeviceId& d : to) d = name[d.value];
      };
      StrategyCost& cost = table.costs.emplace_back(common);
      for (const sim::InternalMovements::Side* side : {&inside.forward, &inside.backward}) {
        for (const std::vector<sim::Movement>* movements : {&side->before, &side->after})
          for (sim::Movement m : *movements) {
            for (sim::Transfer& t : m.rounds | std::views::join) rename(t.group);
            cost.inside += movements_.seconds(m);
          }
        if (side == &inside.forward) cost.forward += cost.inside;
      }
      const auto numbers = [&](const std::vector<sim::Layout>& of_tensors) {
        std::vector<LayoutNumber> list;
        for (sim::Layout l : of_tensors) {
          rename(l.devices);
          list.push_back(movements_.number(l));
        }
        return list;
      };
      table.is_plain.push_back(is_plain_cut(*s, devices, machine_size()));
      table.layouts.push_back(
          {numbers(layouts.inputs), numbers(layouts.outputs), numbers(layouts.input_gradients), numbers(layouts.output_gradients)});
      for (std::size_t w = 0; w < kind.inputs.size(); ++w)
        if (kind.is_weight[w] && kind.has_gradient[w])
          cost.synchronisation += movements_.all_reduce_seconds(table.layouts.back().input_gradients[w],
                                                                base::Bytes(layouts.input_gradients[w].shard_elements() * state.gradient));
    }
  }
  return table;
}

double OperatorCatalog::movement_at_least(const EdgeKind& edge, const StrategyTable::Layouts& from, const StrategyTable::Layouts& to) {
  const double forward = movements_.at_least(from.outputs[edge.output], to.inputs[edge.input]);
  return edge.has_gradient ? forward + movements_.at_least(to.input_gradients[edge.input], from.output_gradients[edge.output]) : forward;
}

double OperatorCatalog::transfer_at_least(KindNumber k, const StrategyTable::Layouts& from, const StrategyTable::Layouts& to) {
  const double forward = movements_.at_least(from.outputs[0], to.outputs[0]);
  const bool has_gradient = std::ranges::find(kinds_[k].has_gradient, true) != kinds_[k].has_gradient.end();
  return has_gradient ? forward + movements_.at_least(to.output_gradients[0], from.output_gradients[0]) : forward;
}

double OperatorCatalog::movement(const EdgeKind& edge, const StrategyTable::Layouts& from, const StrategyTable::Layouts& to) {
  const double forward = movements_.seconds(from.outputs[edge.output], to.inputs[edge.input]);
  return edge.has_gradient ? forward + movements_.seconds(to.input_gradients[edge.input], from.output_gradients[edge.output]) : forward;
}

}  // namespace search
