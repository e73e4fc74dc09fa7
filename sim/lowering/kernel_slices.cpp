#include "sim/lowering/kernel_slices.hpp"

#include <algorithm>

namespace sim {

bool is_product(const Lowering& l, std::uint32_t node) {
  return std::holds_alternative<pcg::Linear>(*l.plan.pcg.nodes()[node].operation());
}

std::optional<std::size_t> overlapped_slices(const Movement& movement, CollectiveKind kind) {
  if (movement.rounds.size() != 1) return std::nullopt;
  std::size_t slices = 0;
  for (const Transfer& t : movement.rounds.front()) {
    if (t.kind != kind) return std::nullopt;
    slices = std::max(slices, t.group.size());
  }
  return slices;
}

double share_after_gather(const Lowering& l, std::uint32_t node, std::span<const std::uint32_t> readers, std::size_t slices) {
  const auto seconds = [&](std::uint32_t n) { return l.costs.forward(n).on_type.front().device.value(); };
  double left = 0;
  for (const std::uint32_t n : readers) left += seconds(n) / static_cast<double>(slices);
  for (std::size_t i = readers.size(); i-- > 0;) {
    const double own = std::min(left, seconds(readers[i]));
    if (readers[i] == node) return own > 0 ? own / seconds(node) : 0;
    left -= own;
  }
  return 0;
}

std::vector<std::uint32_t> append_ring(Block& block, MovementId hop, std::size_t hops, const Item& first,
                                       const std::function<Compute(std::size_t)>& slice) {
  std::vector<std::uint32_t> slices;
  std::uint32_t came = 0;  // the hop before
  for (std::size_t i = 0; i <= hops; ++i) {
    Item kernels{slice(i), first.node, i == 0 ? first.after : std::vector{came}, {}, {}};
    if (i == 0) kernels.waits_on = first.waits_on;
    // The hop that overlaps with this slice is listed first: it does not wait for it.
    if (i < hops) {
      Item next = moving(StreamKind::communication, hop, "ring", first.node, first.after, first.waits_on);
      if (i > 0) next.after = {came, slices[i - 1]};
      if (i > 0) next.waits_on.clear();
      came = append(block, std::move(next));
    }
    slices.push_back(append(block, std::move(kernels)));
  }
  return slices;
}

std::uint32_t append_gradient_ring(Block& block, MovementId hop, std::span<const std::uint32_t> slices, std::uint32_t node) {
  std::uint32_t last = slices.front();
  for (const std::uint32_t slice : slices.subspan(1))
    last = append(block, moving(StreamKind::communication, hop, "ring gradient", node, {last, slice}));
  return last;
}

void start_with(const Block& block, std::uint32_t gather, Item& item) {
  const Item& from = block.items[gather];
  std::erase(item.after, gather);
  item.after.insert(item.after.end(), from.after.begin(), from.after.end());
  item.waits_on.insert(item.waits_on.end(), from.waits_on.begin(), from.waits_on.end());
  make_ascending(item.waits_on);
}

}  // namespace sim
