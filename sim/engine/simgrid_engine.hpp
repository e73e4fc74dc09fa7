#pragma once
// Runs a TaskGraph on SimGrid 3.32 (max-min fair flows, network model CM02 without TCP effects; shared/facts are in
// docs/architecture.md). Only this file's .cpp includes SimGrid.

#include <string>

#include "sim/engine/task_graph.hpp"

namespace sim {

// Deterministic. Several calls per process are fine, one at a time. Cost: O(tasks log tasks) plus the solver's share per flow event.
// Throws: base::InternalError when tasks wait for each other (it names one).
[[nodiscard]] Timeline simulate(const TaskGraph& graph);

// The settings that simulate() uses, for reports: "network/model:CM02 network/crosstraffic:0 ...".
[[nodiscard]] std::string engine_settings();

}  // namespace sim
