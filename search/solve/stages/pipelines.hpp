#pragma once
// Pipelines over a whole graph: stages are cut where every path goes through one operator, or at the ends of blocks, each has a block of
// devices of its own, and inside it every operator runs wherever and however it runs best. Stages and what is inside them are chosen
// together, as Unity's Pipeline and Batch operators would (Unger et al., OSDI'22, section 4.1: they are applied to the whole PCG).
// Start here:
//   pipelines.hpp      pipeline_plans(): the cheapest plan of each StageShape in a PipelineSetting; candidate_settings()
//   stage_parts.hpp    stage_parts(): the graph as a chain of parts, or of layers by Alpa's clustering
//   stage_mapping.hpp  StageMapping: costs of runs of parts on blocks of devices
//   stage_cuts.hpp     cheapest_stages(): runs and blocks by dynamic programming
//   stage_memory.hpp   StageMemory: strategies within the memory, where the cheapest do not fit

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "search/problem/budget.hpp"
#include "search/solve/mapping/mapping.hpp"
#include "search/solve/stages/stage_cuts.hpp"
#include "search/solve/stages/stage_parts.hpp"

namespace search {

// How an iteration is run, but for where operators run.
struct PipelineSetting {
  int micro_batches = 1;
  pcg::ScheduleKind schedule = pcg::ScheduleKind::one_f_one_b;  // or two_bw
  pcg::Recompute recompute = pcg::Recompute::none;
  int zero = 0;
  pcg::MemoryPolicy memory;
  pcg::Overlap overlap;
  double to_beat = std::numeric_limits<double>::infinity();  // seconds of an iteration: what could not be quicker is not searched
};

struct SettingsConfig {
  int micro_batches = 0;        // 0: 1 and those of candidate_micro_batches()
  bool recompute = true;        // layers may be computed again
  bool update_sharding = true;  // gradients and optimizer state may be shared out among replicas (ZeRO 2)
  std::optional<int> zero{};    // this stage of ZeRO alone, with whole gradients over the micro-batches or without
};
// Settings with some hundreds of micro-batches first: they are likely to be good, and others then prove worse without much work.
[[nodiscard]] std::vector<PipelineSetting> candidate_settings(std::int64_t global_batch, const SettingsConfig& config);

// Blocks of devices that a stage may have. all: of every size that cuts machines, or all of them, into equal parts. powers_of_two: of those
// inside a machine only these and whole machines (Alpa, section 5.2).
enum class Submeshes { all, powers_of_two };

// Returns: sizes of the blocks that one of at most N stages may have, ascending: more than half of what N equal ones would have.
[[nodiscard]] std::vector<int> stage_sizes(const topology::Cluster& cluster, Submeshes submeshes, std::size_t most_stages);

struct PipelineConfig {
  std::size_t most_strategies = 24;  // as unity's (search/planners/unity/unity.hpp)
  int most_cut = 2;
  PartsConfig parts;
  Submeshes submeshes = Submeshes::all;
  bool side_by_side = true;
  bool remember = true;
  Cuts cuts;
  bool counts_transfers = true;  // search/solve/stages/stage_mapping.hpp
  // Where memory binds, strategies are chosen within it (search/solve/stages/stage_memory.hpp); only where nothing runs side by side.
  bool within_memory = false;
};

// The pipelines that are searched.
struct StageShape {
  std::size_t fewest_stages = 1, most_stages = std::numeric_limits<std::size_t>::max();
  int largest_block = std::numeric_limits<int>::max();  // devices of a stage
  GivenStages given{};                                  // as many as fewest_stages and most_stages, where it is not empty
};

// Returns: the divisors of the batch that are nearest to the powers of two from 2 to 1024; ascending.
[[nodiscard]] std::vector<int> candidate_micro_batches(std::int64_t global_batch);

// Seconds of an iteration of stages that are equally long and never wait, if every operator runs in its quickest plain strategy and nothing
// moves. Of more micro-batches it is no less, as smaller kernels are less efficient.
[[nodiscard]] double least_seconds(const Problem& problem, const pcg::Graph& graph, const PipelineSetting& setting,
                                   OperatorCatalog& catalog);

// Returns: a bound of an iteration on stages of this size, from the same rates: the micro-batches pass through all stages, which the
// pipeline fills first, and the busiest stage runs all of them and its update; the updates of other stages overlap with it.
[[nodiscard]] double least_of_stages(int size, const pcg::Graph& graph, const PipelineSetting& setting, OperatorCatalog& catalog);

struct PipelinePlan {
  pcg::Plan plan;                         // without name
  std::optional<base::Seconds> expected;  // of an iteration, by the costs that were added up; unless memory counted in them
  // Where memory binds and strategies were chosen within it: whether no other strategies of these stages are cheaper that fit, by the
  // search's count, and how much more the iteration costs, as a share, than the cheapest stages of its shape would without a limit.
  struct WithinMemory {
    bool is_proved = false;
    double above_unlimited = 0;
  };
  std::optional<WithinMemory> within_memory{};
};

// Returns: the cheapest plan of each shape that fits: of micro-batches of `graph`, which is one of them. One stage is among them: then
// gradients are accumulated. Where ends of blocks give other parts than bottlenecks, several stages are made of those, and one stage is an
// answer of its own; bringing a part what is not from the part before it is then not in the costs. Memory is the simulator's: where the
// cheapest stages do not fit, their strategies are chosen within it, if asked for; else, or where that costs much more, stages that do not
// fit are ruled out, with all that keep no less, and, where that leaves nothing, bytes cost more. Where nothing of a shape fits, the plan
// that came closest; none: there are no such stages, or the time was up before there was one.
// Cost: that of StageMapping and of cheapest_stages(), up to some tens of times.
[[nodiscard]] std::vector<PipelinePlan> pipeline_plans(const Problem& problem, const pcg::Graph& graph, const PipelineSetting& setting,
                                                       std::span<const StageShape> shapes, const PipelineConfig& config,
                                                       OperatorCatalog& catalog, BranchShapes& branch_shapes, const Budget& budget);

}  // namespace search
