#include "search/solve/layers/long_edges.hpp"

#include <algorithm>
#include <set>

namespace search {

std::vector<LongArrival> long_arrivals(const LayerChain& chain, const ChainAnswer& answer) {
  const auto stage_of = [&](std::size_t layer) {
    return static_cast<std::size_t>(std::ranges::upper_bound(answer.begins, layer) - answer.begins.begin()) - 1;
  };
  std::vector<LongArrival> arrivals;
  for (std::size_t e = 0; e < chain.long_edges.size(); ++e) {
    const LongEdge& edge = chain.long_edges[e];
    const auto arrival_at = [&](std::size_t layer) {
      return LongArrival{e, stage_of(edge.from), answer.strategies[edge.from], stage_of(layer), answer.strategies[layer]};
    };
    std::set<LongArrival> arrived;
    if (edge.next_reads) arrived.insert(arrival_at(edge.from + 1));
    for (const std::size_t reader : edge.readers)
      if (const LongArrival a = arrival_at(reader); arrived.insert(a).second) arrivals.push_back(a);
  }
  return arrivals;
}

}  // namespace search
