#include "sim/lowering/sharded_weights.hpp"

#include <map>
#include <set>

#include "sim/lowering/weight_traffic.hpp"

namespace sim {

WeightGathers::WeightGathers(const Lowering& l, Block& block, std::span<const std::uint32_t> nodes) : l_(l), block_(block), nodes_(nodes) {}

std::vector<std::uint32_t> WeightGathers::before(std::uint32_t node) {
  if (l_.variant.zero < 3 || block_of(node) == current_) return {};
  if (is_unit_) {
    for (std::size_t i = block_.items.size(); i-- > 0;) {
      Compute* kernels = std::get_if<Compute>(&block_.items[i].work);
      if (kernels == nullptr) continue;
      // The gather of a block further on waits for this very item: kernels that are fused behind it would delay the gather.
      kernels->ends_run = true;
      ends_.push_back(static_cast<std::uint32_t>(i));
      break;
    }
  }
  current_ = block_of(node);
  // One gather per block and group of devices, as FSDP has one flat parameter per unit (arXiv 2304.11277).
  std::map<SyncPatternId, base::Bytes> bytes;
  std::set<pcg::TensorRef> seen;
  for (std::uint32_t n : nodes_) {
    if (block_of(n) != current_) continue;
    for (std::size_t i = 0; i < l_.flow.origins[n].size(); ++i) {
      const pcg::TensorRef from = l_.flow.origins[n][i];
      if (!l_.plan.pcg.node(from.node).is_weight() || zero_of(l_, from.node.value) < 3 || !seen.insert(from).second) continue;
      const auto input = static_cast<std::uint32_t>(i);
      bytes[l_.synchronisation.of(n, input).main] += gathered_bytes(l_, n, input);
    }
  }
  is_unit_ = !bytes.empty() || pcg::zero_of_block(l_.variant.zero, l_.plan.memory.zero, current_) >= 3;
  const std::size_t ahead = static_cast<std::size_t>(profiles::prefetch_units(l_.framework, l_.plan)) + 1;
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

}  // namespace sim
