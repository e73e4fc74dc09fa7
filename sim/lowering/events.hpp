#pragma once
// Events by what they say: a tensor or a gradient has crossed from one virtual stage to another, a stage's gradients are synchronised, its
// last backward pass has ended. The emitter that signals an event asks for its number here; the one that waits looks it up. An event that
// says the same in several variants of a plan has one number. Internal to sim/lowering.

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/lowering/program_builder.hpp"

namespace sim {

class Events {
 public:
  // `program` numbers the events and outlives the object.
  explicit Events(ProgramBuilder& program) : program_(program) {}

  // `tensor` from stage `stage` has come to where it is wanted in `layout`.
  [[nodiscard]] EventId forward(pcg::TensorRef tensor, LayoutId layout, int stage) {
    return number(forward_, {tensor, layout}, Pass::forward, stage);
  }
  [[nodiscard]] std::optional<EventId> find_forward(pcg::TensorRef tensor, LayoutId layout) const {
    return find(forward_, {tensor, layout});
  }

  // The gradient of `tensor` from its readers in `stage` that hold it in `layout`.
  using GradientKey = std::tuple<pcg::TensorRef, int, LayoutId>;
  [[nodiscard]] EventId gradient(const GradientKey& key) { return number(gradient_, key, Pass::backward, std::get<1>(key)); }
  [[nodiscard]] std::optional<EventId> find_gradient(const GradientKey& key) const { return find(gradient_, key); }

  // The `nth` collective that synchronises gradients of a stage in its last backward pass.
  [[nodiscard]] EventId synchronised(int stage, std::size_t nth) { return number(synchronised_, {stage, nth}, Pass::backward, stage); }

  // The end of a stage's last backward pass.
  [[nodiscard]] EventId stage_end(int stage) { return number(stage_ends_, stage, Pass::backward, stage); }

 private:
  template <class Map>
  static std::optional<EventId> find(const Map& m, const typename Map::key_type& key) {
    const auto it = m.find(key);
    return it == m.end() ? std::nullopt : std::optional(it->second);
  }
  template <class Map>
  EventId number(Map& m, const typename Map::key_type& key, Pass pass, int stage) {
    const auto [it, is_new] = m.try_emplace(key);
    if (is_new) it->second = program_.new_event(pass, stage);
    return it->second;
  }

  ProgramBuilder& program_;
  std::map<std::pair<pcg::TensorRef, LayoutId>, EventId> forward_;
  std::map<GradientKey, EventId> gradient_;
  std::map<std::pair<int, std::size_t>, EventId> synchronised_;
  std::map<int, EventId> stage_ends_;
};

}  // namespace sim
