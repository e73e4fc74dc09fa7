#include <algorithm>

#include "base/check.hpp"
#include "topology/networks/ways.hpp"

namespace topology {
namespace {

// A switch without links is on no way that has one.
int switches_of(std::span<const SwitchLink> links) {
  int switches = 0;
  for (const SwitchLink& l : links) switches = std::max({switches, l.from + 1, l.to + 1});
  return switches;
}

class FaultySwitches final : public SwitchNetwork {
 public:
  FaultySwitches(std::unique_ptr<SwitchNetwork> network, const std::vector<double>& left)
      : network_(std::move(network)),
        left_(left),
        links_(network_->links().begin(), network_->links().end()),
        graph_(switches_of(links_), links_, left) {
    for (std::size_t l = 0; l < links_.size(); ++l)
      if (left[l] > 0) links_[l].multiple *= left[l];
  }

  [[nodiscard]] int switch_of(int node, int nic) const override { return network_->switch_of(node, nic); }
  [[nodiscard]] std::string name_of(int network_switch) const override { return network_->name_of(network_switch); }
  [[nodiscard]] std::span<const SwitchLink> links() const override { return links_; }
  [[nodiscard]] std::vector<int> way(int from, int to, int spread) const override {
    std::vector<int> way = network_->way(from, to, spread);
    if (std::ranges::none_of(way, [&](int l) { return left_[static_cast<std::size_t>(l)] == 0; })) return way;
    way.clear();
    const std::vector<int> distance = graph_.distances_to(to);
    while (from != to) {
      const auto nearer = [&](int l) {
        return distance[static_cast<std::size_t>(links_[static_cast<std::size_t>(l)].to)] == distance[static_cast<std::size_t>(from)] - 1;
      };
      const std::span<const int> leaving = graph_.leaving(from);
      const auto next = std::ranges::find_if(leaving, nearer);
      BASE_CHECK(next != leaving.end(), "no way from {} to {}", name_of(from), name_of(to));
      way.push_back(*next);
      from = links_[static_cast<std::size_t>(*next)].to;
    }
    return way;
  }

 private:
  std::unique_ptr<SwitchNetwork> network_;
  std::vector<double> left_;
  std::vector<SwitchLink> links_;
  SwitchGraph graph_;
};

}  // namespace

// Faults take both ways of a link, so all reach each other where all reach one.
std::optional<std::pair<int, int>> unreached(const SwitchNetwork& network, const std::vector<double>& left, const std::set<int>& ends) {
  const SwitchGraph graph(std::max(switches_of(network.links()), *ends.rbegin() + 1), network.links(), left);
  const std::vector<int> distance = graph.distances_to(*ends.begin());
  for (const int end : ends)
    if (distance[static_cast<std::size_t>(end)] == SwitchGraph::kUnreached) return std::pair(*ends.begin(), end);
  return std::nullopt;
}

std::unique_ptr<SwitchNetwork> with_faults(std::unique_ptr<SwitchNetwork> network, const std::vector<double>& left) {
  return std::make_unique<FaultySwitches>(std::move(network), left);
}

}  // namespace topology
