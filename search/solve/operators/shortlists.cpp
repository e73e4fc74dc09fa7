#include "search/solve/operators/shortlists.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace search {

const Shortlist& Shortlists::of(KindNumber kind, DeviceBlock block) {
  const auto [at, is_new] = lists_.try_emplace({kind, block});
  Shortlist& list = at->second;
  if (!is_new) return list;
  const StrategyTable& table = catalog_.table(kind, block);
  for (std::uint32_t w = 0; w < table.costs.size(); ++w)
    if (is_allowed(kind, table.strategies[w]) &&
        (!cuts_.only_largest || cuts_largest(kind, table.strategies, table.strategies[w], block.size)))
      list.strategies.push_back(w);
  if (list.strategies.empty()) {
    list.strategies.resize(table.costs.size());
    std::iota(list.strategies.begin(), list.strategies.end(), 0);
  }
  std::ranges::stable_sort(list.strategies, {}, [&](std::uint32_t w) { return seconds_of(table.costs[w], objective_); });
  std::size_t place = 0;
  double least_bytes = std::numeric_limits<double>::infinity();  // of all cheaper ones
  std::erase_if(list.strategies, [&](std::uint32_t w) {
    const double bytes = bytes_of(table.costs[w], objective_);
    const bool is_low_memory = has_low_memory_ && bytes < least_bytes;
    least_bytes = std::min(least_bytes, bytes);
    return place++ >= most_ && !table.is_plain[w] && !is_low_memory;
  });
  for (const std::uint32_t w : list.strategies) list.seconds.push_back(seconds_of(table.costs[w], objective_));
  return list;
}

bool Shortlists::is_allowed(const pcg::Loop& loop) const {
  if (loop.cut == pcg::Cut::sum) return cuts_.reduction;
  return loop.name == "b" ? cuts_.samples : loop.name == "heads" ? cuts_.heads : cuts_.features;
}

bool Shortlists::is_allowed(KindNumber kind, const Strategy& s) const {
  const std::vector<int>& degrees = s.sharding.degrees;
  if (std::ranges::count_if(degrees, [](int d) { return d > 1; }) > most_cut_) return false;
  if (cuts_.all()) return true;
  const std::vector<pcg::Loop>& loops = catalog_.kind(kind).node.space->loops;
  for (std::size_t l = 0; l < degrees.size(); ++l)
    if (degrees[l] > 1 && !is_allowed(loops[l])) return false;
  return true;
}

bool Shortlists::cuts_largest(KindNumber kind, const std::vector<Strategy>& all, const Strategy& s, int devices) const {
  const std::vector<pcg::Loop>& loops = catalog_.kind(kind).node.space->loops;
  // Iterations of the one loop that all devices share out; 0: there is none.
  const auto iterations = [&](const Strategy& t) {
    const auto cut = std::ranges::find(t.sharding.degrees, devices);
    return cut == t.sharding.degrees.end() ? std::int64_t{0} : loops[static_cast<std::size_t>(cut - t.sharding.degrees.begin())].size;
  };
  const std::int64_t mine = iterations(s);
  return mine > 0 && std::ranges::none_of(all, [&](const Strategy& t) { return iterations(t) > mine; });
}

EdgeCosts& Shortlists::edge(const EdgeKind& kind, DeviceBlock from, DeviceBlock to) {
  const auto [at, is_new] = edges_.try_emplace({kind, from, to});
  EdgeCosts& edge = at->second;
  if (!is_new) return edge;
  const Shortlist &rows = of(kind.from, from), &columns = of(kind.to, to);
  const StrategyTable &a = catalog_.table(kind.from, from), &b = catalog_.table(kind.to, to);
  edge = {kind, from, to, static_cast<std::uint32_t>(edges_.size() - 1), nullptr, {}};
  edge.costs = std::make_shared<PairCosts>(PairCosts{rows.strategies.size(), columns.strategies.size(), {}});
  for (const std::uint32_t row : rows.strategies)
    for (const std::uint32_t column : columns.strategies)
      edge.costs->seconds.push_back(catalog_.movement_at_least(kind, a.layouts[row], b.layouts[column]));
  edge.is_known.assign(edge.costs->seconds.size(), false);
  return edge;
}

bool Shortlists::resolve(EdgeCosts& edge, std::uint32_t row, std::uint32_t column) {
  const std::size_t at = row * edge.costs->columns + column;
  if (edge.is_known[at]) return false;
  const StrategyTable &a = catalog_.table(edge.kind.from, edge.from), &b = catalog_.table(edge.kind.to, edge.to);
  const double seconds = catalog_.movement(edge.kind, a.layouts[of(edge.kind.from, edge.from).strategies[row]],
                                           b.layouts[of(edge.kind.to, edge.to).strategies[column]]);
  edge.costs->seconds[at] = std::max(edge.costs->seconds[at], seconds);
  edge.is_known[at] = true;
  return true;
}

bool Shortlists::resolve_around(EdgeCosts& edge, std::uint32_t row, std::uint32_t column) {
  if (!resolve(edge, row, column)) return false;
  const double seconds = edge.costs->at(row, column);
  for (std::uint32_t r = 0; r < edge.costs->rows; ++r)
    if (edge.costs->at(r, column) < seconds) resolve(edge, r, column);
  for (std::uint32_t c = 0; c < edge.costs->columns; ++c)
    if (edge.costs->at(row, c) < seconds) resolve(edge, row, c);
  return true;
}

}  // namespace search
