#include "topology/networks/switch_network.hpp"

namespace topology {
namespace {

class CustomSwitches final : public SwitchNetwork {
 public:
  explicit CustomSwitches(const CustomNetwork& network)
      : SwitchNetwork(links_of(network)), network_(network), graph_(static_cast<int>(network.switches.size()), links_, {}) {
    for (int to = 0; to < graph_.switches(); ++to) distances_.push_back(graph_.distances_to(to));
  }

  [[nodiscard]] int switch_of(int node, int nic) const override { return nth(nth(network_.switch_of_nic, node), nic); }
  [[nodiscard]] std::string name_of(int network_switch) const override { return nth(network_.switches, network_switch); }
  [[nodiscard]] std::vector<int> route(int from, int to, int spread) const override {
    return graph_.route(from, to, nth(distances_, to), spread);
  }

 private:
  static std::vector<SwitchLink> links_of(const CustomNetwork& network) {
    std::vector<SwitchLink> links;
    for (const CustomNetwork::Cable& c : network.cables) {
      links.push_back({c.a, c.b, c.link, static_cast<double>(c.count), true});
      links.push_back({c.b, c.a, c.link, static_cast<double>(c.count), true});
    }
    return links;
  }

  CustomNetwork network_;
  SwitchGraph graph_;
  std::vector<std::vector<int>> distances_;  // [to][from]
};

}  // namespace

std::unique_ptr<SwitchNetwork> make_custom(const Network& network) { return std::make_unique<CustomSwitches>(network.custom); }

}  // namespace topology
