#include <fmt/core.h>

#include <algorithm>

#include "topology/networks/switch_network.hpp"

namespace topology {
namespace {

// Router r is number r % routers_per_group of group r / routers_per_group. Links: for each group the pairs of its routers, then for each
// pair of groups its links, each in both orders.
class DragonflyNetwork final : public SwitchNetwork {
 public:
  DragonflyNetwork(const Network& network, const NicCounts& nics)
      : shape_(network.dragonfly), routers_(shape_.routers_per_group), nics_(*std::ranges::max_element(nics)) {
    const int last = switch_of(static_cast<int>(nics.size()) - 1, nics_ - 1);
    groups_ = last / routers_ + 1;
    for (int g = 0; g < groups_; ++g)
      for (int a = 0; a < routers_; ++a)
        for (int b = 0; b < routers_; ++b)
          if (a != b) links_.push_back({g * routers_ + a, g * routers_ + b, network.link, static_cast<double>(shape_.local_links), true});
    for (int g = 0; g < groups_; ++g)
      for (int h = 0; h < groups_; ++h)
        for (int m = 0; g != h && m < shape_.global_links; ++m)
          links_.push_back({gateway(g, h, m), gateway(h, g, m), network.link, 1, true});
  }

  [[nodiscard]] int switch_of(int node, int nic) const override {
    const int block = node / shape_.nodes_per_router;
    return shape_.spread_nics ? block * nics_ + nic : block;
  }
  [[nodiscard]] std::string name_of(int network_switch) const override {
    return fmt::format("group{}.router{}", network_switch / routers_, network_switch % routers_);
  }
  [[nodiscard]] std::vector<int> route(int from, int to, int) const override {
    const int g = from / routers_, h = to / routers_;
    if (g == h) return from == to ? std::vector<int>{} : std::vector<int>{local(from, to)};
    const int m = (from + to) % shape_.global_links;
    const int out = gateway(g, h, m), in = gateway(h, g, m);
    std::vector<int> route;
    if (from != out) route.push_back(local(from, out));
    route.push_back(global(g, h, m));
    if (in != to) route.push_back(local(in, to));
    return route;
  }

 private:
  // A group deals its links to the next group, the one after it and so on out to its routers.
  [[nodiscard]] int gateway(int group, int other, int m) const {
    const int step = (other - group - 1 + groups_) % groups_;
    return group * routers_ + (step * shape_.global_links + m) % routers_;
  }
  [[nodiscard]] int local(int from, int to) const {
    const int group = from / routers_, a = from % routers_, b = to % routers_;
    return (group * routers_ + a) * (routers_ - 1) + (b > a ? b - 1 : b);
  }
  [[nodiscard]] int global(int from, int to, int m) const {
    const int first = groups_ * routers_ * (routers_ - 1);
    return first + (from * (groups_ - 1) + (to > from ? to - 1 : to)) * shape_.global_links + m;
  }

  Dragonfly shape_;
  int routers_;  // of a group
  int nics_;     // of the node that has most
  int groups_ = 1;
};

}  // namespace

std::unique_ptr<SwitchNetwork> make_dragonfly(const Network& network, const NicCounts& nics) {
  return std::make_unique<DragonflyNetwork>(network, nics);
}

}  // namespace topology
