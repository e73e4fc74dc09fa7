#include "sim/dataflow/dataflow.hpp"

namespace sim {

Dataflow dataflow_of(const pcg::Plan& plan) {
  FlowGraph flow = flow_graph(plan);
  Synchronisation synchronisation(plan, flow);
  return {std::move(flow), std::move(synchronisation)};
}

}  // namespace sim
