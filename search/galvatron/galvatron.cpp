#include "search/galvatron/galvatron.hpp"

#include <algorithm>

namespace search {

std::vector<ChainCandidate> even_candidates(ChainSearch& search, const Problem& problem, const ChainSearchConfig& config) {
  std::vector<ChainCandidate> found;
  const int devices = problem.cluster.device_count();
  for (int stages = 1; stages <= devices && devices % stages == 0; stages *= 2)
    for (const WeightSharing sharing : {WeightSharing::nobody, WeightSharing::everybody}) {
      std::optional<ChainCandidate> best;
      for (const int micro_batches : search.micro_batches()) {
        if (micro_batches < stages || (!found.empty() && search.deadline().has_passed())) continue;
        std::optional<ChainCandidate> c = search.candidate({stages, config.schedule, sharing}, micro_batches);
        if (!c) continue;
        c->answer = even_chain(c->chain);
        const bool is_better = c->answer && (!best || !best->answer || c->answer->seconds < best->answer->seconds);
        if (!is_better && best && best->answer) break;
        if (is_better || !best) best = std::move(c);
      }
      if (best) found.push_back(std::move(*best));
    }
  return found;
}

bool confirm_best_even(ChainSearch& search, const std::vector<ChainCandidate>& candidates) {
  std::vector<const ChainCandidate*> order;
  for (const ChainCandidate& c : candidates)
    if (c.answer) order.push_back(&c);
  std::ranges::stable_sort(order, {}, [](const ChainCandidate* c) { return c->answer->seconds; });
  return std::ranges::any_of(order, [&](const ChainCandidate* c) { return search.confirm(*c, &even_chain); });
}

SearchResult galvatron_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context) {
  ChainSearch search(problem, config, context, "galvatron");
  const std::vector<ChainCandidate> candidates = even_candidates(search, problem, config);
  if (!confirm_best_even(search, candidates)) search.confirm_leanest(candidates);
  return std::move(search).result(search.deadline().has_passed(), std::nullopt);
}

Planner galvatron_planner() {
  return {.kind = "galvatron",
          .about = "Layers shared out evenly among stages, with data, tensor or sharded data parallelism chosen for each layer.",
          .searches = true,
          .options = chain_search_options(),
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
            return galvatron_search(p, chain_search_config(o), c);
          }};
}

}  // namespace search
