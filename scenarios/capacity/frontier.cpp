#include "scenarios/capacity/frontier.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace scenarios {

std::vector<bool> on_frontier(std::span<const Figures> all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(all[i].cost, all[i].time, i); });
  std::vector<bool> result(all.size(), false);
  Figures last;  // the last on the frontier: of those that are no dearer, the quickest
  double quickest = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    if (all[i].time < quickest || all[i] == last) {
      result[i] = true;
      last = all[i];
      quickest = all[i].time;
    }
  }
  return result;
}

}  // namespace scenarios
