#include "search/planners/flexflow/walk.hpp"
#include "sim/effort.hpp"

#include <algorithm>
#include <cmath>

namespace search {

constexpr double kSecondsPerByte = 1e-9;  // 1 ms a megabyte, as FlexFlow's simulator has it

OperatorGraph operator_graph(const pcg::Graph& graph, const std::vector<KindNumber>& kinds, const OperatorCatalog& catalog) {
  OperatorGraph g;
  std::map<std::uint32_t, std::uint32_t> number;  // by node
  for (std::uint32_t n = 0; n < kinds.size(); ++n) {
    if (kinds[n] == kSource) continue;
    number[n] = static_cast<std::uint32_t>(g.nodes.size());
    g.nodes.push_back(n);
    g.kinds.push_back(kinds[n]);
    for (std::uint32_t i = 0; i < graph.nodes()[n].inputs.size(); ++i) {
      const auto edge = catalog.edge_at(graph, kinds, n, i);
      if (!edge) continue;
      g.edges.push_back({number.at(graph.nodes()[n].inputs[i].node.value), number.at(n)});
      g.edge_kinds.push_back(*edge);
    }
  }
  return g;
}

Walk::Walk(const OperatorGraph& graph, Placements& placements, int devices, Budget& budget)
    : graph_(graph),
      placements_(placements),
      budget_(budget),
      devices_(devices),
      schedule_(devices, graph.nodes.size(), graph.edges),
      edges_of_(graph.nodes.size()),
      operators_(graph.nodes.size()),
      movements_(graph.edges.size()),
      bytes_(graph.nodes.size(), 0),
      is_exact_(graph.edges.size(), false) {
  for (std::uint32_t e = 0; e < graph.edges.size(); ++e) {
    edges_of_[graph.edges[e].from].push_back(e);
    if (graph.edges[e].to != graph.edges[e].from) edges_of_[graph.edges[e].to].push_back(e);
  }
}

void Walk::put(std::uint32_t who, const Placement& where) {
  now_.at[who] = where;
  const StrategyCost& cost = placements_.cost(graph_.kinds[who], where);
  const int devices = placements_.devices(graph_.kinds[who], where);
  operators_[who] = {where.block.start,    devices,    cost.forward, cost.kernels + cost.inside - cost.forward,
                     cost.synchronisation, cost.update};
  bytes_[who] = cost.state_bytes[0] + cost.kept_bytes;
  for (const std::uint32_t e : edges_of_[who]) {
    const KnownMovement& known = placements_.between(graph_.edge_kinds[e], now_.at[graph_.edges[e].from], now_.at[graph_.edges[e].to]);
    movements_[e] = known.times;
    is_exact_[e] = known.is_exact;
  }
}

// `most_bytes` of the position is set as well.
double Walk::seconds() {
  now_.most_bytes = schedule_.most_on_a_device(operators_, bytes_);
  return schedule_.seconds(operators_, movements_) + kSecondsPerByte * std::max(0.0, now_.most_bytes - room_);
}

void Walk::start_at(const Position& p) {
  now_ = p;
  for (std::uint32_t o = 0; o < p.at.size(); ++o) put(o, p.at[o]);
  for (std::uint32_t e = 0; e < movements_.size(); ++e) {
    movements_[e] = placements_.resolve(graph_.edge_kinds[e], now_.at[graph_.edges[e].from], now_.at[graph_.edges[e].to]).times;
    is_exact_[e] = true;
  }
  now_.seconds = seconds();
}

Position Walk::position(std::vector<Placement> at) {
  start_at({std::move(at)});
  return now_;
}

// As many proposals move one operator as two that an edge joins.
void Walk::propose(base::Random& random) {
  const auto who = static_cast<std::uint32_t>(random.below(graph_.nodes.size()));
  std::vector<std::uint32_t> all{who};
  if (random.below(2) == 1 && !edges_of_[who].empty()) {
    const Schedule::Edge edge = graph_.edges[edges_of_[who][random.below(edges_of_[who].size())]];
    if (edge.from != edge.to) all.push_back(edge.from == who ? edge.to : edge.from);
  }
  moved_.clear();
  for (const std::uint32_t o : all) {
    const Placement to = placements_.any(graph_.kinds[o], random);
    if (to == now_.at[o]) continue;
    moved_.emplace_back(o, now_.at[o]);
    put(o, to);
  }
}

// Each movement that is found out makes the schedule longer, if it changes it, so that the others may not have to be.
bool Walk::is_accepted(double limit) {
  double now = seconds();
  for (const auto& [who, before] : moved_)
    for (const std::uint32_t e : edges_of_[who]) {
      if (now > limit) return false;
      if (is_exact_[e]) continue;
      movements_[e] = placements_.resolve(graph_.edge_kinds[e], now_.at[graph_.edges[e].from], now_.at[graph_.edges[e].to]).times;
      is_exact_[e] = true;
      now = seconds();
    }
  if (now > limit) return false;
  now_.seconds = now;
  return true;
}

Position Walk::run(const Position& start, std::size_t proposals, double share, double alpha, base::Random& random) {
  start_at(start);
  Position best = now_;
  const double gone = budget_.gone();
  for (std::size_t i = 0; i < proposals && budget_.take(); ++i) {
    const double progress = std::max(static_cast<double>(i) / static_cast<double>(proposals), (budget_.gone() - gone) / share);
    if (progress > 1) break;
    ++proposals_;
    budget_.spend(sim::kWalkStep * static_cast<double>(graph_.nodes.size()) * devices_);
    const double bytes = now_.most_bytes;
    propose(random);
    // Drawn in any case, so that what is found out does not decide what comes next.
    const double longer = -std::log(1 - random.uniform()) / (std::pow(alpha, progress) * static_cast<double>(graph_.nodes.size()));
    if (moved_.empty()) continue;
    if (is_accepted(now_.seconds * (1 + longer))) {
      ++accepted_;
      if (now_.seconds < best.seconds) best = now_;
    } else {
      for (const auto& [who, before] : moved_) put(who, before);
      now_.most_bytes = bytes;
    }
  }
  return best;
}

}  // namespace search
