#pragma once
// Unity (Unger et al., OSDI'22): algebraic rewrites and parallelisation are searched together.

#include "search/planners/flexflow/flexflow.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/planner.hpp"
#include "search/solve/operators/shortlists.hpp"

namespace search {

struct UnityConfig {
  static constexpr Effort kEffort{base::Seconds(4), 250};
  SearchLimits budget = kEffort.least;
  SearchLimits grid_budget = MegatronSearchConfig().budget;     // in addition
  std::size_t most_strategies = 24;                             // of an operator, those that cost least by themselves
  int most_cut = 2;                                             // loops of an operator that are cut at once
  std::size_t segment = 10;                                     // the least operators of a segment; 0: the graph is not split
  bool side_by_side = true;                                     // independent branches may run side by side
  bool remember = true;                                         // costs of equal sub-problems
  bool algebra = true;                                          // graphs are rewritten
  GivenRules rules = {};                                        // in place of those that ship
  bool joint = true;                                            // false: first the algebra, as one device would have it, and then the rest
  bool known_plans = true;                                      // replicas that share out states, and experts', are among the candidates
  bool grid = true;                                             // the answer of megatron_search() is among the candidates
  Cuts cuts = {};                                               // the dimensions along which operators are cut
  bool pipelines = true;                                        // stages of micro-batches are searched
  pcg::ScheduleKind schedule = pcg::ScheduleKind::one_f_one_b;  // of these: or two_bw
  double threshold = 1.05;                                      // a graph that costs more than this times the best is not rewritten further
  std::size_t graphs = 200;                                     // rewritten ones of a segment that are evaluated
  std::size_t steps = 100000;                                   // of each walk that is judged by a schedule
};

[[nodiscard]] SearchResult unity_search(const Problem& problem, const UnityConfig& config, const SearchContext& context);
[[nodiscard]] Planner unity_planner();

// Sequential optimisation: TASO's algebra first (Jia et al., SOSP'19), as a single device would have it, then FlexFlow's parallelisation of
// the graph that comes out: what Unity (section 6) compares joint optimisation with.
struct TasoFlexFlowConfig {
  FlexFlowConfig flexflow;
  double threshold = 1.05;   // UnityConfig
  std::size_t graphs = 200;  // UnityConfig
  GivenRules rules = {};     // in place of those that ship
};

[[nodiscard]] SearchResult taso_flexflow_search(const Problem& problem, const TasoFlexFlowConfig& config, const SearchContext& context);
[[nodiscard]] Planner taso_flexflow_planner();

}  // namespace search
