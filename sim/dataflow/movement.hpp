#pragma once
// The transfers from one layout of a tensor to another, in rounds that run together. A chain of parallel operators is
// costed as a whole. Partial sums are added up first among those who hold them, by an all-reduce or a reduce-scatter; blocks wanted by
// their holders become an all-gather or an all-to-all. Everything else goes point to point by overlap of blocks; where no holder is in a
// node that wants equal copies, these share the message out and gather it (the local all-gather of Alpa, OSDI'22, section 6).

#include <compare>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "sim/collectives/collective.hpp"
#include "sim/dataflow/layout.hpp"
#include "topology/cluster.hpp"

namespace sim {

// One collective among `group`, or, of kind send, one message group[0] -> group[1]. bytes: S of plan_collective.hpp, of members that have
// unequal shares the mean.
struct Transfer {
  CollectiveKind kind = CollectiveKind::send;
  base::Bytes bytes;
  std::vector<base::DeviceId> group;
  // None: each member of an all-to-all sends to each other one. Else an all-to-all in two steps, pipelined in slices: a member
  // sends a share of `bytes` to its like in each domain of the group, and what comes there goes on within the domain in `copies` copies,
  // which its members share out (or back: what they have for one rank is added up there and sent home).
  Forwarding forwarding = {};
  double fullest = 1;  // the member that has most has this many times `bytes`, and all wait for it
  auto operator<=>(const Transfer&) const = default;
};

using Round = std::vector<Transfer>;  // at the same time

struct Movement {
  std::vector<Round> rounds;  // one after another; none: every device has what it needs
  [[nodiscard]] bool empty() const { return rounds.empty(); }
  auto operator<=>(const Movement&) const = default;
};

// Whether it does nothing but gather: no sums, no exchange. An empty one does.
[[nodiscard]] bool only_gathers(const Movement& movement);

// `how`: with send_recv nothing is shared out, and with signal, besides, every message has one byte; what collectives move inside either
// layout stays.
// Requires: the same whole shape; to.sum is from.sum, and then shard by shard the same blocks, or 1. Devices may differ.
// Cost: O(n log n) for n shards on both sides, and O(blocks in common of the two).
[[nodiscard]] Movement reshard(const Layout& from, const Layout& to, base::Bytes element, const topology::Cluster& cluster,
                               pcg::BetweenStages how = pcg::BetweenStages::local_all_gather);
// The same where no device sends more than `most_messages` in a round; else nullopt, which is known sooner.
[[nodiscard]] std::optional<Movement> reshard_within(const Layout& from, const Layout& to, base::Bytes element,
                                                     const topology::Cluster& cluster, std::size_t most_messages,
                                                     bool gathers_copies = true);

// Groups of devices whose shards differ in the sum index alone: who adds up with whom. Each once, ascending; groups of one are left out.
[[nodiscard]] std::vector<std::vector<base::DeviceId>> sum_groups(const Layout& l);

}  // namespace sim
