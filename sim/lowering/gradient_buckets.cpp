#include "sim/lowering/gradient_buckets.hpp"

#include "sim/lowering/weight_traffic.hpp"

namespace sim {

void GradientBuckets::add(std::uint32_t node, std::uint32_t input, const std::vector<std::uint32_t>& ready) {
  const SyncParts& parts = l_.synchronisation.of(node, input);
  const base::Bytes bytes = gradient_bytes(l_, node, input);
  if (!l_.synchronisation.pattern(parts.across).empty()) put(CollectiveKind::all_reduce, parts.across, node, bytes, ready);
  if (!l_.synchronisation.pattern(parts.main).empty())
    put(l_.variant.zero >= 1 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, parts.main, node, bytes, ready);
}

void GradientBuckets::put(CollectiveKind kind, SyncPatternId pattern, std::uint32_t node, base::Bytes bytes,
                          const std::vector<std::uint32_t>& ready) {
  const auto [it, fresh] = open_.try_emplace({kind, pattern});
  Bucket& bucket = it->second;
  if (fresh) bucket.node = node;
  bucket.bytes += bytes;
  bucket.ready.insert(bucket.ready.end(), ready.begin(), ready.end());
  // A full bucket goes at once, so that its collective runs beside the rest of the backward pass (PyTorch Distributed, arXiv 2006.15704,
  // section 3.2.3).
  if (bucket.bytes >= capacity_) {
    send(kind, pattern, bucket);
    open_.erase(it);
  }
}

void GradientBuckets::flush() {
  for (const auto& [key, bucket] : open_) send(key.first, key.second, bucket);
  open_.clear();
}

void GradientBuckets::send(CollectiveKind kind, SyncPatternId pattern, const Bucket& bucket) {
  Item item = moving(StreamKind::gradients, in_every_group(l_, kind, l_.synchronisation.pattern(pattern), bucket.bytes), "gradients",
                     bucket.node, bucket.ready, waits_on_);
  // The update waits for the last backward passes; before that nothing of the iteration waits for a bucket.
  if (signals_) {
    signalled_.push_back(l_.events.synchronised(stage_, signalled_.size()));
    item.signals.push_back(signalled_.back());
  }
  sent_.push_back(append(block_, std::move(item)));
}

}  // namespace sim
