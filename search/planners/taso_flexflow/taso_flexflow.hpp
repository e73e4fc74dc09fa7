#pragma once
// Sequential optimisation: TASO's algebra first (Jia et al., SOSP'19), as a single device would have it, then FlexFlow's parallelisation of
// the graph that comes out: what Unity (OSDI'22, section 6) compares joint optimisation with.

#include "search/planners/flexflow/flexflow.hpp"

namespace search {

struct TasoFlexFlowConfig {
  FlexFlowConfig flexflow;
  double threshold = 1.05;   // UnityConfig
  std::size_t graphs = 200;  // UnityConfig
  GivenRules rules = {};     // in place of those that ship
};

[[nodiscard]] SearchResult taso_flexflow_search(const Problem& problem, const TasoFlexFlowConfig& config, const SearchContext& context);
[[nodiscard]] Planner taso_flexflow_planner();

}  // namespace search
