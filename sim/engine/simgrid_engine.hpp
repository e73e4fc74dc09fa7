#pragma once
// Runs a TaskGraph on SimGrid: max-min fair flows by the network model CM02 without TCP effects
// (docs/decisions/0003-latency-before-flows.md says why). Only this file's .cpp uses SimGrid; simgrid_versions.hpp says which releases.

#include <string>

#include "sim/engine/task_graph.hpp"

namespace sim {

// Returns: when each task ran; equal graphs give equal bytes. Not for several threads at once: SimGrid has one engine per process.
// Throws: base::InternalError when tasks wait for each other (it names one), when the graph's indices are out of range, when a
// bandwidth or a weight is not above 0 (a bandwidth: or not finite), when a delay or bytes are negative or a slowdown is below 1, and when
// the weights of flows that contend are no whole multiples of one share of a link.
// Cost: O(tasks log tasks), and at each end of a flow what SimGrid's solver takes for the flows that share its links.
[[nodiscard]] Timeline simulate(const TaskGraph& graph);

// The settings that simulate() uses, for reports: "network/model:CM02 network/crosstraffic:0 ...".
[[nodiscard]] std::string engine_settings();

}  // namespace sim
