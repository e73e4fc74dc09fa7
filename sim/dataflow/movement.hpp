#pragma once
// What it takes to bring a tensor from one layout to another: rounds of transfers that run together. A chain of parallel operators is
// priced as a whole: partial sums wanted by those who hold them become an all-reduce or a reduce-scatter, blocks wanted by their
// holders an all-gather or an all-to-all; everything else goes point to point by overlap of blocks, and is shared out among equal copies
// and gathered where the destination is replicated within a node.

#include <compare>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/dataflow/layout.hpp"
#include "topology/cluster.hpp"

namespace sim {

// One collective among `group`, or, of kind send, one message group[0] -> group[1]. bytes: S of collective.hpp.
struct Transfer {
  CollectiveKind kind = CollectiveKind::send;
  base::Bytes bytes;
  std::vector<base::DeviceId> group;
  auto operator<=>(const Transfer&) const = default;
};

using Round = std::vector<Transfer>;  // at the same time

struct Movement {
  std::vector<Round> rounds;  // one after another; none: every device has what it needs
  [[nodiscard]] bool empty() const { return rounds.empty(); }
  auto operator<=>(const Movement&) const = default;
};

// Requires: the same whole shape; to.sum divides from.sum. Devices may differ. O(shards x shards that overlap).
[[nodiscard]] Movement reshard(const Layout& from, const Layout& to, base::Bytes element, const topology::Cluster& cluster);

// Groups of devices whose shards differ in the sum index alone, in shard order: who adds up with whom. Groups of one are left out.
[[nodiscard]] std::vector<std::vector<base::DeviceId>> sum_groups(const Layout& l);

}  // namespace sim
