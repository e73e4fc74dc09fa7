#pragma once
// Times of the flows of a phase while nothing else is on their links: most collectives of an iteration are alone there, and then no solver
// is needed to share the links out. Internal to sim/engine.

#include <cstdint>
#include <vector>

#include "sim/engine/task_graph.hpp"

namespace sim {

struct PhaseAlone {
  std::vector<std::uint32_t> links;  // that its flows cross, each once
  // Per flow of the phase, from its start to its end; 0 for one that moves nothing. Empty: not known without a solver.
  std::vector<double> flow_s;
  double seconds = 0;  // the longest of them
};

// Flows that share links, directly or by way of others, end together if each of them crosses a link that is busy for as long as any, and
// carries no less than the others there: then rates in proportion to bytes are the max-min fair ones, as every flow has a link that is full
// and on which none is quicker (Bertsekas and Gallager, "Data Networks", section 6.5.2). Where that does not hold the answer is not known.
// Requires: routes of the graph name links of the graph.
// Cost: O(flows x links of each).
[[nodiscard]] PhaseAlone phase_alone(const TaskGraph& graph, const Phase& phase);

// Whether a flow moves anything over some link.
[[nodiscard]] bool moves(const TaskGraph& graph, const Flow& flow);

}  // namespace sim
