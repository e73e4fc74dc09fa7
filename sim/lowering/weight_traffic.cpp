#include "sim/lowering/weight_traffic.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "sim/memory/model_states.hpp"

namespace sim {
namespace {

base::Bytes gradient_element(const Lowering& l) { return base::Bytes(model_state_bytes(l.plan.training, l.framework).gradient); }

// How many devices add up gradients with each other, of the stage's weights that most share.
std::size_t replicas(const Lowering& l, int stage) {
  std::size_t most = 1;
  for (const HeldWeight& h : trained_weights(l, stage)) most = std::max(most, l.synchronisation.held_by(h.reader, h.input));
  return most;
}

// Requires: the framework has such buckets.
double overlapped_parameters(const Lowering& l, int stage) {
  if (stage > 0) return std::numeric_limits<double>::infinity();
  return l.framework.overlapped_bucket.parameters_among(replicas(l, stage));
}

struct WeightBucket {
  SyncPatternId pattern;
  double parameters = 0;
  base::Bytes bytes;
  std::vector<HeldWeight> weights;  // in backward order
  [[nodiscard]] std::uint32_t first_reader() const { return weights.back().reader; }
};

// Filled as the gradients' are, in backward order.
std::vector<WeightBucket> buckets_of(const Lowering& l, int stage) {
  const double capacity = weight_bucket(l, stage);
  std::vector<WeightBucket> full;
  std::map<SyncPatternId, WeightBucket> open;
  for (const HeldWeight& h : trained_weights(l, stage)) {
    const SyncPatternId pattern = l.synchronisation.of(h.reader, h.input).main;
    if (zero_of(l, h.weight) == 0 || l.synchronisation.pattern(pattern).empty()) continue;
    WeightBucket& bucket = open.try_emplace(pattern, WeightBucket{pattern, 0, {}, {}}).first->second;
    bucket.parameters += shard_elements(l, h.reader, h.input);
    bucket.bytes += gathered_bytes(l, h.reader, h.input);
    bucket.weights.push_back(h);
    if (bucket.parameters < capacity) continue;
    full.push_back(std::move(bucket));
    open.erase(pattern);
  }
  for (auto& [pattern, bucket] : open) full.push_back(std::move(bucket));
  std::ranges::stable_sort(full, {}, &WeightBucket::first_reader);
  return full;
}

}  // namespace

int zero_of(const Lowering& l, std::uint32_t weight) {
  return pcg::zero_of_block(l.variant.zero, l.plan.memory.zero, l.plan.pcg.nodes()[weight].block);
}

double shard_elements(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return l.flow.layouts[node].inputs[input].shard_elements();
}

std::vector<HeldWeight> held_weights(const Lowering& l, int stage) {
  std::vector<HeldWeight> held;
  const auto& nodes = l.flow.stage_nodes[static_cast<std::size_t>(stage)];
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    for (std::size_t i = 0; i < l.flow.origins[*n].size(); ++i) {
      const pcg::TensorRef from = l.flow.origins[*n][i];
      if (!l.plan.pcg.node(from.node).is_weight()) continue;
      const auto earlier = [&](const Use& u) { return u.consumer < *n && l.plan.stage[u.consumer] == stage; };
      if (std::ranges::none_of(l.flow.uses[from.node.value][0], earlier))
        held.push_back({from.node.value, *n, static_cast<std::uint32_t>(i)});
    }
  }
  return held;
}

std::vector<HeldWeight> trained_weights(const Lowering& l, int stage) {
  std::vector<HeldWeight> held = held_weights(l, stage);
  std::erase_if(held, [&](const HeldWeight& h) { return !l.plan.pcg.nodes()[h.weight].is_trained(); });
  return held;
}

base::Bytes gradient_bucket(const Lowering& l, int stage) {
  if (!l.overlap.gradients || l.framework.overlapped_bucket.empty()) return l.framework.gradient_bucket;
  return gradient_element(l) * overlapped_parameters(l, stage);
}

double weight_bucket(const Lowering& l, int stage) {
  return l.framework.overlapped_bucket.empty() ? l.framework.gradient_bucket / gradient_element(l) : overlapped_parameters(l, stage);
}

base::Bytes gathered_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return base::Bytes(weight_bytes_of(l.plan, l.framework, node, input).gathered * shard_elements(l, node, input));
}

base::Bytes gradient_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return gradient_element(l) * shard_elements(l, node, input);
}

bool is_of_unit(const Lowering& l, std::uint32_t node) {
  return l.variant.zero >= 3 && std::ranges::any_of(l.flow.origins[node], [&](pcg::TensorRef from) {
           return l.plan.pcg.node(from.node).is_weight() && zero_of(l, from.node.value) >= 3;
         });
}

void add_host_time_of_units(const Lowering& l, Block& block) {
  if (l.variant.zero < 3 || l.framework.host.unit.value() == 0) return;
  std::set<int> seen;
  for (std::size_t i = 0; i < block.items.size(); ++i) {
    const std::uint32_t node = block.items[i].node;
    if (!std::holds_alternative<Compute>(block.items[i].work) || !is_of_unit(l, node)) continue;
    if (seen.insert(l.plan.pcg.nodes()[node].block).second) l.program.add_host_time(block, i, l.framework.host.unit);
  }
}

Compute work_on_gathered_weight(const Lowering& l, std::uint32_t node) {
  Compute made{l.interned.device_set_of(node), {}};
  if (!is_of_unit(l, node)) return made;
  if (const Cost& copies = l.costs.weight_copy(node); !copies.empty()) made.parts.push_back(l.program.part(node, "weight copy", copies));
  if (const Cost& casts = l.costs.weight_cast(node); !casts.empty()) made.parts.push_back(l.program.part(node, "weight cast", casts));
  return made;
}

MovementId in_every_group(const Lowering& l, CollectiveKind kind, const SyncPattern& pattern, base::Bytes bytes) {
  // All groups synchronise at the same time and share links: they make one round.
  Round round;
  for (const auto& group : pattern.groups) round.push_back({kind, bytes, group});
  return l.interned.intern(Movement{{std::move(round)}});
}

std::vector<std::uint32_t> WeightGathers::before(std::uint32_t node) {
  if (l_.variant.zero < 3 || block_of(node) == current_) return {};
  if (is_unit_) {
    for (std::size_t i = block_.items.size(); i-- > 0;) {
      Compute* kernels = std::get_if<Compute>(&block_.items[i].work);
      if (kernels == nullptr) continue;
      // The gather of a block further on waits for this very item: kernels that are fused after it would delay the gather.
      kernels->ends_run = true;
      ends_.push_back(static_cast<std::uint32_t>(i));
      break;
    }
  }
  current_ = block_of(node);
  // One gather per block and group of devices, as FSDP has one flat parameter per unit (arXiv 2304.11277).
  std::map<SyncPatternId, base::Bytes> bytes;
  std::set<pcg::TensorRef> seen;
  double largest = 0;
  for (std::uint32_t n : nodes_) {
    if (block_of(n) != current_) continue;
    for (std::size_t i = 0; i < l_.flow.origins[n].size(); ++i) {
      const pcg::TensorRef from = l_.flow.origins[n][i];
      if (!l_.plan.pcg.node(from.node).is_weight() || zero_of(l_, from.node.value) < 3 || !seen.insert(from).second) continue;
      const auto input = static_cast<std::uint32_t>(i);
      largest = std::max(largest, l_.flow.layouts[n].inputs[i].shard_elements());
      bytes[l_.synchronisation.of(n, input).main] += gathered_bytes(l_, n, input);
    }
  }
  is_unit_ = !bytes.empty() || pcg::zero_of_block(l_.variant.zero, l_.plan.memory.zero, current_) >= 3;
  const std::size_t ahead = static_cast<std::size_t>(profiles::prefetch_units(l_.framework, l_.plan, largest_)) + 1;
  if (is_unit_) largest_ = largest;
  std::vector<std::uint32_t> gathers;
  for (const auto& [id, size] : bytes) {
    const SyncPattern& pattern = l_.synchronisation.pattern(id);
    if (pattern.empty()) continue;
    std::vector<std::uint32_t> after;
    if (ends_.size() >= ahead) after.push_back(ends_[ends_.size() - ahead]);
    const MovementId m = in_every_group(l_, CollectiveKind::all_gather, pattern, size);
    gathers.push_back(append(block_, moving(StreamKind::gradients, m, "weights", node, std::move(after))));
  }
  return gathers;
}

UpdatedWeights::UpdatedWeights(const Lowering& l, Block& block, int stage) : l_(l) {
  for (const WeightBucket& bucket : buckets_of(l, stage)) {
    const MovementId m = in_every_group(l, CollectiveKind::all_gather, l.synchronisation.pattern(bucket.pattern), bucket.bytes);
    const std::uint32_t gather = append(block, moving(StreamKind::gradients, m, "updated weights", bucket.weights.back().weight, {}));
    for (const HeldWeight& h : bucket.weights) gather_of_[h.weight] = gather;
  }
}

std::vector<std::uint32_t> UpdatedWeights::before(std::uint32_t node) const {
  std::vector<std::uint32_t> gathers;
  for (const pcg::TensorRef from : l_.flow.origins[node])
    if (const auto at = gather_of_.find(from.node.value); at != gather_of_.end()) gathers.push_back(at->second);
  return gathers;
}

void GradientBuckets::add(std::uint32_t node, std::uint32_t input, const std::vector<std::uint32_t>& ready) {
  const SyncParts& parts = l_.synchronisation.of(node, input);
  const int zero = zero_of(l_, l_.flow.origins[node][input].node.value);
  const base::Bytes bytes = gradient_bytes(l_, node, input);
  const SyncPatternId none = l_.synchronisation.none();
  const bool of_block = zero >= 3;
  if (!is_empty(parts.across)) put({CollectiveKind::all_reduce, parts.across, none, of_block}, node, bytes, ready);
  // Whole matrices are shared out for Muon, and not the buffer: all have all gradients (Megatron-LM, layer_wise_optimizer.py).
  const bool scatters = zero >= 2 || (zero == 1 && l_.plan.training.optimizer != pcg::Optimizer::muon);
  if (!is_empty(parts.main))
    put({scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, parts.main, parts.replicas, of_block}, node, bytes, ready);
  else if (!is_empty(parts.replicas) && joins_replicas_)
    put({CollectiveKind::all_reduce, parts.replicas, none, of_block}, node, bytes, ready);  // groups of one device
}

void GradientBuckets::put(const Key& key, std::uint32_t node, base::Bytes bytes, const std::vector<std::uint32_t>& ready) {
  const auto [it, fresh] = open_.try_emplace(key);
  Bucket& bucket = it->second;
  if (fresh) bucket.node = node;
  bucket.bytes += bytes;
  bucket.ready.insert(bucket.ready.end(), ready.begin(), ready.end());
  // A full bucket goes at once, so that its collective overlaps with the rest of the backward pass (PyTorch Distributed, arXiv 2006.15704,
  // section 3.2.3).
  if (!key.of_block && bucket.bytes >= capacity_) {
    send(key, bucket);
    open_.erase(it);
  }
}

void GradientBuckets::flush_block() {
  for (const auto& [key, bucket] : open_)
    if (key.of_block) send(key, bucket);
  std::erase_if(open_, [](const auto& open) { return open.first.of_block; });
}

void GradientBuckets::flush() {
  for (const auto& [key, bucket] : open_) send(key, bucket);
  open_.clear();
}

// A group of the pattern then holds a copy of the sums of its own devices, shared out; copies are added up shard by shard.
void GradientBuckets::send(const Key& key, const Bucket& bucket) {
  const SyncPattern& pattern = l_.synchronisation.pattern(key.pattern);
  Item item =
      moving(StreamKind::gradients, in_every_group(l_, key.kind, pattern, bucket.bytes), "gradients", bucket.node, bucket.ready, waits_on_);
  if (!is_empty(key.replicas) && joins_replicas_) {
    const std::uint32_t scattered = append(block_, std::move(item));
    const base::Bytes shard = bucket.bytes / static_cast<double>(pattern.group_size());
    item = moving(StreamKind::replicas, in_every_group(l_, CollectiveKind::all_reduce, l_.synchronisation.pattern(key.replicas), shard),
                  "gradients", bucket.node, {scattered});
  }
  // The update waits for the last backward passes; before that nothing of the iteration waits for a bucket.
  if (signals_) {
    signalled_.push_back(l_.events.synchronised(stage_, signalled_.size()));
    item.signals.push_back(signalled_.back());
  }
  sent_.push_back(append(block_, std::move(item)));
}

}  // namespace sim
