#include "search/flexflow/placements.hpp"

#include <algorithm>

namespace search {

Placements::Placements(const topology::Cluster& cluster, OperatorCatalog& catalog) : cluster_(cluster), catalog_(catalog) {}

PlacementNumber Placements::number(KindNumber kind, DeviceBlock block, std::uint32_t way) {
  const auto [at, is_new] = first_.try_emplace({kind, block}, static_cast<PlacementNumber>(placements_.size()));
  if (is_new) {
    const Ways& all = catalog_.ways(kind, block);
    for (std::uint32_t w = 0; w < all.strategies.size(); ++w) {
      placements_.push_back({kind, block, w, all.strategies[w].sharding.points()});
      ways_.push_back(&all);
    }
  }
  return at->second + way;
}

std::vector<DeviceBlock> Placements::blocks_of(int size) const {
  const int all = cluster_.device_count(), machine = static_cast<int>(cluster_.domain_devices(0).size());
  std::vector<DeviceBlock> blocks;
  if (size >= machine) {
    for (int start = 0; start + size <= all; start += size) blocks.push_back({start, size});
    return blocks;
  }
  for (int first = 0; first + machine <= all; first += machine) {
    for (int start = 0; start + size <= machine; start += size) blocks.push_back({first + start, size});
    if (machine % size != 0) blocks.push_back({first + machine - size, size});
  }
  return blocks;
}

const std::vector<std::vector<DeviceBlock>>& Placements::blocks(KindNumber kind) {
  const auto [at, is_new] = blocks_.try_emplace(kind);
  if (!is_new) return at->second;
  const int all = cluster_.device_count(), machine = static_cast<int>(cluster_.domain_devices(0).size());
  at->second.push_back({{0, all}});
  for (int size = all - 1; size >= 1; --size)
    if ((size < machine || size % machine == 0) && catalog_.can_use(kind, size)) at->second.push_back(blocks_of(size));
  return at->second;
}

PlacementNumber Placements::any(KindNumber kind, base::Random& random) {
  const std::vector<std::vector<DeviceBlock>>& by_size = blocks(kind);
  const bool is_small = by_size.size() > 1 && random.below(2) == 1;
  const std::vector<DeviceBlock>& of_size = by_size[is_small ? 1 + random.below(by_size.size() - 1) : 0];
  const DeviceBlock block = of_size[random.below(of_size.size())];
  const PlacementNumber first = number(kind, block, 0);
  return first + static_cast<PlacementNumber>(random.below(ways(first).strategies.size()));
}

const KnownMovement& Placements::between(const EdgeKind& edge, PlacementNumber from, PlacementNumber to) {
  const auto [at, is_new] = movements_[edge].try_emplace((static_cast<std::uint64_t>(from) << 32U) | to);
  KnownMovement& known = at->second;
  if (!is_new) return known;
  const Ways::Layouts &a = ways(from).layouts[placements_[from].way], &b = ways(to).layouts[placements_[to].way];
  EdgeKind forward = edge;
  forward.has_gradient = false;
  known.times.forward = catalog_.movement_at_least(forward, a, b);
  known.times.backward = edge.has_gradient ? catalog_.movement_at_least(edge, a, b) - known.times.forward : 0;
  return known;
}

const KnownMovement& Placements::find_out(const EdgeKind& edge, PlacementNumber from, PlacementNumber to) {
  KnownMovement& known = movements_[edge][(static_cast<std::uint64_t>(from) << 32U) | to];
  if (known.is_exact) return known;
  const Ways::Layouts &a = ways(from).layouts[placements_[from].way], &b = ways(to).layouts[placements_[to].way];
  EdgeKind forward = edge;
  forward.has_gradient = false;
  known.times.forward = std::max(known.times.forward, catalog_.movement(forward, a, b));
  if (edge.has_gradient) known.times.backward = std::max(known.times.backward, catalog_.movement(edge, a, b) - known.times.forward);
  known.is_exact = true;
  ++found_out_;
  return known;
}

}  // namespace search
