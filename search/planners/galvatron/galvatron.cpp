#include "search/planners/galvatron/galvatron.hpp"

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
        c->made_by = "even stages";
        found.push_back(std::move(*c));
      }
    }
  }
  return found;
}

SearchResult galvatron_search(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context) {
  ChainSearch search(problem, config, context, "galvatron");
  if (const auto refusal = search.refusal()) return result_of_rule(*refusal);
  const std::vector<ChainCandidate> candidates = even_candidates(search);
  if (!search.confirm_best(candidates, [](const LayerChain& chain, double) { return even_chain(chain); }))
    search.confirm_minimum_memory(candidates,
                                  [&](const LayerChain& chain, double to_beat) { return cheapest_chain(chain, to_beat, search.budget()); });
  return std::move(search).result(std::nullopt);
}

Planner galvatron_planner() {
  return {.kind = "galvatron",
          .about = "Layers shared out evenly among stages, with data, tensor or sharded data parallelism chosen for each layer.",
          .searches = true,
          .options = chain_search_options(),
          .contradiction = [](const OptionValues& o) { return beyond_paper(o, {"schedule"}); },
          .plan = [](const Problem& p, const OptionValues& o,
                     const SearchContext& c) { return galvatron_search(p, chain_search_config(o), c); }};
}

}  // namespace search
