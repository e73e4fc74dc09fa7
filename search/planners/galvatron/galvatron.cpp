#include "search/planners/galvatron/galvatron.hpp"

#include <algorithm>
#include <bit>

namespace search {

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
        c->answer = even_chain(c->chain);
        found.push_back(std::move(*c));
      }
    }
  }
  return found;
}

bool confirm_best_even(ChainSearch& search, const std::vector<ChainCandidate>& candidates, std::size_t most) {
  std::vector<const ChainCandidate*> order;
  for (const ChainCandidate& c : candidates)
    if (c.answer) order.push_back(&c);
  std::ranges::stable_sort(order, {}, [](const ChainCandidate* c) { return c->answer->seconds; });
  std::size_t simulated = 0;
  for (const ChainCandidate* c : order) {
    if (simulated >= most || (!search.budget().take() && simulated > 0)) break;
    if (search.confirm(*c, &even_chain)) ++simulated;
  }
  return simulated > 0;
}

SearchResult galvatron_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context) {
  ChainSearch search(problem, config, context, "galvatron");
  if (const auto refusal = search.refusal()) return result_of_rule(*refusal);
  const std::vector<ChainCandidate> candidates = even_candidates(search);
  if (!confirm_best_even(search, candidates, config.simulated))
    search.confirm_minimum_memory(candidates,
                                  [&](const LayerChain& chain, double to_beat) { return cheapest_chain(chain, to_beat, search.budget()); });
  return std::move(search).result(std::nullopt);
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
