#include <algorithm>

#include "topology/networks/switch_network.hpp"

namespace topology {
namespace {

// A switch without links is on no route that has one.
int switches_of(std::span<const SwitchLink> links) {
  int switches = 0;
  for (const SwitchLink& l : links) switches = std::max({switches, l.from + 1, l.to + 1});
  return switches;
}

class FaultySwitches final : public SwitchNetwork {
 public:
  FaultySwitches(std::unique_ptr<SwitchNetwork> network, const std::vector<double>& left)
      : SwitchNetwork({network->links().begin(), network->links().end()}),
        network_(std::move(network)),
        left_(left),
        graph_(switches_of(links_), links_, left) {
    for (std::size_t l = 0; l < links_.size(); ++l)
      if (left[l] > 0) links_[l].left = left[l];
  }

  [[nodiscard]] int switch_of(int node, int nic) const override { return network_->switch_of(node, nic); }
  [[nodiscard]] std::string name_of(int network_switch) const override { return network_->name_of(network_switch); }
  [[nodiscard]] std::vector<int> route(int from, int to, int spread) const override {
    const std::vector<int> route = network_->route(from, to, spread);
    if (std::ranges::none_of(route, [&](int l) { return nth(left_, l) == 0; })) return route;
    return graph_.route(from, to, graph_.distances_to(to), 0);
  }

 private:
  std::unique_ptr<SwitchNetwork> network_;
  std::vector<double> left_;
  SwitchGraph graph_;
};

}  // namespace

// Faults take both directions of a link, so all reach each other where all reach one.
std::optional<std::pair<int, int>> unreached(const SwitchNetwork& network, const std::vector<double>& left, const std::set<int>& ends) {
  const SwitchGraph graph(std::max(switches_of(network.links()), *ends.rbegin() + 1), network.links(), left);
  const std::vector<int> distance = graph.distances_to(*ends.begin());
  for (const int end : ends)
    if (nth(distance, end) == SwitchGraph::kUnreached) return std::pair(*ends.begin(), end);
  return std::nullopt;
}

std::unique_ptr<SwitchNetwork> with_faults(std::unique_ptr<SwitchNetwork> network, const std::vector<double>& left) {
  return std::make_unique<FaultySwitches>(std::move(network), left);
}

}  // namespace topology
