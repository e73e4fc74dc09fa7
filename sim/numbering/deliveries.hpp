#pragma once
// Numbers for what forward items deliver: a tensor in a layout in which nodes want to read it. Internal to lowering.

#include <optional>
#include <vector>

#include "sim/numbering/interning.hpp"

namespace sim {

using DeliveryId = base::Id<struct DeliveryTag>;

class Deliveries {
 public:
  // Plan, flow and interning outlive the object.
  // Cost: O(inputs of all nodes).
  Deliveries(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned);

  // What input `input` of a computing node reads. None: it comes from a weight or from the data, which lie where they are read.
  [[nodiscard]] std::optional<DeliveryId> of(std::uint32_t node, std::size_t input) const { return of_input_[node][input]; }
  // Its place among the deliveries that nodes of its producer's stage make, from 0, and how many of them there are.
  [[nodiscard]] std::size_t place(DeliveryId d) const { return all_[d.value].place; }
  [[nodiscard]] std::size_t made_by(int stage) const { return made_by_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // What brings the tensor from where it is made to that layout. Cost: that of reshard(), once.
  [[nodiscard]] MovementId movement(DeliveryId d);

  // An input that its own stage gathers: an all-gather brings it to the node from its producer.
  struct Gathered {
    MovementId movement;
    std::uint32_t producer = 0;
  };
  // Of an operator with weights: the inputs that are kept as shards after the forward pass, and gathered again for the weight gradient
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

}  // namespace sim
