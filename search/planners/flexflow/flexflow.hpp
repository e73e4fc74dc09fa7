#pragma once
// FlexFlow (Jia et al., "Beyond Data and Model Parallelism for Deep Neural Networks", MLSys'19): Markov chain Monte Carlo over how every
// operator of a graph is cut and where it runs. The graph stays as it is: the baseline of searches that rewrite it.

#include "search/planners/flexflow/walk.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/planner.hpp"

namespace search {

struct FlexFlowConfig {
  SearchLimits budget = kDefaultEffort;
  std::size_t proposals = 100000;
  double alpha = 100;  // the larger, the less is accepted that takes longer
  int most_cut = 2;    // loops of an operator that are cut at once
};

// `graph`: computes what the problem's model does, for the whole batch. Data parallelism of the model itself is simulated as well, and
// is the answer where nothing found is quicker.
[[nodiscard]] SearchResult flexflow_search(const Problem& problem, const pcg::Graph& graph, const FlexFlowConfig& config,
                                           const SearchContext& context);
// The same with what a catalog knows already, and from another start than data parallelism: a placement per operator, in the order of the
// graph, without sources; empty: from data parallelism.
[[nodiscard]] SearchResult flexflow_search(const Problem& problem, const pcg::Graph& graph, const FlexFlowConfig& config,
                                           const SearchContext& context, OperatorCatalog& catalog, std::vector<Placement> from);
// From values of the planner's options.
[[nodiscard]] FlexFlowConfig flexflow_config(const OptionValues& values);
[[nodiscard]] Planner flexflow_planner();

}  // namespace search
