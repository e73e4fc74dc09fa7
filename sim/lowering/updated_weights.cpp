#include "sim/lowering/updated_weights.hpp"

#include <algorithm>

#include "sim/lowering/weight_traffic.hpp"

namespace sim {
namespace {

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

}  // namespace sim
