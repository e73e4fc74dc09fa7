#include "search/planners/uniap/uniap.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "search/cost/margins.hpp"
#include "search/planners/data_parallel/data_parallel.hpp"

namespace search {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Seconds with long edges, which the choice leaves out.
std::optional<ChainAnswer> with_long_edges(const LayerChain& chain, std::optional<ChainAnswer> answer) {
  if (answer && !chain.long_edges.empty()) answer->seconds = chain_seconds(chain, *answer);
  return answer;
}

// Galvatron's: every power of two of stages that divides the devices, or the number asked for, in every number of micro-batches from as
// many as stages on. Those that do not fit have no answer.
std::vector<ChainCandidate> even_candidates(ChainSearch& search) {
  std::vector<ChainCandidate> found;
  for (const int stages : search.stages()) {
    if (!std::has_single_bit(static_cast<unsigned>(stages)) && search.stages().size() > 1) continue;
    for (const int micro_batches : search.micro_batches()) {
      if (micro_batches < stages) continue;
      if (!search.budget().take() && !found.empty()) return found;
      for (const ChainSetting& setting : search.settings(stages)) {
        std::optional<ChainCandidate> c = search.candidate(setting, micro_batches);
        if (!c) continue;
        c->answer = even_chain(c->chain, search.budget());
        c->made_by = "even stages";
        found.push_back(std::move(*c));
      }
    }
  }
  return found;
}

class UniapSearch {
 public:
  UniapSearch(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context)
      : search_(problem, config, context, "uniap"), as_published_(config.as_published) {
    if (!config.is_narrowed()) confirm_sharded(problem, context, search_.budget(), search_.confirmation());
  }

  SearchResult run() {
    if (const auto refusal = search_.refusal()) return result_of_rule(*refusal);
    // Galvatron's plans first: they are in the space, and would be found in the same time without the others.
    has_even_ = search_.confirm_best(even_candidates(search_),
                                     [&](const LayerChain& chain, double) { return even_chain(chain, search_.budget()); });
    find_candidates();
    solve();
    confirm();
    if (open_ > 0) search_.budget().end(Limit::effort);
    const std::size_t layers = search_.layers();
    SearchResult r = std::move(search_).result(all_found_ ? std::optional(least_possible()) : std::nullopt);
    r.notes.emplace_back("pairs-evaluated", layers, candidates_.size(), solved_);
    if (open_ > 0) r.notes.emplace_back("pairs-unsolved", open_);
    return r;
  }

 private:
  void find_candidates() {
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
      if (c.at_least >= kSumsOfLayersErr * best_ || !search_.budget().take()) break;
      c.answer = cheapest_chain(c.chain, kSumsOfLayersErr * best_, search_.budget());
      if (search_.budget().time_is_up()) {
        ++open_;
      } else {
        ++solved_;
        c.at_least = std::max(c.at_least, c.answer ? c.answer->seconds : kNoLimit);
      }
      c.answer = with_long_edges(c.chain, c.answer);
      if (c.answer) best_ = std::min(best_, c.answer->seconds);
    }
  }

  void confirm() {
    const auto cheapest = [&](const LayerChain& chain, double to_beat) {
      return with_long_edges(chain, cheapest_chain(chain, to_beat, search_.budget()));
    };
    if (!search_.confirm_best(candidates_, cheapest) && !has_even_) search_.confirm_minimum_memory(candidates_, cheapest);
    if (!as_published_) search_.confirm_balanced();
  }

  // Seconds that no answer to any pair takes less than.
  [[nodiscard]] double least_possible() const {
    double least = best_;
    for (const ChainCandidate& c : candidates_) least = std::min(least, c.at_least);
    return least;
  }

  ChainSearch search_;
  bool as_published_;
  std::vector<ChainCandidate> candidates_;
  double best_ = kNoLimit;
  std::size_t solved_ = 0, open_ = 0;
  bool all_found_ = true;
  bool has_even_ = false;  // a plan with even stages was simulated and fits
};

}  // namespace

SearchResult uniap_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context) {
  return UniapSearch(problem, config, context).run();
}

Planner uniap_planner() {
  return {
      .kind = "uniap",
      .about = "Stages of a pipeline and the data, tensor and sharded data parallelism of every layer, chosen together, exactly.",
      .searches = true,
      .options = chain_search_options(),
      .contradiction = [](const OptionValues& o) { return beyond_paper(o, {"schedule"}); },
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) { return uniap_search(p, chain_search_config(o), c); }};
}

SearchResult galvatron_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context) {
  ChainSearch search(problem, config, context, "galvatron");
  if (const auto refusal = search.refusal()) return result_of_rule(*refusal);
  if (!config.is_narrowed()) confirm_sharded(problem, context, search.budget(), search.confirmation());
  const std::vector<ChainCandidate> candidates = even_candidates(search);
  if (!search.confirm_best(candidates, [&](const LayerChain& chain, double) { return even_chain(chain, search.budget()); }))
    search.confirm_minimum_memory(candidates,
                                  [&](const LayerChain& chain, double to_beat) { return cheapest_chain(chain, to_beat, search.budget()); });
  return std::move(search).result(std::nullopt);
}

Planner galvatron_planner() {
  Planner p = uniap_planner();
  p.kind = "galvatron";
  p.about = "Layers shared out evenly among stages, with data, tensor or sharded data parallelism chosen for each layer.";
  p.plan = [](const Problem& problem, const OptionValues& o, const SearchContext& c) {
    return galvatron_search(problem, chain_search_config(o), c);
  };
  return p;
}

}  // namespace search
