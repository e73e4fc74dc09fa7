#include "search/solve/memory_constrained/constrained_operators.hpp"

namespace search {

std::uint32_t ConstrainedOperators::add(KindNumber kind, const std::vector<double>& arrival) {
  const Shortlist& list = lists_.of(kind, block_);
  const StrategyTable& table = lists_.catalog().table(kind, block_);
  std::vector<double>& bytes = problem_.bytes.emplace_back();
  for (const std::uint32_t w : list.strategies) bytes.push_back(arrival.empty() ? bytes_of(table.costs[w], objective_) : 0);
  problem_.choices.costs.push_back(arrival.empty() ? list.seconds : arrival);
  operators_.push_back({kind, arrival});
  return static_cast<std::uint32_t>(operators_.size() - 1);
}

void ConstrainedOperators::join(std::uint32_t from, std::uint32_t to, const EdgeKind& kind) {
  EdgeCosts& costs = lists_.edge(kind, block_, block_);
  edges_.push_back({from, to, costs});
  problem_.choices.pairs.push_back({from, to, costs.costs});
}

void ConstrainedOperators::add(const pcg::Graph& graph, const std::vector<KindNumber>& kinds) {
  std::vector<std::uint32_t> number(kinds.size(), 0);
  for (std::uint32_t node = 0; node < kinds.size(); ++node) {
    if (kinds[node] == kSource) continue;
    number[node] = add(kinds[node]);
    for (std::uint32_t i = 0; i < graph.nodes()[node].inputs.size(); ++i)
      if (const auto edge = lists_.catalog().edge_at(graph, kinds, node, i))
        join(number[graph.nodes()[node].inputs[i].node.value], number[node], *edge);
  }
}

ConstrainedChoice ConstrainedOperators::cheapest(double limit, const Budget& budget) {
  problem_.limit = limit;
  const auto resolve = [&](const std::vector<std::uint32_t>& choice) {
    bool is_new = false;
    for (const Edge& e : edges_) is_new = lists_.resolve_around(e.costs, choice[e.from], choice[e.to]) || is_new;
    return is_new;
  };
  ConstrainedChoice found = cheapest_within(problem_, resolve, budget);
  for (std::size_t o = 0; o < found.choice.size(); ++o) found.choice[o] = lists_.of(operators_[o].kind, block_).strategies[found.choice[o]];
  return found;
}

double ConstrainedOperators::seconds(const std::vector<std::uint32_t>& strategies) const {
  OperatorCatalog& catalog = lists_.catalog();
  double sum = 0;
  for (std::size_t o = 0; o < operators_.size(); ++o)
    if (operators_[o].arrival.empty()) sum += seconds_of(catalog.table(operators_[o].kind, block_).costs[strategies[o]], objective_);
  const auto movement = [&](const Edge& e, std::uint32_t from, std::uint32_t to) {
    const EdgeKind& kind = e.costs.kind;
    return catalog.movement(kind, catalog.table(kind.from, block_).layouts[from], catalog.table(kind.to, block_).layouts[to]);
  };
  for (const Edge& e : edges_)
    if (operators_[e.from].arrival.empty()) sum += movement(e, strategies[e.from], strategies[e.to]);
  for (std::uint32_t o = 0; o < operators_.size(); ++o) {
    const std::vector<double>& arrival = operators_[o].arrival;
    if (arrival.empty()) continue;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < arrival.size(); ++c) {
      double s = arrival[c];
      for (const Edge& e : edges_)
        if (e.from == o) s += movement(e, lists_.of(operators_[o].kind, block_).strategies[c], strategies[e.to]);
      least = std::min(least, s);
    }
    sum += least;
  }
  return sum;
}

double ConstrainedOperators::bytes(const std::vector<std::uint32_t>& strategies) const {
  double sum = 0;
  for (std::size_t o = 0; o < operators_.size(); ++o)
    if (operators_[o].arrival.empty()) sum += bytes_of(lists_.catalog().table(operators_[o].kind, block_).costs[strategies[o]], objective_);
  return sum;
}

}  // namespace search
