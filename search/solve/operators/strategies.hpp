#pragma once
// The strategies of one operator on a block of devices: how it is cut, and which device has which point. The space of FlexFlow (Jia et al.,
// MLSys'19, section 4: samples, operators, attributes, parameters) with Unity's n-dimensional machine views (OSDI'22, Figure 7).
// Start here:
//   strategies.hpp        Strategy, DeviceBlock; strategies_of(): all of an operator; plan_of_strategies(): from choices to a plan
//   operator_catalog.hpp  OperatorCatalog: kinds of operators, what each strategy costs, and movements between two
//   shortlists.hpp        Shortlists: the few strategies that a search compares, and tables of movements between them
//   elimination.hpp       cheapest(): one choice for every operator of a problem with pairwise costs, exactly

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pcg/plan/mapping.hpp"
#include "pcg/plan/plan.hpp"
#include "pcg/sharding/sharding.hpp"
#include "search/grid/layout.hpp"
#include "search/problem/problem.hpp"

namespace search {

struct Strategy {
  pcg::Sharding sharding;
  pcg::MachineView view;
  bool operator==(const Strategy&) const = default;
};

// Devices with consecutive numbers.
struct DeviceBlock {
  int start = 0, size = 1;
  auto operator<=>(const DeviceBlock&) const = default;
};

// Returns: every lawful sharding that cuts at most `most_cut` loops and whose points, with copies for what its degrees leave, are the
// block; each with every order of its axes, the innermost one over neighbours. Partial sums do not pass. The one that copies all the work
// is always among them. `inputs` are whole shapes.
// Cost: O(strategies); for d devices there are as many shardings of two loops as ordered factorisations of d into three.
[[nodiscard]] std::vector<Strategy> strategies_of(const pcg::GraphNode& node, std::span<const pcg::TensorShape> inputs, DeviceBlock block,
                                                  int most_cut);
// The same strategy `devices` further on.
[[nodiscard]] Strategy shifted(Strategy strategy, int devices);

// Returns: the strategies of all nodes of a graph that is a micro-batch of all replicas, cut as on a grid (search/grid/layout.hpp); those
// of sources are empty. `block_stages`: as layouts() takes them; empty: all are in one stage. Refuses as make_grid() and layouts() do.
[[nodiscard]] Attempt<std::vector<Strategy>> strategies_on_grid(const pcg::Graph& graph, const GridConfig& config, int devices,
                                                                std::int64_t global_batch, std::vector<int> block_stages = {});

// Returns: the plan of one stage, without name and summary, in which every operator of `graph`, a micro-batch that is the whole batch, runs
// as `strategies` say, by node; those of sources are not read. Any device of the cluster may run any of them.
[[nodiscard]] pcg::Plan plan_of_strategies(const Problem& problem, const pcg::Graph& graph, const std::vector<Strategy>& strategies);

// "b 4 x n 2", "copies 8", "sums 2 of input 0", "whole": the loops that are cut, by name; copies of the same work; partial sums that pass.
[[nodiscard]] std::string cut_text(const pcg::IterationSpace& space, const pcg::Sharding& sharding);
// The four commonest first, and how many others there are: "23 operators b 8, 4 operators b 2 x n 4, 3 other cuts". `count`: by what is
// done; of equally many the first comes first. `others`: one and many.
[[nodiscard]] std::string commonest_text(std::vector<std::pair<std::string, std::size_t>> count, std::string_view noun,
                                         std::pair<std::string_view, std::string_view> others);
// The commonest cuts first: "23 operators b 8, 4 operators b 2 x n 4".
[[nodiscard]] std::string summary_of_cuts(const pcg::Plan& plan);

}  // namespace search
