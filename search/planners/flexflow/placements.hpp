#pragma once
// Where operators of a kind can run and how, numbered, and what moves between two of them: the configurations of FlexFlow (Jia et al.,
// MLSys'19, section 4) on blocks of devices.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"
#include "search/planners/flexflow/schedule.hpp"
#include "search/solve/operators/operator_catalog.hpp"
#include "topology/cluster.hpp"

namespace search {

struct Placement {
  DeviceBlock block;
  std::uint32_t way = 0;  // of the kind's ways on the block, in the order of strategies_of()
  bool operator==(const Placement&) const = default;
};

// What is known of a movement.
struct KnownMovement {
  MovementTimes times;
  bool is_exact = false;  // else these are no more than what it takes
};

// Kinds are priced on a block, and movements asked about, when they first come up. Where all machines are alike, a block costs what it
// costs in the first machines, and what moves between two blocks depends on their sizes, on where they lie in their machines and on
// whether they have devices in common: then few are priced and asked about. Not for several threads at once.
class Placements {
 public:
  // Both outlive the object.
  Placements(const topology::Cluster& cluster, OperatorCatalog& catalog);

  // Any placement of the kind. All devices come up as often as all smaller blocks together, and of these each size as often as others.
  [[nodiscard]] Placement any(KindNumber kind, base::Random& random);
  // Of a placement. Devices: the first ones of the block, which do the work.
  [[nodiscard]] const StrategyCost& cost(KindNumber kind, const Placement& p);
  [[nodiscard]] int devices(KindNumber kind, const Placement& p);

  // Bounds, until it is found out.
  [[nodiscard]] const KnownMovement& between(const EdgeKind& edge, const Placement& from, const Placement& to);
  const KnownMovement& find_out(const EdgeKind& edge, const Placement& from, const Placement& to);
  [[nodiscard]] std::size_t found_out() const { return found_out_; }

  // Blocks that give an operator of the kind work on all of their devices, by size, the largest first, which is all devices: inside a
  // machine those that lie at a multiple of their size or at its end, beyond it a half, a third, ... of all machines.
  [[nodiscard]] const std::vector<std::vector<DeviceBlock>>& blocks(KindNumber kind);
  // The pair of blocks that stands for all that are like this one.
  [[nodiscard]] std::pair<DeviceBlock, DeviceBlock> standing_for(DeviceBlock a, DeviceBlock b) const;

 private:
  struct Priced {
    const Ways* ways = nullptr;
    std::uint32_t first = 0;  // numbers of a kind's ways on a block follow each other
  };
  struct Movement {
    const Ways::Layouts *from, *to;
    KnownMovement* known;
    bool is_new;
  };
  [[nodiscard]] DeviceBlock alike(DeviceBlock b) const;
  [[nodiscard]] const Priced& priced(KindNumber kind, DeviceBlock block);
  [[nodiscard]] std::vector<DeviceBlock> blocks_of(int size) const;
  [[nodiscard]] Movement movement(const EdgeKind& edge, const Placement& from, const Placement& to);

  OperatorCatalog& catalog_;
  int devices_, machine_;  // of the cluster, of a machine
  std::map<std::pair<KindNumber, DeviceBlock>, Priced> priced_;
  std::uint32_t next_ = 0;
  std::map<KindNumber, std::vector<std::vector<DeviceBlock>>> blocks_;
  std::map<EdgeKind, std::unordered_map<std::uint64_t, KnownMovement>> movements_;  // by the numbers of both ways
  std::size_t found_out_ = 0;
};

}  // namespace search
