#include "topology/networks/switch_network.hpp"

#include <deque>

#include "base/check.hpp"

namespace topology {

SwitchGraph::SwitchGraph(int switches, std::span<const SwitchLink> links, const std::vector<double>& left)
    : links_(links), leaving_(static_cast<std::size_t>(switches)), entering_(static_cast<std::size_t>(switches)) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!left.empty() && left[i] == 0) continue;
    nth(leaving_, links[i].from).push_back(static_cast<int>(i));
    nth(entering_, links[i].to).push_back(static_cast<int>(i));
  }
}

std::vector<int> SwitchGraph::distances_to(int to) const {
  std::vector<int> distance(leaving_.size(), kUnreached);
  nth(distance, to) = 0;
  std::deque<int> reached{to};
  for (; !reached.empty(); reached.pop_front())
    for (const int l : nth(entering_, reached.front())) {
      const int next = nth(links_, l).from;
      if (nth(distance, next) != kUnreached) continue;
      nth(distance, next) = nth(distance, reached.front()) + 1;
      reached.push_back(next);
    }
  return distance;
}

std::vector<int> SwitchGraph::route(int from, int to, const std::vector<int>& distance, int spread) const {
  std::vector<int> route;
  while (from != to) {
    std::vector<int> next;
    for (const int l : nth(leaving_, from))
      if (nth(distance, nth(links_, l).to) == nth(distance, from) - 1) next.push_back(l);
    BASE_CHECK(!next.empty(), "no route from switch {} to {}", from, to);
    const int choices = static_cast<int>(next.size());
    route.push_back(nth(next, spread % choices));
    spread /= choices;
    from = nth(links_, route.back()).to;
  }
  return route;
}

}  // namespace topology
