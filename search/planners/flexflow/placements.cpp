#include "search/planners/flexflow/walk.hpp"

#include <algorithm>

namespace search {
Placements::Placements(const topology::Cluster& cluster, OperatorCatalog& catalog)
    : catalog_(catalog), devices_(cluster.device_count()), machine_(catalog.machine_size()) {}

const Placements::Costed& Placements::costed(KindNumber kind, DeviceBlock block) {
  const auto [at, is_new] = costed_.try_emplace({kind, block});
  if (is_new) {
    at->second = {&catalog_.table(kind, block), next_};
    next_ += static_cast<std::uint32_t>(at->second.table->strategies.size());
  }
  return at->second;
}

const StrategyCost& Placements::cost(KindNumber kind, const Placement& p) {
  return costed(kind, catalog_.alike(p.block)).table->costs[p.strategy];
}

int Placements::devices(KindNumber kind, const Placement& p) {
  return costed(kind, catalog_.alike(p.block)).table->strategies[p.strategy].sharding.points();
}

std::vector<DeviceBlock> Placements::blocks_of(int size) const {
  std::vector<DeviceBlock> blocks;
  if (size >= machine_) {
    for (int start = 0; start + size <= devices_; start += size) blocks.push_back({start, size});
    return blocks;
  }
  for (int first = 0; first + machine_ <= devices_; first += machine_) {
    for (int start = 0; start + size <= machine_; start += size) blocks.push_back({first + start, size});
    if (machine_ % size != 0) blocks.push_back({first + machine_ - size, size});
  }
  return blocks;
}

const std::vector<std::vector<DeviceBlock>>& Placements::blocks(KindNumber kind) {
  const auto [at, is_new] = blocks_.try_emplace(kind);
  if (!is_new) return at->second;
  at->second.push_back({{0, devices_}});
  for (int size = devices_ - 1; size >= 1; --size)
    if ((size < machine_ || (size % machine_ == 0 && devices_ % size == 0)) && catalog_.can_use(kind, size))
      at->second.push_back(blocks_of(size));
  return at->second;
}

Placement Placements::any(KindNumber kind, base::Random& random) {
  const std::vector<std::vector<DeviceBlock>>& by_size = blocks(kind);
  const bool is_small = by_size.size() > 1 && random.below(2) == 1;
  const std::vector<DeviceBlock>& of_size = by_size[is_small ? 1 + random.below(by_size.size() - 1) : 0];
  const DeviceBlock block = of_size[random.below(of_size.size())];
  return {block, static_cast<std::uint32_t>(random.below(costed(kind, catalog_.alike(block)).table->strategies.size()))};
}

// The larger block goes into the first machines, and the other one to where it begins or, where they have no device in common, to the
// last machines. Both stay where they are in their machines.
std::pair<DeviceBlock, DeviceBlock> Placements::standing_for(DeviceBlock a, DeviceBlock b) const {
  if (!catalog_.machines_are_alike()) return {a, b};
  if (a.size < b.size) {
    const auto [second, first] = standing_for(b, a);
    return {first, second};
  }
  const DeviceBlock first = catalog_.alike(a);
  DeviceBlock second = catalog_.alike(b);
  const bool is_apart = a.start >= b.start + b.size || b.start >= a.start + a.size;
  if (is_apart && a.start / machine_ != b.start / machine_) second.start += devices_ - (b.size + machine_ - 1) / machine_ * machine_;
  return {first, second};
}

Placements::Movement Placements::movement(const EdgeKind& edge, const Placement& from, const Placement& to) {
  const auto [a, b] = standing_for(from.block, to.block);
  const Costed &first = costed(edge.from, a), &second = costed(edge.to, b);
  const std::uint64_t key = (static_cast<std::uint64_t>(first.first + from.strategy) << 32U) | (second.first + to.strategy);
  const auto [at, is_new] = movements_[edge].try_emplace(key);
  return {&first.table->layouts[from.strategy], &second.table->layouts[to.strategy], &at->second, is_new};
}

const KnownMovement& Placements::between(const EdgeKind& edge, const Placement& from, const Placement& to) {
  const Movement m = movement(edge, from, to);
  if (!m.is_new) return *m.known;
  EdgeKind forward = edge;
  forward.has_gradient = false;
  MovementTimes& times = m.known->times;
  times.forward = catalog_.movement_at_least(forward, *m.from, *m.to);
  if (edge.has_gradient) times.backward = catalog_.movement_at_least(edge, *m.from, *m.to) - times.forward;
  return *m.known;
}

const KnownMovement& Placements::resolve(const EdgeKind& edge, const Placement& from, const Placement& to) {
  const Movement m = movement(edge, from, to);
  if (m.known->is_exact) return *m.known;
  EdgeKind forward = edge;
  forward.has_gradient = false;
  const double there = catalog_.movement(forward, *m.from, *m.to), both = catalog_.movement(edge, *m.from, *m.to);
  MovementTimes& times = m.known->times;
  times = {std::max(times.forward, there), std::max(times.backward, both - there)};
  m.known->is_exact = true;
  ++found_out_;
  return *m.known;
}

}  // namespace search
