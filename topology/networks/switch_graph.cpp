#include "topology/networks/switch_network.hpp"

#include <deque>

#include "base/check.hpp"

namespace topology {

SwitchGraph::SwitchGraph(int switches, std::span<const SwitchLink> links, const std::vector<double>& left)
    : links_(links), leaving_(static_cast<std::size_t>(switches)), entering_(static_cast<std::size_t>(switches)) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!left.empty() && left[i] == 0) continue;
    leaving_[static_cast<std::size_t>(links[i].from)].push_back(static_cast<int>(i));
    entering_[static_cast<std::size_t>(links[i].to)].push_back(static_cast<int>(i));
  }
}

std::vector<int> SwitchGraph::distances_to(int to) const {
  std::vector<int> distance(leaving_.size(), kUnreached);
  distance[static_cast<std::size_t>(to)] = 0;
  std::deque<int> reached{to};
  for (; !reached.empty(); reached.pop_front())
    for (const int l : entering_[static_cast<std::size_t>(reached.front())]) {
      const int next = links_[static_cast<std::size_t>(l)].from;
      if (distance[static_cast<std::size_t>(next)] != kUnreached) continue;
      distance[static_cast<std::size_t>(next)] = distance[static_cast<std::size_t>(reached.front())] + 1;
      reached.push_back(next);
    }
  return distance;
}

std::vector<int> SwitchGraph::route(int from, int to, const std::vector<int>& distance, int spread) const {
  std::vector<int> route;
  while (from != to) {
    std::vector<int> next;
    for (const int l : leaving_[static_cast<std::size_t>(from)])
      if (distance[static_cast<std::size_t>(links_[static_cast<std::size_t>(l)].to)] == distance[static_cast<std::size_t>(from)] - 1)
        next.push_back(l);
    BASE_CHECK(!next.empty(), "no route from switch {} to {}", from, to);
    const int choices = static_cast<int>(next.size());
    route.push_back(next[static_cast<std::size_t>(spread % choices)]);
    spread /= choices;
    from = links_[static_cast<std::size_t>(route.back())].to;
  }
  return route;
}

}  // namespace topology
