#include "sim/dataflow/flow_graph.hpp"

namespace sim {

FlowGraph flow_graph(const pcg::Plan& plan) {
  const auto nodes = plan.pcg.nodes();
  FlowGraph g{PlanLayouts(plan), {}, {}, {}, {}};
  g.origins.resize(nodes.size());
  g.uses.resize(nodes.size());
  g.needs_gradient.assign(nodes.size(), false);
  g.stage_nodes.resize(static_cast<std::size_t>(plan.stages));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    g.uses[n].resize(nodes[n].outputs.size());
    // Nodes are in topological order: what lies behind a node is known when it is reached.
    if (nodes[n].is_weight()) g.needs_gradient[n] = true;
    if (!nodes[n].computes()) continue;
    g.stage_nodes[static_cast<std::size_t>(plan.stage[n])].push_back(static_cast<std::uint32_t>(n));
    for (std::size_t i = 0; i < nodes[n].inputs.size(); ++i) {
      const pcg::TensorRef from = origin(plan.pcg, nodes[n].inputs[i]);
      g.origins[n].push_back(from);
      g.uses[from.node.value][static_cast<std::size_t>(from.output)].push_back(
          {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(i)});
      if (g.needs_gradient[from.node.value]) g.needs_gradient[n] = true;
    }
  }
  return g;
}

}  // namespace sim
