#pragma once
// Numbers for what is resharded on its way between nodes: tensors, and gradients of tensors. Internal to lowering.

#include <optional>
#include <span>
#include <vector>

#include "sim/numbering/interning.hpp"

namespace sim {

// What is resharded, by the inputs of computing nodes that it is for or comes from. Each moves once.
template <class Id>
class Resharded {
 public:
  // What input `input` of a computing node reads, or adds to. None: that comes from a weight or from the data, which lie where they are
  // read.
  [[nodiscard]] std::optional<Id> of(std::uint32_t node, std::size_t input) const { return of_input_[node][input]; }
  // Its place among all that nodes of the same stage make, from 0, and how many of them there are.
  [[nodiscard]] std::size_t place(Id id) const { return all_[id.value].place; }
  [[nodiscard]] std::size_t made_by(int stage) const { return made_by_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // The movement from where it is made to where it is wanted.
  // Cost: that of reshard(), once.
  [[nodiscard]] MovementId movement(Id id) {
    Entry& entry = all_[id.value];
    if (!entry.movement) entry.movement = interned_.movement(entry.resharding);
    return *entry.movement;
  }

 protected:
  // Flow and interning outlive the object.
  Resharded(const FlowGraph& flow, Interning& interned)
      : interned_(interned), of_input_(flow.origins.size()), made_by_(flow.stage_nodes.size(), 0) {
    for (std::size_t n = 0; n < flow.origins.size(); ++n) of_input_[n].resize(flow.origins[n].size());
  }
  struct Entry {
    Resharding resharding;
    std::size_t place = 0;
    std::optional<MovementId> movement;
  };
  // Adds what nodes of this stage make; it gets the next number.
  void add(Resharding resharding, int stage) { all_.push_back({resharding, made_by_[static_cast<std::size_t>(stage)]++, std::nullopt}); }

  Interning& interned_;
  std::vector<Entry> all_;
  std::vector<std::vector<std::optional<Id>>> of_input_;  // [node][input]
  std::vector<std::size_t> made_by_;                      // per stage
};

using DeliveryId = base::Id<struct DeliveryTag>;

// What forward items deliver: a tensor in a layout in which nodes want to read it.
class Deliveries : public Resharded<DeliveryId> {
 public:
  // Plan, flow and interning outlive the object.
  // Cost: O(inputs of all nodes).
  Deliveries(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned);

  // An input that its own stage gathers: an all-gather brings it to the node from its producer.
  struct Gathered {
    MovementId movement;
    std::uint32_t producer = 0;
  };
  // The inputs of an operator with weights that are saved as shards after the forward pass, and gathered again for the weight gradient
  // (sequence parallelism, Korthikanti et al., arXiv 2205.05198, section 4.2.2). None of an operator without weights.
  [[nodiscard]] const std::vector<Gathered>& gathered_again(std::uint32_t node);

 private:
  const pcg::Plan& plan_;
  const FlowGraph& flow_;
  std::vector<std::optional<std::vector<Gathered>>> gathered_;  // per node: those asked about
};

using GradientId = base::Id<struct GradientTag>;

// The gradients that go back to the node which made a tensor. Readers of one tensor in one stage that hold its gradient alike make one sum:
// their gradients are added up where they are, and move once.
class GradientSums : public Resharded<GradientId> {
 public:
  // Plan, flow and interning outlive the object.
  // Cost: O(inputs of all nodes).
  GradientSums(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned);

  // The sums that the node's own backward pass waits for.
  [[nodiscard]] std::span<const GradientId> sums_for(std::uint32_t node) const { return sums_for_[node]; }
  // The stage of the readers.
  [[nodiscard]] int stage(GradientId g) const { return readers_[g.value].stage; }
  // Whether the sum is complete when this reader has added its part: a backward pass goes through nodes downwards, and through the inputs
  // of one node upwards.
  [[nodiscard]] bool is_last(GradientId g, const Use& reader) const { return readers_[g.value].last == reader; }

 private:
  struct Readers {
    int stage = 0;
    Use last;
  };

  std::vector<Readers> readers_;                   // per sum
  std::vector<std::vector<GradientId>> sums_for_;  // per node
};

}  // namespace sim
