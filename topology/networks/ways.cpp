#include "topology/networks/ways.hpp"

#include <deque>

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

}  // namespace topology
