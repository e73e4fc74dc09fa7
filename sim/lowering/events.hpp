#pragma once
// Events by their meaning: a tensor or a gradient has crossed from one virtual stage to another, a stage's gradients are synchronised, its
// last backward pass has ended. The emitter that signals an event asks for its number here; the one that waits looks it up. An event that
// means the same in several variants of a plan has one number. Internal to sim/lowering.

#include <map>
#include <optional>
#include <vector>

#include "sim/lowering/program_builder.hpp"
#include "sim/numbering/deliveries.hpp"
#include "sim/numbering/gradient_sums.hpp"

namespace sim {

class Events {
 public:
  // `program` numbers the events and outlives the object.
  Events(ProgramBuilder& program, const Deliveries& deliveries, const GradientSums& gradients)
      : program_(program), forward_(deliveries.size()), gradient_(gradients.size()) {}

  // A tensor from stage `stage` has come to where readers of another stage want it.
  [[nodiscard]] EventId forward(DeliveryId delivery, int stage) { return number(forward_[delivery.value], Pass::forward, stage); }
  [[nodiscard]] std::optional<EventId> find_forward(DeliveryId delivery) const { return forward_[delivery.value]; }

  // A gradient from readers of stage `stage` has come to the node that made the tensor, in another stage.
  [[nodiscard]] EventId gradient(GradientId sum, int stage) { return number(gradient_[sum.value], Pass::backward, stage); }
  [[nodiscard]] std::optional<EventId> find_gradient(GradientId sum) const { return gradient_[sum.value]; }

  // The `nth` collective that synchronises gradients of a stage in its last backward pass.
  [[nodiscard]] EventId synchronised(int stage, std::size_t nth) { return number(synchronised_[{stage, nth}], Pass::backward, stage); }

  // What the last offloaded block of a stage's forward pass keeps is in the host's memory.
  [[nodiscard]] EventId offloaded(int stage) { return number(offloaded_[stage], Pass::forward, stage); }
  [[nodiscard]] std::optional<EventId> find_offloaded(int stage) const {
    const auto at = offloaded_.find(stage);
    return at == offloaded_.end() ? std::nullopt : at->second;
  }

  // The end of a stage's last backward pass.
  [[nodiscard]] EventId stage_end(int stage) { return number(stage_ends_[stage], Pass::backward, stage); }

 private:
  EventId number(std::optional<EventId>& known, Pass pass, int stage) {
    if (!known) known = program_.new_event(pass, stage);
    return *known;
  }

  ProgramBuilder& program_;
  std::vector<std::optional<EventId>> forward_;   // by DeliveryId
  std::vector<std::optional<EventId>> gradient_;  // by GradientId
  std::map<std::pair<int, std::size_t>, std::optional<EventId>> synchronised_;
  std::map<int, std::optional<EventId>> offloaded_, stage_ends_;
};

}  // namespace sim
