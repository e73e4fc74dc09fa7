#include "sim/lowering/gradient_buckets.hpp"

#include "sim/lowering/weight_traffic.hpp"

namespace sim {

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
  // A full bucket goes at once, so that its collective runs beside the rest of the backward pass (PyTorch Distributed, arXiv 2006.15704,
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
