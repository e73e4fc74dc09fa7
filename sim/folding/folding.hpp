#pragma once
// Folding: devices, links, transfers and strands of flows that do the same thing in the same place are simulated once. Start here:
//   traffic.hpp     traffic_of(): the movements of a program as Strands of flows
//   refinement.hpp  refine(): Colours, the classes; slack_links() (traffic.hpp): links that cannot matter
//   folding.hpp     fold(): the classes with a representative each
//
// A partition of all four is refined until it is equitable: members of a class of transfers have equally many members of each class of
// devices, in each role, and equally many strands of each class; members of a class of devices take part in equally many transfers of each
// class in each role; members of a class of strands cross equally many links of each class equally often; members of a class of links are
// crossed by equally many strands of each class (colour refinement, as for graph isomorphism). Then giving every member of a class the same
// times and rates is a solution of the simulation: max-min shares are unique, and the equations of all members of a class are the same. So
// the folded simulation is exact, not an approximation. Which flows of a collective a device sends makes no difference to it: it waits for
// the whole. A link that is crossed by n flows of a class carries the representative with weight n. Links that are never the narrowest are
// left out (slack_links()). One case is not symmetric: a device that is in two collectives of one round runs them one after
// another, and which comes first is arbitrary. A program with such a round is not folded.

#include <cstdint>
#include <vector>

#include "sim/engine/task_graph.hpp"
#include "sim/folding/traffic.hpp"

namespace sim {

// All transfers of a class start and end together; one task stands for them.
struct TransferClass {
  std::uint32_t representative = 0;  // index into Traffic::transfers
  std::uint32_t count = 1;           // how many transfers it stands for
  CollectiveKind kind = CollectiveKind::send;
  std::vector<std::uint32_t> waits_for;    // device classes that must be ready: senders of a send, all members otherwise
  std::vector<std::uint32_t> delivers_to;  // device classes that have the data afterwards: receivers, or all members
  std::vector<Phase> phases;               // flows of classes, on routes of Folded
};

struct Folded {
  std::vector<std::uint32_t> class_of;          // per device of the cluster; kUnused: takes no part
  std::vector<base::DeviceId> representatives;  // one per class: the lowest member
  std::vector<std::uint32_t> sizes;             // members per class
  std::vector<TransferClass> transfers;
  std::vector<std::vector<std::vector<std::uint32_t>>> of_movement;  // [movement][round]: indices into transfers
  std::vector<base::BytesPerSecond> links;                           // per class of links
  std::vector<std::vector<WeightedLink>> routes;
  static constexpr std::uint32_t kUnused = 0xffffffff;
};

// Cost: that of refine(), of flows of distinct movements only; at most ~10 rounds in practice.
[[nodiscard]] Folded fold(const Program& program, const Traffic& traffic, const topology::Cluster& cluster);
// The same with every device, link and transfer a class of its own: what fold() is held against.
[[nodiscard]] Folded without_folding(const Program& program, const Traffic& traffic, const topology::Cluster& cluster);

}  // namespace sim
