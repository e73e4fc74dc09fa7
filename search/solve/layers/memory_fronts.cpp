#include "search/solve/layers/layer_chain.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sim/effort.hpp"

namespace search {
namespace {

constexpr double kSameSum = 1e-12;  // sums of the same numbers in another order differ by less, as a share

bool is_less(double a, double b) { return a < b - kSameSum * b; }

}  // namespace

MemoryFronts::MemoryFronts(const LayerChain& chain, const std::vector<LayerCost>& table, std::size_t first, Direction direction,
                           std::size_t most_layers, const std::vector<double>& arrival, double most_seconds, const Budget& budget)
    : direction_(direction) {
  const LayerCost& start = table[chain.kinds[first]];
  std::vector<Front> fronts(start.seconds.size());
  for (std::size_t s = 0; s < fronts.size(); ++s) {
    const double seconds = start.seconds[s] + arrival[s];
    if (seconds < most_seconds && start.bytes[s] <= chain.memory) fronts[s].push_back({seconds, start.bytes[s], 0, 0});
  }
  fronts_.push_back(std::move(fronts));
  const bool forwards = direction == Direction::forwards;
  for (std::size_t n = 1; n < most_layers; ++n) {
    const std::size_t layer = forwards ? first + n : first - n;
    const LayerCost& own = table[chain.kinds[layer]];
    const StrategyPairs& moves = table[chain.kinds[forwards ? layer : layer + 1]].from_before;
    const std::vector<Front>& before = fronts_.back();
    for (const Front& f : before) budget.spend(sim::kFrontLabel * static_cast<double>(f.size() * before.size()));
    std::vector<Front> longer;
    for (std::uint32_t s = 0; s < before.size(); ++s) {
      std::vector<Grown> grown;
      for (std::uint32_t b = 0; b < before.size(); ++b)
        grown.push_back({before[b], own.seconds[s] + (forwards ? moves[b][s] : moves[s][b]), own.bytes[s]});
      longer.push_back(front_of(grown, chain.memory, most_seconds));
    }
    fronts_.push_back(std::move(longer));
  }
}

// Merges the fronts: labels come by their seconds, then bytes, then strategy. A label that needs as many bytes as one that was taken is
// dropped, since those that are taken later need less still.
MemoryFronts::Front MemoryFronts::front_of(const std::vector<Grown>& grown, double memory, double most_seconds) {
  Front front;
  const auto is_worth_taking = [&](double bytes) { return bytes <= memory && (front.empty() || is_less(bytes, front.back().bytes)); };
  std::vector<Label> next;  // a heap: of each front the first label that is worth taking
  const auto comes_later = [](const Label& a, const Label& b) {
    return std::tie(a.seconds, a.bytes, a.strategy_before) > std::tie(b.seconds, b.bytes, b.strategy_before);
  };
  const auto push_first = [&](std::uint32_t strategy, std::uint32_t from) {
    const Grown& g = grown[strategy];
    const auto grow = [&](std::uint32_t l) { return Label{g.front[l].seconds + g.seconds, g.front[l].bytes + g.bytes, strategy, l}; };
    while (from < g.front.size() && !is_worth_taking(g.front[from].bytes + g.bytes)) ++from;
    if (from == g.front.size()) return;
    Label first = grow(from);  // or one after it, where rounding makes the sums equal
    for (std::uint32_t l = from + 1; l < g.front.size() && g.front[l].seconds + g.seconds == first.seconds; ++l)
      if (const Label other = grow(l); other.bytes < first.bytes) first = other;
    if (first.seconds >= most_seconds) return;
    next.push_back(first);
    std::ranges::push_heap(next, comes_later);
  };
  for (std::uint32_t strategy = 0; strategy < grown.size(); ++strategy) push_first(strategy, 0);
  while (!next.empty()) {
    std::ranges::pop_heap(next, comes_later);
    const Label l = next.back();
    next.pop_back();
    if (is_worth_taking(l.bytes)) front.push_back(l);
    push_first(l.strategy_before, l.label_before + 1);
  }
  return front;
}

double MemoryFronts::seconds(std::size_t layers, std::uint32_t strategy) const {
  const Front& front = fronts_[layers - 1][strategy];
  return front.empty() ? std::numeric_limits<double>::infinity() : front.front().seconds;
}

std::vector<std::uint32_t> MemoryFronts::strategies(std::size_t layers, std::uint32_t strategy) const {
  std::vector<std::uint32_t> found;
  std::uint32_t label = 0;
  for (std::size_t n = layers; n-- > 0;) {
    found.push_back(strategy);
    const Label& l = fronts_[n][strategy][label];
    strategy = l.strategy_before;
    label = l.label_before;
  }
  if (direction_ == Direction::forwards) std::ranges::reverse(found);
  return found;
}

}  // namespace search
