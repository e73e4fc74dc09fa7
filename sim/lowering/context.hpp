#pragma once
// What the parts of lowering share: the plan being lowered, the program so far, and interning of what repeats from layer to layer.
// Internal to sim/lowering.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pcg/work/kernel.hpp"
#include "pcg/work/shard_operator.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/lowering/events.hpp"
#include "sim/program/program.hpp"

namespace sim {

class Lowering {
 public:
  // All arguments outlive it.
  Lowering(const pcg::Plan& plan, const Dataflow& dataflow, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework);

  const pcg::Plan& plan;
  const topology::Cluster& cluster;
  const FlowGraph& flow;
  const Synchronisation& synchronisation;
  const profiles::FrameworkProfile& framework;
  Program program;
  Events events;
  std::vector<EventId> synchronised;  // signalled by gradient synchronisation in the last backward passes: the update waits for them
  std::vector<EventId> stage_done;    // one per stage: the end of its last backward pass
  std::set<std::string> unsustained;  // generations whose products keep their benchmark rate because the framework's profile says nothing
  std::vector<std::vector<std::uint32_t>> stage_nodes;  // computing nodes of each virtual stage, ascending

  DeviceSetId device_set(std::span<const base::DeviceId> devices);
  DeviceSetId device_set_of_node(std::uint32_t node) { return device_set(flow.layouts[node].points); }
  MovementId intern(Movement m);
  // The movement between two layouts of a tensor of the plan's precision; remembered.
  MovementId movement(const Layout& from, const Layout& to, pcg::Element element);
  bool moves(MovementId m) const { return !program.movements[m.value].empty(); }
  std::uint32_t layout_id(const Layout& l);
  EventId new_event(Pass pass, int stage);

  // Seconds of a kernel on a device type in use, in training as the framework runs it; counts what the time rests on.
  double kernel_seconds(std::size_t type, const pcg::Kernel& k);
  // One part for `kernels` of a node, priced for every device type in use; each kernel costs the host `launch` besides the device's
  // launch overhead.
  Part part(std::uint32_t node, std::string_view what, std::span<const pcg::Kernel> kernels, base::Seconds launch);
  // The host works this much longer before it launches the first kernels of `block` from item `first` on.
  void add_host_time(const Block& block, std::size_t first, base::Seconds time);
  // The operator as one shard sees it: its share of the heads.
  pcg::Operator shard_operator(std::uint32_t node) const;
  std::vector<pcg::TensorShape> read_shards(std::uint32_t node) const;  // of the inputs, as the node's kernels read them
  // Kernels of a node as the framework runs them, where that differs from the operator's own.
  std::vector<pcg::Kernel> as_run(std::uint32_t node, std::vector<pcg::Kernel> kernels, bool backward) const;
  Part forward_part(std::uint32_t node, std::string_view what);
  Part input_gradient_part(std::uint32_t node);
  std::optional<Part> weight_gradient_part(std::uint32_t node);
  // Adding up the gradients of an output that several read; nullopt when one does.
  std::optional<Part> accumulation_part(std::uint32_t node);
  // Adding a micro-batch's gradients of a node's weights to those of the micro-batches before.
  std::optional<Part> gradient_buffer_part(std::uint32_t node);
  Part optimizer_part(std::uint32_t node, double parameters);

  // Transfers of the collectives inside a node, for one pass: before (gathers) or after (reductions) its kernels.
  std::vector<MovementId> internal_movements(std::uint32_t node, bool backward, bool before);

  bool recomputed(int block) const;  // whole blocks are
  base::Bytes gradient_element() const;
  base::Bytes weight_element() const;
  // Bytes of one shard of a weight as input `input` of `node` holds it.
  base::Bytes weight_shard_bytes(std::uint32_t node, std::uint32_t input, base::Bytes element) const;
  // `bytes` per group, the same collective in every group at once.
  MovementId sync_movement(CollectiveKind kind, const SyncPattern& pattern, base::Bytes bytes);

 private:
  std::map<std::vector<base::DeviceId>, DeviceSetId> device_sets_;
  std::map<Movement, MovementId> movements_;
  std::map<std::vector<std::int64_t>, std::uint32_t> layouts_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, double>, MovementId> reshards_;
  std::vector<const profiles::DeviceProfile*> profiles_;  // by index into program.device_types
};

// An item that moves something.
[[nodiscard]] Item moving(StreamKind stream, MovementId movement, std::string_view what, std::uint32_t node,
                          std::vector<std::uint32_t> after, std::vector<EventId> waits_on = {});
// Puts an item at the end of a block, its dependencies in order; returns its number.
std::uint32_t append(Block& block, Item item);

// Optimizer traffic per parameter, in bytes: reads and writes of weight, gradient and states (docs/architecture.md derives it).
[[nodiscard]] double optimizer_bytes_per_parameter(const pcg::TrainingConfig& t);

// Emission of one virtual stage; each appends to the program.
void lower_forward(Lowering& l, int stage);
void lower_backward(Lowering& l, int stage, MicroBatchPosition position);
void lower_update(Lowering& l);

}  // namespace sim
