#include <fmt/core.h>

#include <algorithm>

#include "topology/networks/switch_network.hpp"

namespace topology {
namespace {

// Switches: the groups (leaves, rails, or the only switch), then the pods, then the top. Links: up and down of each group, then of each
// pod.
class TreeNetwork final : public SwitchNetwork {
 public:
  TreeNetwork(const Network& network, const NicCounts& nics) : network_(network) {
    const int nodes = static_cast<int>(nics.size());
    switch (network.kind) {
      case NetworkKind::fat_tree: groups_ = (nodes - 1) / network.nodes_per_leaf + 1; break;
      case NetworkKind::rail: groups_ = *std::ranges::max_element(nics); break;
      default: groups_ = 1;
    }
    if (network.leaves_per_pod > 0) pods_ = (groups_ - 1) / network.leaves_per_pod + 1;
    std::vector<double> of_group(static_cast<std::size_t>(groups_), 0), of_pod(static_cast<std::size_t>(pods_), 0);
    for (int node = 0; node < nodes; ++node)
      for (int nic = 0; nic < nth(nics, node); ++nic) nth(of_group, switch_of(node, nic)) += 1;
    for (double& up : of_group) up = up / network.oversubscription;
    for (int g = 0; pods_ > 0 && g < groups_; ++g) nth(of_pod, pod_of(g)) += nth(of_group, g);
    if (groups_ > 1)
      for (int g = 0; g < groups_; ++g) join(g, pods_ > 0 ? groups_ + pod_of(g) : top(), nth(of_group, g));
    for (int p = 0; pods_ > 1 && p < pods_; ++p) join(groups_ + p, top(), nth(of_pod, p) / network.pod_oversubscription);
  }

  [[nodiscard]] int switch_of(int node, int nic) const override {
    switch (network_.kind) {
      case NetworkKind::fat_tree: return node / network_.nodes_per_leaf;
      case NetworkKind::rail: return nic;
      default: return 0;
    }
  }
  [[nodiscard]] std::string name_of(int network_switch) const override {
    if (network_.kind == NetworkKind::single_switch) return "switch";
    const bool rails = network_.kind == NetworkKind::rail;
    if (network_switch == top()) return rails ? "spine" : "core";
    if (network_switch >= groups_) return fmt::format("pod{}", network_switch - groups_);
    return fmt::format("{}{}", rails ? "rail" : "leaf", network_switch);
  }
  [[nodiscard]] std::vector<int> route(int from, int to, int) const override {
    if (from == to) return {};
    const int up = 2 * from, down = 2 * to + 1;
    if (pods_ < 2 || pod_of(from) == pod_of(to)) return {up, down};
    return {up, 2 * (groups_ + pod_of(from)), 2 * (groups_ + pod_of(to)) + 1, down};
  }

 private:
  [[nodiscard]] int top() const { return groups_ + pods_; }
  [[nodiscard]] int pod_of(int group) const { return group / network_.leaves_per_pod; }
  void join(int below, int above, double multiple) {
    links_.push_back({below, above, network_.link, multiple, true});
    links_.push_back({above, below, network_.link, multiple, false});
  }

  Network network_;
  int groups_ = 1;
  int pods_ = 0;  // of a tree of three tiers
};

}  // namespace

std::unique_ptr<SwitchNetwork> make_tree(const Network& network, const NicCounts& nics) {
  return std::make_unique<TreeNetwork>(network, nics);
}

}  // namespace topology
