#include "search/solve/operators/operator_space.hpp"

#include "search/solve/operators/elimination.hpp"
#include "search/solve/operators/shortlists.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {

OperatorSpace::OperatorSpace(OperatorCatalog& catalog, const pcg::Graph& graph, int devices)
    : catalog_(catalog), graph_(graph), block_{0, devices}, kinds_(catalog.kinds_of(graph)) {
  for (std::uint32_t n = 0; n < kinds_.size(); ++n)
    if (kinds_[n] != kSource) operators_.push_back(n);
  for (const std::uint32_t n : operators_) distinct_.insert(kinds_[n]);
}

std::size_t OperatorSpace::strategies_of_kinds() const {
  std::size_t count = 0;
  for (const KindNumber k : distinct_) count += catalog_.table(k, block_).costs.size();
  return count;
}

double OperatorSpace::seconds(const std::vector<std::uint32_t>& strategy, const Objective& objective) {
  std::vector<std::uint32_t> of_node(graph_.nodes().size(), 0);
  double sum = 0;
  for (std::size_t o = 0; o < operators_.size(); ++o) {
    const std::uint32_t node = operators_[o];
    of_node[node] = strategy[o];
    const StrategyTable& mine = table(o);
    sum += seconds_of(mine.costs[strategy[o]], objective);
    for (std::uint32_t i = 0; i < graph_.nodes()[node].inputs.size(); ++i) {
      const auto edge = catalog_.edge_at(graph_, kinds_, node, i);
      if (!edge) continue;
      const StrategyTable& from = catalog_.table(edge->from, block_);
      sum += catalog_.movement(*edge, from.layouts[of_node[graph_.nodes()[node].inputs[i].node.value]], mine.layouts[strategy[o]]);
    }
  }
  return sum;
}

std::optional<OperatorSpace::Answer> OperatorSpace::cheapest(const Objective& objective, std::size_t most, const Budget& budget) {
  Shortlists lists(catalog_, objective, most);
  ChoiceProblem problem;
  std::vector<EdgeCosts*> edge_of_pair;
  std::vector<std::uint32_t> number(graph_.nodes().size(), 0);  // of each node among the operators
  for (std::uint32_t o = 0; o < operators_.size(); ++o) {
    const std::uint32_t node = operators_[o];
    number[node] = o;
    problem.costs.push_back(lists.of(kinds_[node], block_).seconds);
    for (std::uint32_t i = 0; i < graph_.nodes()[node].inputs.size(); ++i) {
      const auto edge = catalog_.edge_at(graph_, kinds_, node, i);
      if (!edge) continue;
      edge_of_pair.push_back(&lists.edge(*edge, block_, block_));
      problem.pairs.push_back({number[graph_.nodes()[node].inputs[i].node.value], o, edge_of_pair.back()->costs});
    }
  }
  while (!budget.time_is_up()) {
    budget.spend(effort_of(problem));
    const Chosen chosen = search::cheapest(problem);
    bool is_new = false;
    for (std::size_t p = 0; p < problem.pairs.size(); ++p)
      is_new =
          lists.resolve_around(*edge_of_pair[p], chosen.choice[problem.pairs[p].first], chosen.choice[problem.pairs[p].second]) || is_new;
    if (is_new) continue;
    Answer answer{{}, chosen.seconds, chosen.is_optimal};
    for (std::size_t o = 0; o < operators_.size(); ++o)
      answer.strategy.push_back(lists.of(kinds_[operators_[o]], block_).strategies[chosen.choice[o]]);
    return answer;
  }
  return std::nullopt;
}

pcg::Plan OperatorSpace::plan(const Problem& problem, const std::vector<std::uint32_t>& strategy) const {
  std::vector<Strategy> of_node(graph_.nodes().size());
  for (std::size_t o = 0; o < operators_.size(); ++o) of_node[operators_[o]] = table(o).strategies[strategy[o]];
  return plan_of_strategies(problem, graph_, of_node);
}

}  // namespace search
