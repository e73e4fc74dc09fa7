#include "search/planners/uniap/uniap.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "search/planners/galvatron/galvatron.hpp"

namespace search {
namespace {

constexpr double kWorthSimulating = 1.25;  // times the best objective: the cost model is not off by more among plans of one model
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class UniapSearch {
 public:
  UniapSearch(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context, SolverKind solver)
      : config_(config), search_(problem, config, context, "uniap"), solver_(solver, search_.budget()) {}

  SearchResult run() {
    if (const auto refusal = search_.refusal()) return result_of_rule(*refusal);
    // Galvatron's plans first: they are in the space, and would be found in the same time without the others.
    has_even_ = confirm_best_even(search_, even_candidates(search_), config_.simulated);
    find_candidates();
    solve();
    confirm();
    if (!open_.empty()) search_.budget().end(search_.budget().is_counted() ? Limit::candidates : Limit::time);
    SearchResult r =
        std::move(search_).result(all_found_ ? std::optional(least_possible()) : std::nullopt, solver_.kind() == SolverKind::milp);
    r.notes.push_back(fmt::format("{} layers; {} pairs of stages and micro-batches were looked at, {} of them solved, each {}", layers_,
                                  candidates_.size(), solved_,
                                  solver_.kind() == SolverKind::exact ? "exactly" : "to an optimum that CBC has proved"));
    if (!open_.empty()) r.notes.push_back(text_of_open());
    return r;
  }

 private:
  void find_candidates() {
    layers_ = search_.layers();
    for (const int micro_batches : search_.micro_batches())
      for (const int stages : search_.stages()) {
        if (!search_.budget().take()) {
          all_found_ = false;
          return;
        }
        for (const ChainSetting& setting : search_.settings(stages))
          if (auto c = search_.candidate(setting, micro_batches)) candidates_.push_back(std::move(*c));
      }
    std::ranges::stable_sort(candidates_, {}, &ChainCandidate::at_least);
  }

  // The quickest by their bounds first: what could not come near the best is left out.
  void solve() {
    for (ChainCandidate& c : candidates_) {
      if (c.at_least >= kWorthSimulating * best_ || !search_.budget().take()) break;
      SolvedChain s = solver_.solve(c.chain, kWorthSimulating * best_);
      c.answer = std::move(s.answer);
      c.at_least = std::max(c.at_least, s.at_least);
      if (c.answer) best_ = std::min(best_, c.answer->seconds);
      if (s.is_complete) ++solved_;
      else open_.push_back(&c);
    }
  }

  // Pairs of which nothing is proved, and what their answers may lack.
  [[nodiscard]] std::string text_of_open() const {
    double gap = 0;
    std::size_t unanswered = 0;
    for (const ChainCandidate* c : open_) {
      if (c->answer) gap = std::max(gap, c->answer->seconds / c->at_least - 1);
      else ++unanswered;
    }
    std::string text = fmt::format("nothing was proved of {} pair{} before the search ended: ", open_.size(), open_.size() == 1 ? "" : "s");
    if (unanswered == open_.size()) return text + (unanswered == 1 ? "it has no answer" : "they have no answers");
    if (unanswered > 0) text += fmt::format("{} without an answer, the others ", unanswered);
    return text + fmt::format("up to {:.1f} % above {}", 100 * gap, open_.size() == 1 ? "its bound" : "their bounds");
  }

  void confirm() {
    std::vector<const ChainCandidate*> best;
    for (const ChainCandidate& c : candidates_)
      if (c.answer) best.push_back(&c);
    std::ranges::stable_sort(best, {}, [](const ChainCandidate* c) { return c->answer->seconds; });
    std::size_t simulated = 0;
    const auto solve = [&](const LayerChain& chain) { return solver_.solve(chain, kNoLimit).answer; };
    for (const ChainCandidate* c : best) {
      if (simulated >= config_.simulated || (!search_.budget().take() && simulated > 0)) break;
      if (search_.confirm(*c, solve)) ++simulated;
    }
    if (simulated == 0 && !has_even_)
      search_.confirm_leanest(candidates_, [&](const LayerChain& chain, double to_beat) { return solver_.solve(chain, to_beat).answer; });
  }

  // Of all pairs, that no answer takes less than.
  [[nodiscard]] double least_possible() const {
    double least = best_;
    for (const ChainCandidate& c : candidates_) least = std::min(least, c.at_least);
    return least;
  }

  ChainSearchConfig config_;
  ChainSearch search_;
  ChainSolver solver_;
  std::vector<ChainCandidate> candidates_;
  std::vector<const ChainCandidate*> open_;  // of which nothing is proved
  double best_ = kNoLimit;
  std::size_t layers_ = 0, solved_ = 0;
  bool all_found_ = true;
  bool has_even_ = false;  // a plan with even stages was simulated and fits
};

}  // namespace

SearchResult uniap_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context, SolverKind solver) {
  return UniapSearch(problem, config, context, solver).run();
}

Planner uniap_planner() {
  Planner p{.kind = "uniap",
            .about = "Stages of a pipeline and the data, tensor and sharded data parallelism of every layer, chosen together, exactly.",
            .searches = true,
            .options = chain_search_options(),
            .plan = [](const Problem& problem, const OptionValues& o, const SearchContext& c) {
              return uniap_search(problem, chain_search_config(o), c, o.choice("solver") == 0 ? SolverKind::exact : SolverKind::milp);
            }};
  p.options.push_back(
      {"solver", Choice{{"exact", "milp"}},
       "`exact`: dynamic programming over fronts of memory and time, then over stages; `milp`: a mixed-integer linear programme, by CBC"});
  return p;
}

}  // namespace search
