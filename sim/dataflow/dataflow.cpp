#include "sim/dataflow/dataflow.hpp"

namespace sim {

Dataflow dataflow_of(const pcg::Plan& plan) {
  // The synchronisation reads the flow graph's layouts, so the flow graph comes first.
  FlowGraph flow = flow_graph(plan);
  Synchronisation synchronisation(plan, flow);
  return {std::move(flow), std::move(synchronisation)};
}

}  // namespace sim
