#include "search/solve/layers/milp_chain.hpp"

#include <algorithm>

#include "search/solve/layers/chain_programme.hpp"
#include "search/solve/milp/cbc.hpp"

namespace search {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr double kSameSeconds = 1e-7;   // a share: solvers tell no better
constexpr double kRoundedBytes = 1e-6;  // a share of the memory that a solution may lack, as a solver's numbers are not exact

}  // namespace

MilpChain cheapest_chain_by_milp(const LayerChain& chain, double to_beat, const std::optional<ChainAnswer>& start, MilpLimits limits,
                                 const Budget& budget) {
  if (chain.stages() > chain.kinds.size()) return {.answer = {}, .bound = kUnlimited, .is_proved = true};
  const bool has_start = start && start->seconds < to_beat;
  const double least = chain_at_least(chain), about = has_start ? start->seconds : to_beat < kUnlimited ? to_beat : 2 * least;
  MilpChain best{.answer = has_start ? start : std::nullopt, .bound = least, .is_proved = false};
  if (least >= to_beat) return {.answer = {}, .bound = kUnlimited, .is_proved = true};
  const ChainProgramme model(chain, about);
  limits.seconds = std::min(limits.seconds, budget.left());
  limits.is_over = [&] { return budget.time_is_up(); };
  if (to_beat < kUnlimited) limits.cutoff = model.objective(to_beat);
  const MilpAnswer found = solve_by_cbc(model.programme(), has_start ? model.values(*start) : std::vector<double>(), limits);
  if (found.status == MilpStatus::infeasible) return {.answer = {}, .bound = kUnlimited, .is_proved = true};
  if (found.values.empty()) {
    best.bound = std::max(best.bound, model.seconds(found.bound));
    return best;
  }
  const ChainAnswer decoded = model.answer(found.values);
  const double claimed = model.seconds(objective_of(model.programme(), found.values));
  best.bound = std::max(best.bound, found.status == MilpStatus::optimal ? claimed : model.seconds(found.bound));
  if (decoded.seconds < to_beat && (!best.answer || decoded.seconds < best.answer->seconds)) best.answer = decoded;
  if (decoded.seconds == kUnlimited) {
    // The solver's solution needs a little more than there is: its like in a little less memory.
    LayerChain smaller = chain;
    smaller.memory *= 1 - kRoundedBytes;
    const MilpChain fitting = cheapest_chain_by_milp(smaller, to_beat, best.answer, limits, budget);
    best.answer = fitting.answer;
  }
  best.is_proved = found.status == MilpStatus::optimal && best.answer && best.answer->seconds <= best.bound * (1 + kSameSeconds);
  if (best.answer) best.bound = std::min(best.bound, best.answer->seconds);
  return best;
}

std::optional<ChainAnswer> uniform_chain(const LayerChain& chain) {
  const std::size_t stages = chain.stages(), layers = chain.kinds.size();
  if (stages > layers) return std::nullopt;
  std::optional<ChainAnswer> best;
  for (std::uint32_t s = 0; s < chain.tables[0][0].seconds.size(); ++s) {
    ChainAnswer a{{}, std::vector<std::uint32_t>(layers, s), 0};
    for (std::size_t stage = 0; stage < stages; ++stage) a.begins.push_back(stage * layers / stages);
    a.seconds = chain_seconds(chain, a);
    if (a.seconds < kUnlimited && (!best || a.seconds < best->seconds)) best = std::move(a);
  }
  return best;
}

}  // namespace search
