#pragma once
// Names of what crosses from one virtual stage to another, shared by the stage that sends and the one that waits.
// Internal to sim/lowering.

#include <map>
#include <optional>
#include <tuple>

#include "sim/dataflow/layout.hpp"
#include "sim/program/program.hpp"

namespace sim {

class Events {
 public:
  [[nodiscard]] std::optional<EventId> find_forward(pcg::TensorRef tensor, std::uint32_t layout) const {
    return find(forward_, {tensor, layout});
  }
  EventId add_forward(pcg::TensorRef tensor, std::uint32_t layout, EventId id) {
    return forward_.emplace(std::pair{tensor, layout}, id).first->second;
  }

  // The gradient of `tensor` from its readers in `stage` that hold it in `layout`.
  using GradientKey = std::tuple<pcg::TensorRef, int, std::uint32_t>;
  [[nodiscard]] std::optional<EventId> find_gradient(const GradientKey& key) const { return find(gradient_, key); }
  void add_gradient(const GradientKey& key, EventId id) { gradient_.emplace(key, id); }

 private:
  template <class Map>
  static std::optional<EventId> find(const Map& m, const typename Map::key_type& key) {
    const auto it = m.find(key);
    return it == m.end() ? std::nullopt : std::optional(it->second);
  }
  std::map<std::pair<pcg::TensorRef, std::uint32_t>, EventId> forward_;
  std::map<GradientKey, EventId> gradient_;
};

}  // namespace sim
