#include <fmt/core.h>

#include "topology/networks/switch_network.hpp"

namespace topology {
namespace {

// Places in the order of nodes, the last dimension fastest. Links: per dimension and direction, one from each place.
class TorusNetwork final : public SwitchNetwork {
 public:
  explicit TorusNetwork(const Network& network) : sizes_(network.dimensions), strides_(sizes_.size(), 1) {
    for (std::size_t d = sizes_.size(); d-- > 1;) strides_[d - 1] = strides_[d] * sizes_[d];
    places_ = strides_[0] * sizes_[0];
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      forwards_.push_back(static_cast<int>(links_.size()));
      for (int p = 0; sizes_[d] > 1 && p < places_; ++p) links_.push_back({p, moved(p, d, 1), network.link, 1, true});
      backwards_.push_back(sizes_[d] > 2 ? static_cast<int>(links_.size()) : forwards_.back());
      for (int p = 0; sizes_[d] > 2 && p < places_; ++p) links_.push_back({p, moved(p, d, -1), network.link, 1, true});
    }
  }

  [[nodiscard]] int switch_of(int node, int) const override { return node; }
  [[nodiscard]] std::string name_of(int network_switch) const override {
    std::string name = "place";
    for (std::size_t d = 0; d < sizes_.size(); ++d) name += fmt::format("{}{}", d == 0 ? "" : ".", coordinate(network_switch, d));
    return name;
  }
  [[nodiscard]] std::vector<int> route(int from, int to, int) const override {
    std::vector<int> route;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const int ahead = (coordinate(to, d) - coordinate(from, d) + sizes_[d]) % sizes_[d];
      const bool forwards = 2 * ahead <= sizes_[d];
      for (int steps = forwards ? ahead : sizes_[d] - ahead; steps > 0; --steps) {
        route.push_back((forwards ? forwards_ : backwards_)[d] + from);
        from = moved(from, d, forwards ? 1 : -1);
      }
    }
    return route;
  }

 private:
  [[nodiscard]] int coordinate(int place, std::size_t d) const { return place / strides_[d] % sizes_[d]; }
  [[nodiscard]] int moved(int place, std::size_t d, int step) const {
    const int at = coordinate(place, d);
    return place + ((at + step + sizes_[d]) % sizes_[d] - at) * strides_[d];
  }

  std::vector<int> sizes_, strides_;  // per dimension
  int places_ = 0;
  std::vector<int> forwards_, backwards_;  // per dimension: the first of its links
};

}  // namespace

std::unique_ptr<SwitchNetwork> make_torus(const Network& network) { return std::make_unique<TorusNetwork>(network); }

}  // namespace topology
