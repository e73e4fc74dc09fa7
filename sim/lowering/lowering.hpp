#pragma once
// The context of the emitters of a lowering: what they read, and what they number, cost and build with. Each member keeps its own
// invariants; nothing of it is filled from here. Internal to sim/lowering.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/dataflow/dataflow.hpp"
#include "sim/kernels/cost_table.hpp"
#include "sim/memory/activations.hpp"
#include "sim/numbering/deliveries.hpp"
#include "sim/numbering/interning.hpp"
#include "sim/program/program.hpp"

namespace sim {

// The programs of a plan's variants under construction: what they share in tables that grow, and which blocks the present one is made of.
class ProgramBuilder {
 public:
  ProgramBuilder(const CostTable& costs, const profiles::FrameworkProfile& framework, const pcg::Plan& plan);

  // Kernels of a node that cost `cost`. One cost, by its number, has its seconds once.
  [[nodiscard]] Part part(std::uint32_t node, std::string_view what, const Cost& cost);
  // The kernels that do this share of a node's work, and the same share of the host's.
  [[nodiscard]] Part part(std::uint32_t node, std::string_view what, const Cost& cost, double share);
  // Times of no kernel, which nothing launches, one per device type. Returns: their index in Program::seconds.
  [[nodiscard]] std::uint32_t times(const std::vector<base::Seconds>& on_type);
  // The host works this much longer before it launches the first kernels of `block` from item `first` on.
  void add_host_time(Block& block, std::size_t first, base::Seconds time);
  // An event that an item of this pass of the stage signals.
  [[nodiscard]] EventId new_event(Pass pass, int stage);
  [[nodiscard]] BlockId add(Block block);
  // Whether some part is a share of a node's kernels.
  [[nodiscard]] bool has_shares() const { return !seconds_of_share_.empty(); }
  // Notes are kept once.
  void add_note(base::Fact fact);

  // The program that these blocks make, with what `interned` has numbered, and notes of what the costs assume. It changes with the next.
  const Program& build(PassBlocks blocks, const Interning& interned, const CostTable& costs);
  [[nodiscard]] Program take() && { return std::move(program_); }

 private:
  const profiles::FrameworkProfile& framework_;
  bool hosts_launch_;  // kernels one by one
  Program program_;
  std::uint32_t add_seconds(const Cost& cost, double share);

  std::vector<std::optional<std::uint32_t>> seconds_of_cost_;                   // by Cost::number: Part::seconds
  std::map<std::pair<std::uint32_t, double>, std::uint32_t> seconds_of_share_;  // the same by number and share
};

// An item that moves something.
[[nodiscard]] Item moving(StreamKind stream, MovementId movement, std::string_view what, std::uint32_t node,
                          std::vector<std::uint32_t> after, std::vector<EventId> waits_on = {});
// Puts an item at the end of a block, its dependencies in order.
// Returns: its number in the block.
std::uint32_t append(Block& block, Item item);

// Events by their meaning: a tensor or a gradient has crossed from one virtual stage to another, a stage's gradients are synchronised, its
// last backward pass has ended. The emitter that signals an event asks for its number here; the one that waits looks it up. An event that
// means the same in several variants of a plan has one number.
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

  // The tensors that the last offloaded block of a stage's forward pass saves are in the host's memory.
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

struct Lowering {
  const pcg::Plan& plan;
  Variant variant;  // instead of the plan's own
  const FlowGraph& flow;
  const Synchronisation& synchronisation;
  const profiles::FrameworkProfile& framework;
  const topology::Cluster& cluster;
  profiles::Overlaps overlap;  // the plan's, else the framework's
  CostTable& costs;
  Interning& interned;
  Deliveries& deliveries;
  GradientSums& gradients;
  ProgramBuilder& program;
  Events& events;
  const std::vector<OffloadedBlocks>& offloaded;  // by stage: offloaded_activations(); empty where nothing is
};

// Exchanges of tokens between the ranks that share experts out: by dispatch and by combine.
// Where passes are merged they have a stream of their own, so that the kernels of the other pass do not wait for what is queued after them.
// The stream of a movement inside a stage, of what `producer` makes and `consumer` reads, or of its gradient.
[[nodiscard]] StreamKind stream_between(const Lowering& l, std::uint32_t producer, std::uint32_t consumer, MovementId movement);

// Whether some block of the program exchanges tokens on that stream.
// Cost: O(items).
[[nodiscard]] bool exchanges_tokens(const Program& program);

// Returns a note on what the library that the plan names for dispatch does not change, if there is such a thing.
[[nodiscard]] std::optional<base::Fact> unused_dispatch(const pcg::Plan& plan, const FlowGraph& flow, const Program& program,
                                                        const topology::Cluster& cluster);

}  // namespace sim
