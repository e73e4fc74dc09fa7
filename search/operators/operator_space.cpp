#include "search/operators/operator_space.hpp"

#include <algorithm>
#include <numeric>

#include "pcg/graph/parallelize.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/dataflow/internal_movement.hpp"
#include "sim/memory/model_states.hpp"
#include "sim/pricing/price_list.hpp"

namespace search {
namespace {

// The nodes of a PCG that are operators, in the order of the graph that it was made of.
std::vector<std::uint32_t> operators_of(const pcg::Pcg& pcg) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < pcg.nodes().size(); ++n)
    if (pcg.nodes()[n].parallel_operator() == nullptr) nodes.push_back(n);
  return nodes;
}

// On the slowest type of device: its kernels, or its host, if that takes longer.
double slowest(std::initializer_list<const sim::Price*> prices) {
  double device = 0, host = 0;
  std::size_t types = 0;
  for (const sim::Price* p : prices) types = std::max(types, p->on_type.size());
  for (std::size_t t = 0; t < types; ++t) {
    double on_device = 0, on_host = 0;
    for (const sim::Price* p : prices) {
      if (p->empty()) continue;
      on_device += p->on_type[t].device.value();
      on_host += p->on_type[t].host.value();
    }
    device = std::max(device, on_device);
    host = std::max(host, on_host);
  }
  return std::max(device, host);
}

}  // namespace

pcg::Plan plan_of_strategies(const Problem& problem, const pcg::Graph& graph, int devices, const std::vector<const Strategy*>& choice) {
  std::vector<pcg::Sharding> shardings = pcg::unsharded(graph);
  for (std::size_t n = 0; n < choice.size(); ++n)
    if (choice[n] != nullptr) shardings[n] = choice[n]->sharding;
  pcg::Plan plan;
  plan.model = problem.model_section;
  plan.training = problem.training;
  plan.gpus = devices;
  plan.pcg = pcg::parallelize(graph, shardings);
  plan.stage.assign(plan.pcg.nodes().size(), 0);
  std::size_t node = 0;  // parallelize() keeps the graph's operators in order
  for (const pcg::PcgNode& n : plan.pcg.nodes()) {
    plan.mapping.emplace_back();
    if (n.parallel_operator() != nullptr) continue;
    if (n.computes()) plan.mapping.back() = choice[node]->view;
    ++node;
  }
  return plan;
}

double seconds_of(const StrategyCost& cost, const Weighing& w) {
  return cost.kernels + cost.inside + cost.update + w.synchronisation * cost.synchronisation +
         w.seconds_per_byte * (cost.state_bytes + cost.kept_bytes);
}

OperatorSpace::OperatorSpace(const Problem& problem, const pcg::Graph& graph, int devices, int most_cut)
    : problem_(problem), graph_(graph), devices_(devices), kinds_(graph), movements_(problem), tables_(kinds_.kinds.size()) {
  std::size_t rounds = 0;
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    const pcg::GraphNodeId example(kinds_.kinds[k].example);
    const pcg::GraphNode& node = graph.node(example);
    tables_[k].strategies = strategies_of(*node.space, graph.input_shapes(example), node.outputs, devices, most_cut);
    rounds = std::max(rounds, tables_[k].strategies.size());
  }
  const Specimens specimens(graph, kinds_);
  for (std::size_t r = 0; r < rounds; ++r) price(specimens, r);
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n)
    if (kinds_.of_node[n] != OperatorKinds::kNone) operators_.push_back(n);
}

// The choices of number `round` of all kinds, as one plan of the specimens.
void OperatorSpace::price(const Specimens& specimens, std::size_t round) {
  std::vector<const Strategy*> choice(specimens.graph.nodes().size(), nullptr);
  for (std::size_t k = 0; k < tables_.size(); ++k)
    choice[specimens.node[k]] = &tables_[k].strategies[std::min(round, tables_[k].strategies.size() - 1)];
  const pcg::Plan plan = plan_of_strategies(problem_, specimens.graph, devices_, choice);
  const std::vector<std::uint32_t> nodes = operators_of(plan.pcg);
  const sim::FlowGraph flow = sim::flow_graph(plan);
  const profiles::FrameworkProfile& framework = problem_.oracle.framework(plan.training);
  sim::PriceList prices(plan, flow, problem_.cluster, framework);
  const sim::ModelStateBytes state = sim::model_state_bytes(plan.training, framework);
  const auto numbers = [&](const std::vector<sim::Layout>& layouts) {
    std::vector<LayoutNumber> n;
    for (const sim::Layout& l : layouts) n.push_back(movements_.number(l));
    return n;
  };
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    if (round >= tables_[k].strategies.size()) continue;
    const std::uint32_t n = nodes[specimens.node[k]];
    const sim::NodeLayouts& layouts = flow.layouts[n];
    StrategyCost& cost = tables_[k].costs.emplace_back();
    cost.kernels = slowest({&prices.forward(n), &prices.input_gradient(n), &prices.weight_gradient(n)});
    const sim::InternalMovements inside = sim::internal_movements(plan, flow, n);
    for (const sim::InternalMovements::Side* side : {&inside.forward, &inside.backward}) {
      for (const sim::Movement& m : side->before) cost.inside += movements_.seconds(m);
      for (const sim::Movement& m : side->after) cost.inside += movements_.seconds(m);
    }
    const pcg::PcgNode& node = plan.pcg.nodes()[n];
    for (const pcg::TensorShape& output : plan.pcg.shard_outputs(pcg::NodeId(n)))
      cost.kept_bytes += static_cast<double>(output.elements()) * pcg::element_bytes(output.element, plan.training.precision).value();
    double parameters = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!kinds_.kinds[k].is_weight[i]) continue;
      const sim::Layout& gradient = layouts.input_gradients[i];
      const auto elements = static_cast<double>(gradient.shape.shard().elements());
      parameters += elements;
      const auto groups = sim::sum_groups(gradient);
      if (!groups.empty())
        cost.synchronisation +=
            problem_.oracle.collectives(sim::CollectiveKind::all_reduce, base::Bytes(elements * state.gradient), groups).time.value();
    }
    cost.state_bytes = parameters * (state.weight + state.gradient + state.optimizer);
    if (parameters > 0) cost.update = slowest({&prices.optimizer(parameters)});
    tables_[k].layouts.push_back(
        {numbers(layouts.inputs), numbers(layouts.outputs), numbers(layouts.input_gradients), numbers(layouts.output_gradients)});
  }
}

double OperatorSpace::movement_seconds(const EdgeKind& kind, std::uint32_t from, std::uint32_t to) {
  const Layouts &a = tables_[kind.from].layouts[from], &b = tables_[kind.to].layouts[to];
  const double forward = movements_.seconds(a.outputs[kind.output], b.inputs[kind.input]);
  return kind.has_gradient ? forward + movements_.seconds(b.input_gradients[kind.input], a.output_gradients[kind.output]) : forward;
}

std::optional<OperatorSpace::EdgeKind> OperatorSpace::edge_at(std::uint32_t node, std::uint32_t input) const {
  const pcg::GraphTensorRef t = graph_.nodes()[node].inputs[input];
  const std::uint32_t from = kinds_.of_node[t.node.value], to = kinds_.of_node[node];
  if (from == OperatorKinds::kNone) return std::nullopt;
  return EdgeKind{from, static_cast<std::uint32_t>(t.output), to, input, kinds_.kinds[to].has_gradient[input]};
}

double OperatorSpace::seconds(const std::vector<std::uint32_t>& strategy, const Weighing& weighing) {
  std::vector<std::uint32_t> of_node(graph_.nodes().size(), 0);
  double sum = 0;
  for (std::size_t o = 0; o < operators_.size(); ++o) {
    const std::uint32_t node = operators_[o];
    of_node[node] = strategy[o];
    sum += seconds_of(tables_[kinds_.of_node[node]].costs[strategy[o]], weighing);
    for (std::uint32_t i = 0; i < graph_.nodes()[node].inputs.size(); ++i)
      if (const auto edge = edge_at(node, i))
        sum += movement_seconds(*edge, of_node[graph_.nodes()[node].inputs[i].node.value], strategy[o]);
  }
  return sum;
}

OperatorSpace::Edge OperatorSpace::bounded_edge(const EdgeKind& kind, const Scope& scope) {
  const std::vector<std::uint32_t>&rows = scope.strategies[kind.from], &columns = scope.strategies[kind.to];
  Edge edge{kind, std::make_shared<PairCosts>(PairCosts{rows.size(), columns.size(), {}}), {}};
  for (const std::uint32_t row : rows)
    for (const std::uint32_t column : columns) {
      const Layouts &a = tables_[kind.from].layouts[row], &b = tables_[kind.to].layouts[column];
      double seconds = movements_.at_least(a.outputs[kind.output], b.inputs[kind.input]);
      if (kind.has_gradient) seconds += movements_.at_least(b.input_gradients[kind.input], a.output_gradients[kind.output]);
      edge.costs->seconds.push_back(seconds);
    }
  edge.is_known.assign(edge.costs->seconds.size(), false);
  return edge;
}

bool OperatorSpace::find_out(Edge& edge, const Scope& scope, std::uint32_t row, std::uint32_t column) {
  const std::size_t at = row * edge.costs->columns + column;
  if (edge.is_known[at]) return false;
  const double seconds = movement_seconds(edge.kind, scope.strategies[edge.kind.from][row], scope.strategies[edge.kind.to][column]);
  edge.costs->seconds[at] = std::max(edge.costs->seconds[at], seconds);
  edge.is_known[at] = true;
  return true;
}

bool OperatorSpace::find_out_around(Edge& edge, const Scope& scope, std::uint32_t row, std::uint32_t column) {
  if (!find_out(edge, scope, row, column)) return false;
  const double seconds = edge.costs->at(row, column);
  for (std::uint32_t r = 0; r < edge.costs->rows; ++r)
    if (edge.costs->at(r, column) < seconds) find_out(edge, scope, r, column);
  for (std::uint32_t c = 0; c < edge.costs->columns; ++c)
    if (edge.costs->at(row, c) < seconds) find_out(edge, scope, row, c);
  return true;
}

std::optional<OperatorSpace::Answer> OperatorSpace::cheapest(const Weighing& weighing, std::size_t most, const Deadline& deadline) {
  Scope scope;
  for (const Table& t : tables_) {
    std::vector<std::uint32_t>& looked_at = scope.strategies.emplace_back(t.strategies.size());
    std::iota(looked_at.begin(), looked_at.end(), 0);
    std::ranges::stable_sort(looked_at, {}, [&](std::uint32_t s) { return seconds_of(t.costs[s], weighing); });
    looked_at.resize(std::min(looked_at.size(), most));
  }
  ChoiceProblem problem;
  std::vector<Edge*> edge_of_pair;
  std::vector<std::uint32_t> number(graph_.nodes().size(), 0);  // of each node among the operators
  for (std::uint32_t o = 0; o < operators_.size(); ++o) {
    const std::uint32_t node = operators_[o], kind = kinds_.of_node[node];
    number[node] = o;
    std::vector<double>& costs = problem.costs.emplace_back();
    for (const std::uint32_t s : scope.strategies[kind]) costs.push_back(seconds_of(tables_[kind].costs[s], weighing));
    for (std::uint32_t i = 0; i < graph_.nodes()[node].inputs.size(); ++i) {
      const auto edge = edge_at(node, i);
      if (!edge) continue;
      auto at = scope.edges.find(*edge);
      if (at == scope.edges.end()) at = scope.edges.emplace(*edge, bounded_edge(*edge, scope)).first;
      problem.pairs.push_back({number[graph_.nodes()[node].inputs[i].node.value], o, at->second.costs});
      edge_of_pair.push_back(&at->second);
    }
  }
  while (!deadline.has_passed()) {
    const Chosen chosen = search::cheapest(problem);
    bool is_new = false;
    for (std::size_t p = 0; p < problem.pairs.size(); ++p)
      is_new =
          find_out_around(*edge_of_pair[p], scope, chosen.choice[problem.pairs[p].first], chosen.choice[problem.pairs[p].second]) || is_new;
    if (is_new) continue;
    Answer answer{{}, chosen.seconds, chosen.is_optimal};
    for (std::size_t o = 0; o < operators_.size(); ++o)
      answer.strategy.push_back(scope.strategies[kinds_.of_node[operators_[o]]][chosen.choice[o]]);
    return answer;
  }
  return std::nullopt;
}

pcg::Plan OperatorSpace::plan(const std::vector<std::uint32_t>& strategy) const {
  std::vector<const Strategy*> of_node(graph_.nodes().size(), nullptr);
  for (std::size_t o = 0; o < operators_.size(); ++o)
    of_node[operators_[o]] = &tables_[kinds_.of_node[operators_[o]]].strategies[strategy[o]];
  return plan_of_strategies(problem_, graph_, devices_, of_node);
}

}  // namespace search
