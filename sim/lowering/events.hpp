#pragma once
// Events of a program by what they say: a tensor or a gradient has crossed from one virtual stage to another, a stage's gradients are
// synchronised, its last backward pass has ended. The emitter that signals an event writes it here; the one that waits looks it up.
// Internal to sim/lowering.

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/lowering/interning.hpp"

namespace sim {

class Events {
 public:
  [[nodiscard]] std::optional<EventId> find_forward(pcg::TensorRef tensor, LayoutId layout) const {
    return find(forward_, {tensor, layout});
  }
  EventId add_forward(pcg::TensorRef tensor, LayoutId layout, EventId id) {
    return forward_.emplace(std::pair{tensor, layout}, id).first->second;
  }

  // The gradient of `tensor` from its readers in `stage` that hold it in `layout`.
  using GradientKey = std::tuple<pcg::TensorRef, int, LayoutId>;
  [[nodiscard]] std::optional<EventId> find_gradient(const GradientKey& key) const { return find(gradient_, key); }
  void add_gradient(const GradientKey& key, EventId id) { gradient_.emplace(key, id); }

  // Signalled by the synchronisation of gradients in the last backward passes: the update waits for all of them.
  void add_synchronised(EventId id) { synchronised_.push_back(id); }
  [[nodiscard]] const std::vector<EventId>& synchronised() const { return synchronised_; }

  // The end of a stage's last backward pass.
  void add_stage_end(int stage, EventId id) { stage_ends_.emplace(stage, id); }
  [[nodiscard]] EventId stage_end(int stage) const { return stage_ends_.at(stage); }

 private:
  template <class Map>
  static std::optional<EventId> find(const Map& m, const typename Map::key_type& key) {
    const auto it = m.find(key);
    return it == m.end() ? std::nullopt : std::optional(it->second);
  }
  std::map<std::pair<pcg::TensorRef, LayoutId>, EventId> forward_;
  std::map<GradientKey, EventId> gradient_;
  std::vector<EventId> synchronised_;
  std::map<int, EventId> stage_ends_;
};

}  // namespace sim
