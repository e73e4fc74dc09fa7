#pragma once
// Numbers for what repeats from layer to layer of a plan: sets of devices, layouts, movements. Equal things get one number, so that later
// steps look at each of them once. Internal to lowering.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "sim/dataflow/internal_movement.hpp"
#include "sim/dataflow/token_routing.hpp"
#include "sim/program/program.hpp"
#include "topology/cluster.hpp"

namespace sim {

using LayoutId = base::Id<struct LayoutTag>;

// Movements inside a node in one pass.
struct InternalMovementIds {
  std::vector<MovementId> before, after;  // the kernels
  std::optional<MovementId> hop;          // of a ring
  std::size_t hops = 0;
};

// How a tensor goes from one node to another: as the plan says where they are on two ranks of its pipeline, which have no device in common;
// else like everything that stays inside a stage. All nodes with devices in common are on one rank, so that two layouts have one answer.
[[nodiscard]] pcg::BetweenStages how_to_move(const pcg::Plan& plan, std::uint32_t from, std::uint32_t to);

// How numbers travel: as the precision stores them, or cast for the products that read them.
enum class Wire { stored, cast };

// A tensor or a gradient on its way from one layout to another.
struct Resharding {
  LayoutId from, to;
  pcg::Element element;
  Wire wire = Wire::stored;
  pcg::BetweenStages how;              // how_to_move()
  std::optional<TokenRouting> tokens;  // it is what tokens send to experts or get from them
};

class Interning {
 public:
  // Layouts of a computing node, numbered as sim::NodeLayouts has them.
  struct LayoutIds {
    std::vector<LayoutId> inputs, outputs, input_gradients, output_gradients;
  };

  // Plan, flow and cluster outlive the object.
  // Cost: O(nodes), and O(points) for each that is laid out otherwise than all before it.
  Interning(const pcg::Plan& plan, const FlowGraph& flow, const topology::Cluster& cluster);

  [[nodiscard]] DeviceSetId device_set(std::span<const base::DeviceId> devices);
  [[nodiscard]] DeviceSetId device_set_of(std::uint32_t node);
  // The devices of any of the sets.
  [[nodiscard]] DeviceSetId union_of(const std::set<DeviceSetId>& sets);
  [[nodiscard]] const LayoutIds& layouts_of(std::uint32_t node) const { return layouts_[flow_.layouts.number(node)]; }
  [[nodiscard]] MovementId intern(Movement m);
  [[nodiscard]] MovementId movement(const Resharding& r);
  [[nodiscard]] const InternalMovementIds& internal_forward(std::uint32_t node);
  [[nodiscard]] const InternalMovementIds& internal_backward(std::uint32_t node);
  [[nodiscard]] const Movement& operator[](MovementId m) const { return movements_[m.value]; }

  // Everything numbered so far, by number.
  [[nodiscard]] const std::vector<std::vector<base::DeviceId>>& device_sets() const { return device_sets_; }
  [[nodiscard]] const std::vector<Movement>& movements() const { return movements_; }

 private:
  LayoutId layout_id(const Layout& l);
  std::vector<LayoutId> layout_ids(const std::vector<Layout>& layouts);
  InternalMovementIds numbered(InternalMovements::Side movements);

  const pcg::Plan& plan_;
  const FlowGraph& flow_;
  const topology::Cluster& cluster_;
  std::vector<LayoutIds> layouts_;                                // by PlanLayouts::number
  std::map<std::vector<std::int64_t>, LayoutId> layout_numbers_;  // by shape and devices
  std::vector<const Layout*> layout_by_id_;                       // in flow_
  std::map<std::vector<base::DeviceId>, DeviceSetId> set_numbers_;
  std::vector<std::vector<base::DeviceId>> device_sets_;
  std::vector<std::optional<DeviceSetId>> set_of_node_;  // by PlanLayouts::number
  std::map<Movement, MovementId> movement_numbers_;
  std::vector<Movement> movements_;
  // By from, to, bytes of an element, how they move, and how tokens are routed where a library passes them on, or experts have unequal
  // shares.
  std::map<std::tuple<LayoutId, LayoutId, double, pcg::BetweenStages, std::optional<TokenRouting>>, MovementId> reshards_;
  std::vector<std::optional<InternalMovementIds>> internal_forward_, internal_backward_;  // per node
};

}  // namespace sim
