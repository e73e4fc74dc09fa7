// Backward lowering of one virtual stage: gradients of inputs, then of weights, node by node in reverse; what a consumer's
// gradient must do to become a producer's; recomputation in front of a block; synchronisation where it is overlapped.
#include "sim/lowering/passes.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "pcg/plan/recomputed_units.hpp"
#include "pcg/work/work.hpp"
#include "sim/lowering/kernel_slices.hpp"

namespace sim {
namespace {

class BackwardEmitter {
 public:
  BackwardEmitter(const Lowering& l, int stage, MicroBatchPosition position, bool split)
      : l_(l),
        stage_(stage),
        position_(position),
        split_(split),
        buckets_(l, split ? weights_ : block_, stage, gradient_bucket(l, stage)),
        order_(l.flow.stage_nodes[static_cast<std::size_t>(stage)].rbegin(), l.flow.stage_nodes[static_cast<std::size_t>(stage)].rend()),
        gathers_(l, block_, order_),
        units_(pcg::recomputed_units(l.plan, l.variant.recompute, l.flow.stage_nodes[static_cast<std::size_t>(stage)])),
        is_recomputed_(units_.size(), false),
        arrived_(l.gradients.made_by(stage)),
        partial_(l.gradients.made_by(stage)) {
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (const std::uint32_t n : units_[u].nodes) unit_of_.emplace(n, u);
    block_.items.reserve(4 * order_.size());  // two kinds of gradients, and often something that moves
    if (is_final(position)) buckets_.signal();
    else buckets_.postpone_replicas();
  }

  BackwardBlock emit();

 private:
  struct Waits {
    std::vector<std::uint32_t> after;
    std::vector<EventId> waits_on;
  };

  // The pass synchronises the gradient of what a node reads: of a weight.
  [[nodiscard]] bool synchronises(pcg::TensorRef from) const {
    if (!l_.plan.pcg.node(from.node).is_trained()) return false;
    const int zero = zero_of(l_, from.node.value);
    // Devices that keep only a shard of the gradients reduce those of every micro-batch; others once per iteration.
    if (pcg::shards_gradients(zero, l_.plan.memory.zero)) return true;
    return is_final(position_) && (zero >= 2 || l_.overlap.gradients);
  }
  [[nodiscard]] bool accumulates() const { return position_ == MicroBatchPosition::middle || position_ == MicroBatchPosition::last; }
  Waits waits_of(std::uint32_t node) const;
  void begin_block(std::uint32_t node);
  // Prefetches offloaded tensors that are due after the block that begins here (OffloadedBlock::due).
  void prefetch_offloaded(std::uint32_t node);
  void recompute_for(std::uint32_t node);
  // Units that make what a node reads, and that was not kept.
  [[nodiscard]] std::vector<std::size_t> dropped_inputs(std::uint32_t node) const;
  std::vector<std::uint32_t> gather_again_for(std::span<const std::uint32_t> nodes, const Waits& w);
  // Computes a unit again, unless that was done; `node`: whose gradients ask for it.
  void recompute(std::size_t unit, std::uint32_t node);
  void emit_node(std::uint32_t node);
  std::vector<std::uint32_t> gather_inputs_again(std::uint32_t node, const Waits& w);
  std::vector<std::uint32_t> emit_input_gradient(std::uint32_t node, const Waits& w);
  [[nodiscard]] std::optional<std::uint32_t> gather_before(std::uint32_t node) const;
  // Returns: the last item of its kernels.
  std::uint32_t append_input_gradient(Item item);
  static Item collective(MovementId movement, std::string_view what, std::uint32_t node, const Waits& w) {
    return moving(StreamKind::communication, movement, what, node, w.after, w.waits_on);
  }
  void deliver(std::uint32_t node, const std::vector<std::uint32_t>& done);
  void weights_ready(std::uint32_t node, const std::vector<std::uint32_t>& done);
  void send_gradients();
  void mark_end();
  // Adds further kernels of a compute item; none: nothing.
  void add_part(Compute& kernels, std::uint32_t node, std::string_view what, const Cost& cost) {
    if (!cost.empty()) kernels.parts.push_back(l_.program.part(node, what, cost));
  }
  std::uint32_t append(Item item) { return sim::append(block_, std::move(item)); }
  // The gradient of the node's weights is left for the later pass.
  [[nodiscard]] bool is_left(std::uint32_t node) const {
    return split_ && pcg::multiplies_for_weights(*l_.plan.pcg.nodes()[node].operation());
  }
  [[nodiscard]] bool synchronises_weight_of(std::uint32_t node) const {
    return std::ranges::any_of(l_.flow.origins[node], [&](pcg::TensorRef from) { return synchronises(from); });
  }

  const Lowering& l_;
  int stage_;
  MicroBatchPosition position_;
  bool split_;  // gradients of weights have a pass of their own
  Block block_;
  Block weights_;  // that pass
  GradientBuckets buckets_;
  std::vector<std::uint32_t> order_;
  WeightGathers gathers_;
  std::vector<pcg::RecomputedUnit> units_;
  std::vector<bool> is_recomputed_;               // by unit
  std::map<std::uint32_t, std::size_t> unit_of_;  // by node
  std::set<std::uint32_t> ran_again_;             // nodes of units, which have done what gathered weights need
  int current_block_ = -1;
  std::map<int, std::uint32_t> fetched_;  // by block: the copy back
  // Of the projections of the last gated unit: what they read, and the gathers of it.
  std::pair<std::optional<pcg::TensorRef>, std::vector<std::uint32_t>> joint_gathers_;
  std::vector<std::uint32_t> pending_;               // items that the next compute item waits for
  std::vector<std::vector<std::uint32_t>> arrived_;  // by place of the sum: items after which it is at the tensor's producer
  std::vector<std::vector<std::uint32_t>> partial_;  // by place of the sum: compute items of the readers so far
  std::vector<Item> leaving_;                        // gradients for earlier stages
};

// The arrivals of the gradients of a node's outputs: items of this block, and events of later stages.
BackwardEmitter::Waits BackwardEmitter::waits_of(std::uint32_t node) const {
  Waits w;
  for (const GradientId sum : l_.gradients.sums_for(node)) {
    if (l_.gradients.stage(sum) == stage_) {
      const std::vector<std::uint32_t>& items = arrived_[l_.gradients.place(sum)];
      w.after.insert(w.after.end(), items.begin(), items.end());
    } else if (const auto event = l_.events.find_gradient(sum)) {
      w.waits_on.push_back(*event);
    }
  }
  make_ascending(w.waits_on);
  return w;
}

// Gathers weights (ZeRO-3), and sends what the block before left in the buckets. Gathers ahead overlap the kernels of the
// block before, and so goes before its gradients, which are there when these have run: both are on one stream (FSDP's BACKWARD_PRE, arXiv
// 2304.11277, section 3.3.2).
void BackwardEmitter::begin_block(std::uint32_t node) {
  const int block = l_.plan.pcg.nodes()[node].block;
  if (block == current_block_) return;
  const bool ahead = profiles::prefetch_units(l_.framework, l_.plan, 0) > 0;
  if (!ahead) buckets_.flush_block();
  current_block_ = block;
  prefetch_offloaded(node);
  if (!profiles::keeps_gathered(l_.framework, l_.plan, block)) {
    const auto gathered = gathers_.before(node);
    pending_.insert(pending_.end(), gathered.begin(), gathered.end());
  }
  if (ahead) buckets_.flush_block();
}

void BackwardEmitter::prefetch_offloaded(std::uint32_t node) {
  if (l_.offloaded.empty()) return;
  const OffloadedBlocks& of_stage = l_.offloaded[static_cast<std::size_t>(stage_)];
  std::vector<std::uint32_t> reached;
  for (auto next = std::next(of_stage.rbegin(), static_cast<std::ptrdiff_t>(fetched_.size())); next != of_stage.rend(); ++next) {
    const auto& [block, offloaded] = *next;
    if (offloaded.due && *offloaded.due <= current_block_) break;
    // A place is free when all kernels so far have run: those of the block before this one.
    if (reached.empty()) reached = {append({Mark{l_.interned.device_set_of(node)}, node, {}, {}, {}})};
    std::vector<EventId> waits_on;
    if (const std::optional<EventId> copied = l_.events.find_offloaded(stage_); copied && fetched_.empty()) waits_on = {*copied};
    const Copy copy{l_.interned.device_set_of(node), StreamKind::from_host,
                    l_.program.times(l_.costs.hosts().from_host(base::Bytes(offloaded.bytes))), "activations"};
    fetched_.emplace(block, append({copy, node, reached, std::move(waits_on), {}}));
  }
  if (const auto own = fetched_.find(current_block_); own != fetched_.end()) pending_.push_back(own->second);
}

// The tensors that the node's gradients need and the forward pass has not saved.
void BackwardEmitter::recompute_for(std::uint32_t node) {
  if (const auto own = unit_of_.find(node); own != unit_of_.end()) recompute(own->second, node);
  for (const std::size_t unit : dropped_inputs(node)) recompute(unit, node);
}

std::vector<std::size_t> BackwardEmitter::dropped_inputs(std::uint32_t node) const {
  std::vector<std::size_t> units;
  for (const pcg::TensorRef from : l_.flow.origins[node])
    if (const auto unit = unit_of_.find(from.node.value); unit != unit_of_.end() && !units_[unit->second].keeps_outputs)
      units.push_back(unit->second);
  return units;
}

void BackwardEmitter::recompute(std::size_t unit, std::uint32_t node) {
  if (is_recomputed_[unit]) return;
  is_recomputed_[unit] = true;
  const std::span<const std::uint32_t> nodes = pcg::run_again(l_.plan, units_[unit], l_.framework.stops_recomputation_early);
  if (nodes.empty()) return;
  ran_again_.insert(nodes.begin(), nodes.end());
  for (const std::uint32_t n : nodes)
    for (const std::size_t before : dropped_inputs(n)) recompute(before, node);
  // The framework recomputes when the gradient has come, not before.
  Waits w = waits_of(node);
  w.after.insert(w.after.end(), pending_.begin(), pending_.end());
  for (const std::uint32_t n : nodes) {
    const Waits more = waits_of(n);
    w.after.insert(w.after.end(), more.after.begin(), more.after.end());
    w.waits_on.insert(w.waits_on.end(), more.waits_on.begin(), more.waits_on.end());
  }
  pending_.clear();
  for (const std::uint32_t item : gather_again_for(nodes, w)) w.after.push_back(item);
  const std::size_t first = block_.items.size();
  ForwardEmitter(l_, block_, stage_).emit_recomputation(nodes, std::move(w.after), std::move(w.waits_on));
  l_.program.add_host_time(block_, first, l_.framework.host.recomputed_block);
}

// Gathers of the tensors that come into a unit as saved shards, once for all its readers.
std::vector<std::uint32_t> BackwardEmitter::gather_again_for(std::span<const std::uint32_t> nodes, const Waits& w) {
  std::map<MovementId, std::uint32_t> gathers;
  for (const std::uint32_t n : nodes)
    for (const Deliveries::Gathered& input : l_.deliveries.gathered_again(n))
      if (!std::ranges::binary_search(nodes, input.producer)) gathers.emplace(input.movement, input.producer);
  std::vector<std::uint32_t> items;
  for (const auto& [movement, producer] : gathers) items.push_back(append(collective(movement, "tensor again", producer, w)));
  return items;
}

void BackwardEmitter::emit_node(std::uint32_t node) {
  begin_block(node);
  recompute_for(node);
  Waits w = waits_of(node);
  w.after.insert(w.after.end(), pending_.begin(), pending_.end());
  pending_.clear();
  // The recomputation has cast the weight that was gathered again for both.
  if (Compute made = work_on_gathered_weight(l_, node);
      !made.parts.empty() && !ran_again_.contains(node) && !profiles::keeps_gathered(l_.framework, l_.plan, current_block_))
    w.after.push_back(append({std::move(made), node, w.after, w.waits_on, {}}));
  const std::vector<std::uint32_t> regathered = gather_inputs_again(node, is_left(node) ? Waits{} : w);
  std::vector<std::uint32_t> done = emit_input_gradient(node, w);
  const std::size_t before_delivery = block_.items.size();
  deliver(node, done);
  if (const Cost& gradient = l_.costs.weight_gradient(node); !gradient.empty()) {
    Compute kernels{l_.interned.device_set_of(node), {l_.program.part(node, "weight gradient", gradient)}};
    if (accumulates()) add_part(kernels, node, "gradient buffer", l_.costs.gradient_buffer(node));
    if (is_of_unit(l_, node)) add_part(kernels, node, "gradient copy", l_.costs.gradient_copy(node));
    Item weights{std::move(kernels), node, regathered, {}, {}};
    if (!is_left(node) && !l_.framework.overlap_input_gradient && !l_.overlap.tensor) {
      for (std::size_t i = before_delivery; i < block_.items.size(); ++i) {
        const Move* move = std::get_if<Move>(&block_.items[i].work);
        if (move != nullptr && move->stream == StreamKind::communication) weights.after.push_back(static_cast<std::uint32_t>(i));
      }
    }
    done = {sim::append(is_left(node) ? weights_ : block_, std::move(weights))};
  }
  // Items that send gradients are in the later pass, and wait for those of the pass before to have ended.
  if (split_ && !is_left(node) && synchronises_weight_of(node))
    done = {sim::append(weights_, {Mark{l_.interned.device_set_of(node)}, node, {}, {}, {}})};
  weights_ready(node, done);
}

std::vector<std::uint32_t> BackwardEmitter::gather_inputs_again(std::uint32_t node, const Waits& w) {
  std::vector<std::uint32_t> items;
  if (!trains_weights(l_.flow, node)) return items;  // gathered for the gradients of weights
  // Both projections of a gated unit read one tensor; where they are one product, it is gathered once (Korthikanti et al., arXiv
  // 2205.05198, section 4.2.2).
  const bool joint = l_.framework.joint_gated_projections &&
                     (is_second_projection(l_.plan, l_.flow, node) || has_second_projection(l_.plan, l_.flow, node));
  if (joint && joint_gathers_.first == l_.flow.origins[node][0]) return joint_gathers_.second;
  for (const Deliveries::Gathered& input : l_.deliveries.gathered_again(node))
    items.push_back(sim::append(is_left(node) ? weights_ : block_, collective(input.movement, "tensor again", input.producer, w)));
  if (joint) joint_gathers_ = {l_.flow.origins[node][0], items};
  return items;
}

// Kernels of the input gradient with what goes before them, and the collectives inside the operator. Returns the items that make it.
std::vector<std::uint32_t> BackwardEmitter::emit_input_gradient(std::uint32_t node, const Waits& w) {
  std::vector<std::uint32_t> after = w.after;
  for (MovementId m : l_.interned.internal_backward(node).before) { after.push_back(append(collective(m, "gather", node, w))); }
  Compute kernels{l_.interned.device_set_of(node), {}};
  kernels.host_waits = l_.framework.host_waits_for_stage.of(l_.plan) && !w.waits_on.empty();
  add_part(kernels, node, "gradient accumulation", l_.costs.accumulation(node));
  const auto* attention = std::get_if<pcg::Attention>(l_.plan.pcg.nodes()[node].operation());
  const bool again = l_.variant.recompute == pcg::Recompute::selective && attention && !attention->flash;
  if (again) kernels.parts.push_back(l_.program.part(node, "recompute", l_.costs.forward(node)));
  if (const InternalMovementIds& inside = l_.interned.internal_backward(node); inside.hop) {
    const double share = 1 / static_cast<double>(inside.hops + 1);
    const auto of_slice = [&](std::size_t i) {
      Compute slice = i == 0 ? kernels : Compute{kernels.devices, {}};
      slice.parts.push_back(l_.program.part(node, "input gradient", l_.costs.input_gradient(node), share));
      return slice;
    };
    const auto slices = append_ring(block_, *inside.hop, inside.hops, {kernels, node, std::move(after), w.waits_on, {}}, of_slice);
    return {slices.back(), append_gradient_ring(block_, *inside.hop, slices, node)};
  }
  kernels.parts.push_back(l_.program.part(node, "input gradient", l_.costs.input_gradient(node)));
  std::vector<std::uint32_t> done{append_input_gradient({std::move(kernels), node, std::move(after), w.waits_on, {}})};
  for (MovementId m : l_.interned.internal_backward(node).after) { done.push_back(append(collective(m, "reduction", node, {done, {}}))); }
  return done;
}

// A gather of the output's gradient, in this block, whose parts need no adding up: it overlaps with the product (kernel_slices.hpp).
std::optional<std::uint32_t> BackwardEmitter::gather_before(std::uint32_t node) const {
  if (!l_.overlap.tensor || !is_product(l_, node)) return std::nullopt;
  const std::span<const GradientId> sums = l_.gradients.sums_for(node);
  if (sums.size() != 1 || l_.gradients.stage(sums.front()) != stage_) return std::nullopt;
  const std::vector<std::uint32_t>& arrived = arrived_[l_.gradients.place(sums.front())];
  if (arrived.size() != 1 || !overlapped_slices(l_.interned[l_.gradients.movement(sums.front())], CollectiveKind::all_gather))
    return std::nullopt;
  return arrived.front();
}

std::uint32_t BackwardEmitter::append_input_gradient(Item item) {
  const std::optional<std::uint32_t> gather = gather_before(item.node);
  if (!gather || std::get<Compute>(item.work).parts.size() != 1) return append(std::move(item));
  const std::uint32_t node = item.node;
  const MovementId moved = std::get<Move>(block_.items[*gather].work).movement;
  const double share = 1 / static_cast<double>(*overlapped_slices(l_.interned[moved], CollectiveKind::all_gather));
  const auto slice = [&](double part) {
    Item cut = item;
    std::get<Compute>(cut.work).parts = {l_.program.part(node, "input gradient", l_.costs.input_gradient(node), part)};
    return cut;
  };
  Item first = slice(1 - share);
  start_with(block_, *gather, first);
  append(std::move(first));
  Item last = slice(share);
  std::get<Compute>(last.work).host_waits = false;
  return append(std::move(last));
}

// The last reader of a sum has added its part: the sum goes to the producer.
void BackwardEmitter::deliver(std::uint32_t node, const std::vector<std::uint32_t>& done) {
  for (std::size_t i = 0; i < l_.flow.origins[node].size(); ++i) {
    const std::uint32_t producer = l_.flow.origins[node][i].node.value;
    const std::optional<GradientId> sum = l_.gradients.of(node, i);
    if (!sum || !l_.flow.needs_gradient[producer]) continue;
    std::vector<std::uint32_t>& items = partial_[l_.gradients.place(*sum)];
    items.insert(items.end(), done.begin(), done.end());
    if (!l_.gradients.is_last(*sum, {node, static_cast<std::uint32_t>(i)})) continue;
    const MovementId m = l_.gradients.movement(*sum);
    std::vector<std::uint32_t>& arrived = arrived_[l_.gradients.place(*sum)];
    if (l_.interned[m].empty()) {
      arrived = std::move(items);
    } else if (l_.plan.stage[producer] == stage_) {
      arrived = {append(moving(stream_between(l_, producer, node, m), m, "gradient", producer, std::move(items)))};
    } else {
      leaving_.push_back(moving(StreamKind::pipeline, m, "stage boundary gradient", producer, std::move(items)));
      leaving_.back().signals.push_back(l_.events.gradient(*sum, stage_));
    }
  }
}

void BackwardEmitter::weights_ready(std::uint32_t node, const std::vector<std::uint32_t>& done) {
  for (std::size_t i = 0; i < l_.flow.origins[node].size(); ++i) {
    const pcg::TensorRef from = l_.flow.origins[node][i];
    if (!synchronises(from)) continue;
    bool more = false;  // a tied weight waits for its earliest reader in this stage
    for (const Use& use : l_.flow.uses[from.node.value][0]) more = more || (use.consumer < node && l_.plan.stage[use.consumer] == stage_);
    if (!more) buckets_.add(node, static_cast<std::uint32_t>(i), done);
  }
}

// Pipeline frameworks send a stage's gradient when its whole backward pass is over, weight gradients too.
void BackwardEmitter::send_gradients() {
  std::map<DeviceSetId, std::uint32_t> last;
  for (std::size_t i = 0; i < block_.items.size(); ++i) {
    if (const Compute* kernels = std::get_if<Compute>(&block_.items[i].work)) last[kernels->devices] = static_cast<std::uint32_t>(i);
  }
  for (Item& move : leaving_) {
    for (const auto& [devices, item] : last) move.after.push_back(item);
    append(std::move(move));
  }
}

// The end of the stage's last backward pass on all its devices, for what comes after it.
void BackwardEmitter::mark_end() {
  std::set<DeviceSetId> sets;  // few, where nodes are many
  for (std::uint32_t n : order_) sets.insert(l_.interned.device_set_of(n));
  (split_ ? weights_ : block_).items.push_back({Mark{l_.interned.union_of(sets)}, order_.back(), {}, {}, {l_.events.stage_end(stage_)}});
}

BackwardBlock BackwardEmitter::emit() {
  for (std::uint32_t n : order_) {
    if (l_.flow.needs_gradient[n]) emit_node(n);
  }
  l_.program.add_host_time(block_, 0, l_.framework.host.micro_batch);
  add_host_time_of_units(l_, block_);
  send_gradients();
  buckets_.flush();
  if (is_final(position_)) mark_end();
  return {std::move(block_), std::move(weights_), buckets_.signalled()};
}

}  // namespace

BackwardBlock lower_backward(const Lowering& l, int stage, MicroBatchPosition position, bool split) {
  return BackwardEmitter(l, stage, position, split).emit();
}

}  // namespace sim
