#pragma once
// Plans on a grid of devices, made by rule: the machinery of data parallelism, Megatron-LM's grid and sharded data parallelism. Start here:
//   grid.hpp             GridConfig: a grid as a user writes it; Grid: all filled in, by make_grid()
//   grid_plan.hpp        GridPlanner: from a GridConfig to a plan
//   layout.hpp           layouts(): the axes of the mesh that each operator's loops walk; tensor_loops(): Megatron-LM's rules
//   stages.hpp           layers and virtual stages of blocks
//   balance.hpp          balanced_layers(): layers shared out by what an iteration takes
//   repeated_layers.hpp  repeated_layers(): a model with fewer layers, on which one more layer is measured
//   grid_options.hpp     options that planners on a grid share

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "search/grid/balance.hpp"
#include "search/grid/grid.hpp"
#include "search/problem/problem.hpp"
#include "search/problem/refusal.hpp"

namespace search {

// Plans of one problem on many grids. What grids have in common is derived once: the graph for a number of samples, and its PCG where the
// grid before had the same shardings (as most grids have that differ in chunks alone).
class GridPlanner {
 public:
  // The objects of the problem outlive this one.
  explicit GridPlanner(const Problem& problem) : GridPlanner(problem, problem.cluster.device_count()) {}
  // On the first `devices` of the cluster alone.
  // Requires: 1 <= devices <= those of the cluster.
  GridPlanner(const Problem& problem, int devices) : problem_(problem), devices_(devices) {}

  // The plan of a grid. Replicas, stages and ranks are placed as Megatron-LM does: tensor innermost, then context, then data, pipeline
  // outermost.
  // Refuses when the numbers do not fit the model, the batch or the cluster.
  // Cost: O(nodes x (points + loops)).
  [[nodiscard]] Attempt<pcg::Plan> plan(const GridConfig& config, std::string name, Balance balance = Balance::whole);

 private:
  struct Cut {
    const pcg::Graph* graph = nullptr;
    std::vector<pcg::Sharding> shardings;
    pcg::Pcg pcg;
  };
  const pcg::Graph& graph_of(const std::vector<pcg::Padding>& padding, std::int64_t samples);
  const pcg::Pcg& pcg_of(const pcg::Graph& graph, std::vector<pcg::Sharding> shardings);
  // How many layers each virtual stage takes. `plan` says all but where its nodes are.
  Attempt<std::vector<int>> layers_per_stage(const GridConfig& config, const Grid& grid, const pcg::Graph& graph, const pcg::Plan& plan,
                                             Balance balance);
  // `rest`: the plan but for its graph, and where the nodes are.
  Attempt<pcg::Plan> with_layers(const pcg::Plan& rest, std::span<const int> layers_per_stage, const GridConfig& config, const Grid& grid,
                                 const pcg::Graph& graph);

  Problem problem_;
  int devices_;
  std::map<std::pair<std::vector<pcg::Padding>, std::int64_t>, pcg::Graph> graphs_;  // by what is padded, and samples
  std::optional<Cut> last_;
  std::optional<std::pair<GridConfig, std::vector<int>>> balanced_;  // the last that was balanced as a whole
};

// All kinds but selective for a model that keeps no scores, where it would be a second name for none.
[[nodiscard]] std::vector<pcg::Recompute> recomputations_of(const pcg::Graph& model);

// The plan of one grid alone.
[[nodiscard]] Attempt<pcg::Plan> grid_plan(const Problem& problem, const GridConfig& config, std::string name);

}  // namespace search
