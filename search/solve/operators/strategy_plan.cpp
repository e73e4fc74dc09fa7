#include "search/solve/operators/strategy_plan.hpp"

#include "pcg/graph/pcg.hpp"

namespace search {

pcg::Plan plan_of_strategies(const Problem& problem, const pcg::Graph& graph, const std::vector<const Strategy*>& choice) {
  std::vector<pcg::Sharding> shardings = pcg::unsharded(graph);
  for (std::size_t n = 0; n < choice.size(); ++n)
    if (choice[n] != nullptr) shardings[n] = choice[n]->sharding;
  pcg::Plan plan;
  plan.model = problem.model_section;
  plan.training = problem.training;
  plan.gpus = problem.cluster.device_count();
  plan.pcg = pcg::parallelize(graph, shardings);
  plan.stage.assign(plan.pcg.nodes().size(), 0);
  std::size_t node = 0;  // parallelize() keeps the graph's operators in order
  for (const pcg::PcgNode& n : plan.pcg.nodes()) {
    plan.mapping.emplace_back();
    if (n.parallel_operator() != nullptr) continue;
    if (n.computes()) plan.mapping.back() = choice[node]->view;
    ++node;
  }
  return plan;
}

}  // namespace search
