#include "search/solve/layers/memory_fronts.hpp"

#include <algorithm>
#include <limits>

namespace search {
namespace {

constexpr double kSameSum = 1e-12;  // sums of the same numbers in another order differ by less, as a share

bool is_less(double a, double b) { return a < b - kSameSum * b; }

}  // namespace

MemoryFronts::MemoryFronts(const LayerChain& chain, const std::vector<LayerCost>& table, std::size_t first, Direction direction,
                           std::size_t most_layers, const std::vector<double>& arrival, double most_seconds)
    : direction_(direction) {
  const LayerCost& start = table[chain.kinds[first]];
  std::vector<Front>& fronts = fronts_.emplace_back(start.seconds.size());
  for (std::size_t s = 0; s < fronts.size(); ++s) {
    const double seconds = start.seconds[s] + arrival[s];
    if (seconds < most_seconds && start.bytes[s] <= chain.memory) fronts[s].push_back({seconds, start.bytes[s], 0, 0});
  }
  for (std::size_t n = 1; n < most_layers; ++n) {
    const bool forwards = direction == Direction::forwards;
    const std::size_t layer = forwards ? first + n : first - n;
    const LayerCost& next = table[chain.kinds[forwards ? layer : layer + 1]];
    add_layer(table[chain.kinds[layer]], next.from_before, !forwards, chain.memory, most_seconds);
  }
}

void MemoryFronts::add_layer(const LayerCost& own, const StrategyPairs& moves, bool own_is_first, double memory, double most_seconds) {
  const std::vector<Front>& before = fronts_.back();
  std::vector<Front> fronts(before.size());
  for (std::uint32_t s = 0; s < fronts.size(); ++s) {
    std::vector<Label> labels;
    for (std::uint32_t b = 0; b < before.size(); ++b) {
      const double more = own.seconds[s] + (own_is_first ? moves[s][b] : moves[b][s]);
      for (std::uint32_t l = 0; l < before[b].size(); ++l) {
        const Label& label = before[b][l];
        const double seconds = label.seconds + more, bytes = label.bytes + own.bytes[s];
        if (seconds < most_seconds && bytes <= memory) labels.push_back({seconds, bytes, b, l});
      }
    }
    fronts[s] = front_of(std::move(labels));
  }
  fronts_.push_back(std::move(fronts));
}

MemoryFronts::Front MemoryFronts::front_of(std::vector<Label> labels) {
  std::ranges::stable_sort(labels,
                           [](const Label& a, const Label& b) { return std::pair(a.seconds, a.bytes) < std::pair(b.seconds, b.bytes); });
  Front front;
  for (const Label& l : labels)
    if (front.empty() || is_less(l.bytes, front.back().bytes)) front.push_back(l);
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
