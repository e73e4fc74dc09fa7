#include "search/planners/megatron/candidates.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace search {
namespace {

// A step gains at least a thousandth.
constexpr double kLeastProgress = 0.999;
// Set by hand, as they say what is tried, and not what a plan takes. Where exchanges overlap that bounds take as serial, this part of a
// bound is taken to stay.
constexpr double kMostOverlapped = 0.6;
// Bounds of memory are of the average stage; of the budget, a part for the starts.
constexpr double kLikelyToFit = 0.8, kMostForStarts = 0.5;
constexpr std::size_t kTries = 3;  // of the families of a kind, until one fits

// Schedules for which bounds hold, and nothing overlaps that they take as serial.
bool is_bounded(const GridConfig& c) {
  using pcg::ScheduleKind;
  constexpr std::array kBounded = {ScheduleKind::one_f_one_b, ScheduleKind::interleaved, ScheduleKind::gpipe, ScheduleKind::breadth_first};
  return std::ranges::find(kBounded, c.schedule) != kBounded.end() && !c.overlap.experts && !c.overlap.tensor &&
         c.context_kind == ContextKind::ring && c.context_all_to_all == 1;
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

 private:
  // Experts as they are shared out, whether there is a pipeline, and, where experts are not shared out, tensor ranks and context.
  using Kind = std::tuple<int, bool, bool, bool>;

  // The first families of each kind that are likely to fit, by their bounds; those with experts first, as bounds know no overlapped
  // exchange of tokens. Of experts two numbers of ranks: steps lead to those between.
  std::vector<std::vector<const Family*>> first_of_kinds() const {
    std::map<Kind, std::size_t> number;
    std::vector<std::vector<const Family*>> kinds;
    const auto most = std::ranges::max(ranking_.families, {}, [](const Family& f) { return f.config.expert; }).config.expert;
    for (const Family& f : ranking_.families) {
      const GridConfig& c = f.config;
      const bool is_dense = c.expert == 1;
      if (!is_dense && c.expert != most && c.expert != std::gcd(most, scope_.domain_devices)) continue;
      if (std::ranges::min(f.variants, {}, &RankedVariant::bytes).bytes > kLikelyToFit * ranking_.room) continue;
      const auto [at, is_new] =
          number.try_emplace({c.expert, c.pipeline > 1, is_dense && c.tensor > 1, is_dense && c.context > 1}, kinds.size());
      if (is_new) kinds.emplace_back();
      if (kinds[at->second].size() < kTries) kinds[at->second].push_back(&f);
    }
    std::ranges::stable_partition(kinds, [](const auto& families) { return families.front()->config.expert > 1; });
    return kinds;
  }

  // The best with experts shared out first, then the best estimate.
  std::vector<std::size_t> starts() {
    std::vector<std::size_t> starts;
    if (ranking_.families.empty()) return starts;
    const base::Seconds enough = budget_.left() * (1 - kMostForStarts);
    for (const std::vector<const Family*>& families : first_of_kinds())
      for (const Family* f : families) {
        if ((!starts.empty() && budget_.left() < enough) || !budget_.take()) break;
        const std::optional<std::size_t> start = f->config.expert == 1 ? candidates_.evaluate(*f, true).best : quick_exchange(*f);
        if (!start) continue;
        starts.push_back(*start);
        break;
      }
    std::ranges::stable_sort(starts, {}, [&](std::size_t c) { return candidates_.estimate(c); });
    const auto of_experts = std::ranges::find_if(starts, [&](std::size_t c) { return candidates_.config(c).expert > 1; });
    if (of_experts != starts.end()) std::rotate(starts.begin(), of_experts, std::next(of_experts));
    return starts;
  }

  // The exchange that moves least, overlapped where it can be: it decides more than how many ranks share the experts out.
  std::optional<std::size_t> quick_exchange(Family family) {
    for (RankedVariant& v : family.variants) v.seconds = 0;
    GridConfig overlapped = family.config;
    for (const GridConfig& c : other_choices(family.config, scope_)) {
      if (c.overlap.experts) overlapped.overlap.experts = true;
      if (c.dispatch != family.config.dispatch && wishes_.allow(c, Wishes::Decided::point)) overlapped.dispatch = c.dispatch;
    }
    family.config.dispatch = overlapped.dispatch;
    const Candidates::Evaluation evaluation = candidates_.evaluate({overlapped, family.variants}, true);
    return evaluation.is_refused ? candidates_.evaluate(family, true).best : evaluation.best;
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
      Family family{c, {{{c.recompute, c.zero}, 0}}};
      if (step(at, family)) has_moved = true;
    }
  }

  // The first neighbour that is better: the least bound first.
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
        const double bound = f.variants.front().seconds;
        for (RankedVariant& v : f.variants) v.seconds *= is_bounded(c) ? 1 : kMostOverlapped;
        families.emplace_back(bound, std::move(f));
      }
    }
    std::ranges::stable_sort(families, {}, &std::pair<double, Family>::first);
    return std::ranges::any_of(families, [&](const auto& f) { return step(at, f.second); });
  }

  bool step(std::size_t& at, const Family& family) {
    const double worth = kLeastProgress * candidates_.estimate(at);
    if (family.variants.front().seconds >= worth || candidates_.evaluation_of(family.config) || !budget_.take()) return false;
    ++steps_;
    const Candidates::Evaluation evaluation = candidates_.evaluate(family, true);
    if (!evaluation.best || candidates_.estimate(*evaluation.best) >= worth) return false;
    at = *evaluation.best;
    return true;
  }

  const Wishes& wishes_;
  const Ranking& ranking_;
  PlanBounds& bounds_;
  Candidates& candidates_;
  Budget& budget_;
  MoveScope scope_;
  std::size_t steps_ = 0;
};

}  // namespace

std::size_t search_locally(const Problem& problem, const Wishes& wishes, const Ranking& ranking, PlanBounds& bounds, Candidates& candidates,
                           Budget& budget) {
  return LocalSearch(problem, wishes, ranking, bounds, candidates, budget).run();
}

}  // namespace search
