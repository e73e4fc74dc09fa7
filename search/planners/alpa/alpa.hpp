#pragma once
// Alpa (Zheng et al., OSDI'22): stages of a pipeline, and inside each of them every operator cut in its own way over the stage's devices,
// both chosen by what they cost together; and the planners that it contains.

#include "search/problem/budget.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/planner.hpp"
#include "search/solve/stages/pipelines.hpp"

namespace search {

// How the operators of a stage are cut. ilp: each in its own way, the cheapest together; the others are those of Alpa's ablation (section
// 8.2): by samples alone, without ZeRO or with a stage of it, or each along its largest loop alone.
enum class IntraOp { ilp, data, zero_2, zero_3, largest_dimension };

struct AlpaConfig {
  static constexpr Effort kEffort{base::Seconds(15), 30};
  SearchLimits budget = kEffort.least;
  std::size_t most_strategies = 24;  // of an operator, those that cost least by themselves
  int most_cut = 2;                  // loops of an operator that are cut at once: the axes of a logical mesh
  int stages = 0;                    // 0: as many as are best
  GivenStages given;                 // as many as `stages`, where it is not empty; `devices` add up to all, `parts` to the layers
  SettingsConfig settings;           // micro-batches, recomputation, updates
  bool replicas = true;              // with ZeRO 1 to 3, by rule, too; not in Alpa's space
  bool transfers = true;             // inter-stage transfers take time, unless they are signals
  PartsConfig parts;                 // what stages are made of
  Submeshes submeshes = Submeshes::all;
  bool has_published = false;  // plans of Alpa's own space are candidates, too, for the best numbers of micro-batches
  IntraOp intra_op = IntraOp::ilp;
  // How tensors go between stages in the plans. The search itself counts inter-stage transfers with the local all-gather.
  pcg::BetweenStages between_stages = pcg::BetweenStages::local_all_gather;
};

// The part of Alpa's space that is searched. stages_alone: each stage is one device; samples: each stage is replicas, as PipeDream's are
// (Narayanan et al., SOSP'19); one_stage: all devices run every operator, Alpa's baseline "intra-op only" (section 8.1).
enum class AlpaSpace { all, stages_alone, samples, one_stage };

// The best plan by simulation of those that are the cheapest for each setting, and of plain data parallelism.
[[nodiscard]] SearchResult alpa_search(const Problem& problem, AlpaSpace space, const AlpaConfig& config, const SearchContext& context);
[[nodiscard]] Planner alpa_planner();
[[nodiscard]] Planner inter_op_planner();
[[nodiscard]] Planner pp_dp_planner();
[[nodiscard]] Planner intra_op_planner();

// Confirms the cheapest choices of `one_stage` for the whole batch under several objectives of gradients, and, where these do not fit, the
// cheapest within the memory; of each operator among the `most_strategies` that cost least by themselves. Each objective is a candidate of
// the budget.
// Returns: notes.
std::vector<base::Fact> confirm_one_stage(const Problem& problem, std::size_t most_strategies, OperatorCatalog& catalog, Budget& budget,
                                          Confirmation& confirmation);

}  // namespace search
