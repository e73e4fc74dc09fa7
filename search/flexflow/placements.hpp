#pragma once
// Where operators of a kind can run and how, numbered, and what moves between two of them: the configurations of FlexFlow (Jia et al.,
// MLSys'19, section 4) on blocks of devices.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"
#include "search/flexflow/schedule.hpp"
#include "search/operators/operator_catalog.hpp"
#include "topology/cluster.hpp"

namespace search {

using PlacementNumber = std::uint32_t;

struct Placement {
  KindNumber kind = 0;
  DeviceBlock block;
  std::uint32_t way = 0;  // of OperatorCatalog::ways(kind, block)
  int devices = 1;        // the first ones of the block, which do the work
};

// What is known of a movement.
struct KnownMovement {
  MovementTimes times;
  bool is_exact = false;  // else these are no more than what it takes
};

// Kinds are priced on a block, and movements asked about, when they first come up. Not for several threads at once.
class Placements {
 public:
  // Both outlive the object.
  Placements(const topology::Cluster& cluster, OperatorCatalog& catalog);

  [[nodiscard]] const Placement& operator[](PlacementNumber n) const { return placements_[n]; }
  // Requires: the kind's ways on the block are more than `way`.
  [[nodiscard]] PlacementNumber number(KindNumber kind, DeviceBlock block, std::uint32_t way);
  // Any placement of the kind. All devices come up as often as all smaller blocks together, and of these each size as often as others.
  [[nodiscard]] PlacementNumber any(KindNumber kind, base::Random& random);
  [[nodiscard]] const StrategyCost& cost(PlacementNumber n) const { return ways(n).costs[placements_[n].way]; }
  [[nodiscard]] const Strategy& strategy(PlacementNumber n) const { return ways(n).strategies[placements_[n].way]; }

  // Bounds, until it is found out.
  [[nodiscard]] const KnownMovement& between(const EdgeKind& edge, PlacementNumber from, PlacementNumber to);
  const KnownMovement& find_out(const EdgeKind& edge, PlacementNumber from, PlacementNumber to);
  [[nodiscard]] std::size_t found_out() const { return found_out_; }

  // Blocks that give an operator of the kind work on all of their devices, by size, the largest first, which is all devices: inside a
  // machine those that lie at a multiple of their size or at its end, beyond it whole machines that lie at a multiple of it.
  [[nodiscard]] const std::vector<std::vector<DeviceBlock>>& blocks(KindNumber kind);

 private:
  [[nodiscard]] const Ways& ways(PlacementNumber n) const { return *ways_[n]; }
  [[nodiscard]] std::vector<DeviceBlock> blocks_of(int size) const;

  const topology::Cluster& cluster_;
  OperatorCatalog& catalog_;
  std::vector<Placement> placements_;
  std::vector<const Ways*> ways_;                                        // per placement
  std::map<std::pair<KindNumber, DeviceBlock>, PlacementNumber> first_;  // numbers of a kind on a block follow each other
  std::map<KindNumber, std::vector<std::vector<DeviceBlock>>> blocks_;
  std::map<EdgeKind, std::unordered_map<std::uint64_t, KnownMovement>> movements_;  // by both placements
  std::size_t found_out_ = 0;
};

}  // namespace search
