#include "search/planners/megatron/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

#include "search/cost/margins.hpp"

namespace search {
namespace {

constexpr double kMostForStarts = 0.5;  // of the budget
constexpr std::size_t kTries = 3;       // of the families of a kind, until one fits

// Schedules and exchanges of keys for which bounds hold.
bool is_bounded(const GridConfig& c) {
  return std::ranges::find(kBoundedSchedules, c.schedule) != kBoundedSchedules.end() && c.context_kind == ContextKind::ring &&
         c.context_all_to_all == 1;
}

class LocalSearch {
 public:
  LocalSearch(const Problem& problem, const Wishes& wishes, const Ranking& ranking, PlanBounds& bounds, Candidates& candidates,
              Budget& budget)
      : wishes_(wishes), ranking_(ranking), bounds_(bounds), candidates_(candidates), budget_(budget), scope_(move_scope(problem)) {}

  std::size_t run() {
    for (const std::size_t start : starts()) {
      if (budget_.is_spent()) break;
      climb(start);
    }
    return steps_;
  }

  std::size_t run_by_simulation() && {
    by_simulation_ = true;
    std::optional<std::size_t> at = candidates_.best_candidate();
    while (at && !budget_.is_spent() && (move(*at) || choose(*at))) {}
    return steps_;
  }

 private:
  // Ranks that share the experts out, whether there is a pipeline, and, where nothing is shared out, tensor ranks and context.
  using Kind = std::tuple<int, bool, bool, bool>;

  // The first families of each kind by what they are likely to take, of plans that are likely to fit.
  std::vector<std::vector<const Family*>> first_of_kinds() const {
    std::vector<std::pair<double, const Family*>> likely;
    for (const Family& f : ranking_.families)
      if (const double seconds = f.likely(kLikelyToFit * ranking_.room); std::isfinite(seconds)) likely.emplace_back(seconds, &f);
    std::ranges::stable_sort(likely, {}, &std::pair<double, const Family*>::first);
    std::map<Kind, std::size_t> number;
    std::vector<std::vector<const Family*>> kinds;
    for (const Family* f : likely | std::views::values) {
      const GridConfig& c = f->config;
      const bool is_dense = c.expert == 1;
      const auto [at, is_new] =
          number.try_emplace({c.expert, c.pipeline > 1, is_dense && c.tensor > 1, is_dense && c.context > 1}, kinds.size());
      if (is_new) kinds.emplace_back();
      if (kinds[at->second].size() < kTries) kinds[at->second].push_back(f);
    }
    return kinds;
  }

  // The best of these families, the best estimate first.
  std::vector<std::size_t> starts() {
    std::vector<std::size_t> starts;
    if (ranking_.families.empty()) return starts;
    double best = std::numeric_limits<double>::infinity();
    const base::Seconds enough = budget_.left() * (1 - kMostForStarts);
    for (const std::vector<const Family*>& families : first_of_kinds())
      for (const Family* f : families) {
        // No estimate is below its bound; where devices differ that is a guess, and the walk through the grid may still find the plan.
        if (f->least() > best || (!starts.empty() && budget_.left() < enough) || !budget_.take()) break;
        const std::optional<std::size_t> start = candidates_.evaluate(*f, true).best;
        if (!start) continue;
        starts.push_back(*start);
        best = std::min(best, candidates_.estimate(*start));
        break;
      }
    std::ranges::stable_sort(starts, {}, [&](std::size_t c) { return candidates_.estimate(c); });
    return starts;
  }

  void climb(std::size_t at) {
    while (!budget_.is_spent() && (move(at) || choose(at))) {}
    if (!budget_.is_spent()) candidates_.simulate(at, "local search");
  }

  // Makes each choice that is better, one after another.
  bool choose(std::size_t& at) {
    bool has_moved = false;
    for (std::size_t i = 0;; ++i) {
      // Asked again, so that a choice is based on those before it.
      const std::vector<GridConfig> choices = other_choices(candidates_.config(at), scope_);
      if (i >= choices.size()) return has_moved;
      const GridConfig& c = choices[i];
      if (!wishes_.allow(c) || bounds_.refusal(c) != nullptr) continue;
      if (step(at, {c, {{{c.recompute, c.zero}, {}}}})) has_moved = true;
    }
  }

  // The first neighbour that is better: the one that is likely to be quickest first.
  bool move(std::size_t& at) {
    std::vector<std::pair<double, Family>> families;
    GridConfig from = candidates_.config(at);
    from.layers_per_stage.clear();
    from.recompute = pcg::Recompute::none;
    from.zero = 0;
    for (GridConfig c : neighbours(from, scope_)) {
      wishes_.adapt(c);
      if (!wishes_.allow(c, Wishes::Decided::point) || bounds_.refusal(c) != nullptr) continue;
      const bool is_apart = !bounds_.has_equal_stages(c);
      for (Family& f : families_of(c, wishes_, bounds_, ranking_.room)) {
        // Stages that are balanced for another kind of recomputation are built and balanced anew.
        if (is_apart && f.config.recompute != candidates_.config(at).recompute) continue;
        const double likely = f.likely(ranking_.room);
        for (RankedVariant& v : f.variants) v.bound.seconds *= is_bounded(c) ? 1 : kMostOverlapped;
        families.emplace_back(likely, std::move(f));
      }
    }
    std::ranges::stable_sort(families, {}, &std::pair<double, Family>::first);
    return std::ranges::any_of(families, [&](const auto& f) { return step(at, f.second); });
  }

  bool step(std::size_t& at, const Family& family) {
    const double worth = kLeastGain * (by_simulation_ ? candidates_.best() : candidates_.estimate(at));
    if (family.least() >= worth) return false;
    std::optional<Candidates::Evaluation> evaluation = candidates_.evaluation_of(family.config);
    if ((evaluation && !by_simulation_) || !budget_.take()) return false;
    ++steps_;
    if (!evaluation) evaluation = candidates_.evaluate(family, true);
    if (!evaluation->best || (by_simulation_ && candidates_.is_far(*evaluation->best))) return false;
    const bool is_better =
        by_simulation_ ? candidates_.simulate(*evaluation->best, "simulation") : candidates_.estimate(*evaluation->best) < worth;
    if (is_better) at = *evaluation->best;
    return is_better;
  }

  const Wishes& wishes_;
  const Ranking& ranking_;
  PlanBounds& bounds_;
  Candidates& candidates_;
  Budget& budget_;
  MoveScope scope_;
  std::size_t steps_ = 0;
  bool by_simulation_ = false;
};

}  // namespace

std::size_t search_locally(const Problem& problem, const Wishes& wishes, const Ranking& ranking, PlanBounds& bounds, Candidates& candidates,
                           Budget& budget) {
  return LocalSearch(problem, wishes, ranking, bounds, candidates, budget).run();
}

std::size_t search_by_simulation(const Problem& problem, const Wishes& wishes, const Ranking& ranking, PlanBounds& bounds,
                                 Candidates& candidates, Budget& budget) {
  return LocalSearch(problem, wishes, ranking, bounds, candidates, budget).run_by_simulation();
}

}  // namespace search
