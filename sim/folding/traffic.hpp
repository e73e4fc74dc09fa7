#pragma once
// Every movement of a program as flows over links: what folding looks at and unrolling copies from.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/collectives/plan_collective.hpp"
#include "sim/program/program.hpp"
#include "topology/cluster.hpp"

namespace sim {

struct TrafficFlow {
  std::uint32_t phase = 0;
  base::Bytes bytes;                             // that are wanted
  double wire_factor = 1;                        // CollectiveFlow
  std::uint32_t links_begin = 0, links_end = 0;  // in Traffic::flow_links
};

// Flows of one transfer, phase and size move in step, at the rate of the slowest of them: libraries cut a collective into chunks that a
// device passes on as it gets them, so that a ring or a tree goes as fast as its narrowest link. Since the next phase waits for all of
// them, a collective alone takes the time that it would take otherwise.
struct Strand {
  std::uint32_t phase = 0;
  base::Bytes bytes;  // of each flow
  double wire_factor = 1;
  std::uint32_t links_begin = 0, links_end = 0;  // in Traffic::strand_links
};
// Without links that are slack.
struct StrandLink {
  std::uint32_t link = 0;   // index into Traffic::links
  std::uint32_t flows = 0;  // of the strand that cross it
};

struct TrafficTransfer {
  MovementId movement;
  std::uint32_t round = 0;
  CollectiveKind kind = CollectiveKind::send;
  std::span<const base::DeviceId> members;           // send: {from, to}; of the program
  std::vector<base::Seconds> delays;                 // one per phase
  std::uint32_t flows_begin = 0, flows_end = 0;      // in Traffic::flows
  std::uint32_t strands_begin = 0, strands_end = 0;  // in Traffic::strands
};

struct Traffic {
  std::vector<topology::LinkId> links;                               // those in use
  std::vector<TrafficTransfer> transfers;                            // by movement, round, position in the round
  std::vector<TrafficFlow> flows;                                    // by transfer
  std::vector<std::uint32_t> flow_links;                             // by flow: indices into links
  std::vector<bool> slack;                                           // per link: it is never the narrowest
  std::vector<Strand> strands;                                       // by transfer
  std::vector<StrandLink> strand_links;                              // by strand
  std::vector<std::vector<std::vector<std::uint32_t>>> of_movement;  // [movement][round]: indices into transfers

  [[nodiscard]] std::span<const TrafficFlow> flows_of(const TrafficTransfer& t) const {
    return std::span(flows).subspan(t.flows_begin, t.flows_end - t.flows_begin);
  }
  [[nodiscard]] std::span<const std::uint32_t> links_of(const TrafficFlow& f) const {
    return std::span(flow_links).subspan(f.links_begin, f.links_end - f.links_begin);
  }
  [[nodiscard]] std::span<const StrandLink> links_of(const Strand& s) const {
    return std::span(strand_links).subspan(s.links_begin, s.links_end - s.links_begin);
  }
};

// Plans every transfer of every movement. The program outlives the answer.
// Cost: plan_collective for each.
[[nodiscard]] Traffic traffic_of(const Program& program, const topology::Cluster& cluster, const CollectiveConfig& config);

// Returns one entry per link of the traffic: whether it is a link between switches that can never be the narrowest. Each flow that crosses
// such a link also crosses a link of a node on its way there (or on its way on), and all of those together carry no more than it does.
// Max-min shares are the same without it, so neither folding nor the engine needs it, and devices that differ in nothing else fold.
// Cost: O(n log n), n flows over links between switches x links of each.
[[nodiscard]] std::vector<bool> slack_links(const Traffic& traffic, const topology::Cluster& cluster);

}  // namespace sim
