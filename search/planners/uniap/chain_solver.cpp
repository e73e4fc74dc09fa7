#include "search/planners/uniap/chain_solver.hpp"

#include "search/solve/layers/milp_chain.hpp"

namespace search {
namespace {

constexpr double kShareOfLeft = 0.25;  // of the budget, for one chain: a hard one leaves most of it to the others

std::size_t strategies_of(const LayerChain& chain) { return chain.tables[0][0].seconds.size(); }

}  // namespace

SolvedChain ChainSolver::solve(const LayerChain& chain, double to_beat) {
  if (kind_ == SolverKind::exact) {
    SolvedChain s{.answer = cheapest_chain(chain, to_beat, budget_), .at_least = chain_at_least(chain)};
    s.is_complete = !budget_.time_is_up();
    if (s.is_complete) s.at_least = s.answer ? s.answer->seconds : std::numeric_limits<double>::infinity();
    if (s.answer && !chain.long_edges.empty()) s.answer->seconds = chain_seconds(chain, *s.answer);
    return s;
  }
  MilpLimits limits{.seconds = kShareOfLeft * budget_.left()};
  if (budget_.is_counted()) {
    const auto nodes = static_cast<std::uint64_t>(kShareOfLeft * static_cast<double>(budget_.candidates_left()));
    limits = {.seconds = budget_.left(), .nodes = std::max<std::uint64_t>(1, nodes)};
  }
  const MilpChain found = cheapest_chain_by_milp(chain, to_beat, best_known(chain), limits, budget_);
  budget_.count(found.nodes);
  if (found.answer) known_.push_back({chain.stages(), strategies_of(chain), *found.answer});
  return {found.answer, found.bound, found.is_proved};
}

std::optional<ChainAnswer> ChainSolver::best_known(const LayerChain& chain) const {
  std::optional<ChainAnswer> best = uniform_chain(chain);
  for (const Known& k : known_) {
    if (k.stages != chain.stages() || k.strategies != strategies_of(chain)) continue;
    ChainAnswer a = k.answer;
    a.seconds = chain_seconds(chain, a);
    if (a.seconds < (best ? best->seconds : std::numeric_limits<double>::infinity())) best = std::move(a);
  }
  return best;
}

}  // namespace search
