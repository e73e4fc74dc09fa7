#pragma once
// Names of what crosses from one virtual stage to another, shared by the stage that sends and the one that waits.
// Internal to sim/lowering.

#include <map>
#include <optional>
#include <tuple>

#include "sim/lowering/layout.hpp"
#include "sim/lowering/program.hpp"

namespace sim {

class Boundaries {
 public:
  [[nodiscard]] std::optional<BoundaryId> find_forward(pcg::TensorRef tensor, std::uint32_t layout) const {
    return find(forward_, {tensor, layout});
  }
  BoundaryId add_forward(pcg::TensorRef tensor, std::uint32_t layout, BoundaryId id) {
    return forward_.emplace(std::pair{tensor, layout}, id).first->second;
  }

  // The gradient of `tensor` from its readers in `stage` that hold it in `layout`.
  using GradientKey = std::tuple<pcg::TensorRef, int, std::uint32_t>;
  [[nodiscard]] std::optional<BoundaryId> find_gradient(const GradientKey& key) const { return find(gradient_, key); }
  void add_gradient(const GradientKey& key, BoundaryId id) { gradient_.emplace(key, id); }

 private:
  template <class Map>
  static std::optional<BoundaryId> find(const Map& m, const typename Map::key_type& key) {
    const auto it = m.find(key);
    return it == m.end() ? std::nullopt : std::optional(it->second);
  }
  std::map<std::pair<pcg::TensorRef, std::uint32_t>, BoundaryId> forward_;
  std::map<GradientKey, BoundaryId> gradient_;
};

}  // namespace sim
