#pragma once
// Numbers for what forward items deliver: a tensor in a layout in which nodes want to read it. Internal to lowering.

#include <optional>
#include <span>
#include <vector>

#include "sim/numbering/interning.hpp"

namespace sim {

using DeliveryId = base::Id<struct DeliveryTag>;

class Deliveries {
 public:
  // Plan, flow and interning outlive the object.
  // Cost: O(inputs of all nodes).
  Deliveries(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned);

  // The delivery that input `input` of a computing node reads. None: it comes from a weight or from the data, which lie where they are
  // read.
  [[nodiscard]] std::optional<DeliveryId> of(std::uint32_t node, std::size_t input) const { return of_input_[node][input]; }
  // Its place among the deliveries that nodes of its producer's stage make, from 0, and how many of them there are.
  [[nodiscard]] std::size_t place(DeliveryId d) const { return all_[d.value].place; }
  [[nodiscard]] std::size_t made_by(int stage) const { return made_by_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // The movement of the tensor from where it is made to that layout.
  // Cost: that of reshard(), once.
  [[nodiscard]] MovementId movement(DeliveryId d);

  // An input that its own stage gathers: an all-gather brings it to the node from its producer.
  struct Gathered {
    MovementId movement;
    std::uint32_t producer = 0;
  };
  // The inputs of an operator with weights that are saved as shards after the forward pass, and gathered again for the weight gradient
  // (sequence parallelism, Korthikanti et al., arXiv 2205.05198, section 4.2.2). None of an operator without weights.
  [[nodiscard]] const std::vector<Gathered>& gathered_again(std::uint32_t node);

 private:
  struct Delivery {
    LayoutId from, to;
    pcg::Element element;
    Wire wire = Wire::stored;
    pcg::BetweenStages how;
    std::optional<TokenRouting> tokens;
    std::size_t place = 0;
    std::optional<MovementId> movement;
  };

  const pcg::Plan& plan_;
  const FlowGraph& flow_;
  Interning& interned_;
  std::vector<Delivery> all_;
  std::vector<std::vector<std::optional<DeliveryId>>> of_input_;  // [node][input]
  std::vector<std::size_t> made_by_;                              // per stage
  std::vector<std::optional<std::vector<Gathered>>> gathered_;    // per node: those asked about
};

// Numbers for the gradients that go back to the node which made a tensor. Readers of one tensor in one stage that hold its gradient alike
// make one sum: their gradients are added up where they are, and move once. Internal to lowering.
using GradientId = base::Id<struct GradientTag>;

class GradientSums {
 public:
  // Plan, flow and interning outlive the object.
  // Cost: O(inputs of all nodes).
  GradientSums(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned);

  // The sum that input `input` of a computing node contributes to. None: the input comes from a weight or from the data.
  [[nodiscard]] std::optional<GradientId> of(std::uint32_t node, std::size_t input) const { return of_input_[node][input]; }
  // The sums that the node's own backward pass waits for.
  [[nodiscard]] std::span<const GradientId> sums_for(std::uint32_t node) const { return sums_for_[node]; }
  // The stage of the readers.
  [[nodiscard]] int stage(GradientId g) const { return all_[g.value].stage; }
  // Its place among the sums of its readers' stage, from 0, and how many of them there are.
  [[nodiscard]] std::size_t place(GradientId g) const { return all_[g.value].place; }
  [[nodiscard]] std::size_t made_by(int stage) const { return made_by_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // Whether the sum is complete when this reader has added its part: a backward pass goes through nodes downwards, and through the inputs
  // of one node upwards.
  [[nodiscard]] bool is_last(GradientId g, const Use& reader) const { return all_[g.value].last == reader; }
  // The movement of the sum to the node that made the tensor.
  // Cost: that of reshard(), once.
  [[nodiscard]] MovementId movement(GradientId g);

 private:
  struct Sum {
    int stage = 0;
    LayoutId from, to;
    pcg::Element element;
    Wire wire = Wire::stored;
    pcg::BetweenStages how;
    std::optional<TokenRouting> tokens;
    std::size_t place = 0;
    Use last;
    std::optional<MovementId> movement;
  };

  Interning& interned_;
  std::vector<Sum> all_;
  std::vector<std::vector<std::optional<GradientId>>> of_input_;  // [node][input]
  std::vector<std::vector<GradientId>> sums_for_;                 // per node
  std::vector<std::size_t> made_by_;                              // per stage
};

}  // namespace sim
