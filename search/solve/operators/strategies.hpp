#pragma once
// The strategies of one operator on a block of devices: how it is cut, and which device has which point. The space of FlexFlow (Jia et al.,
// MLSys'19, section 4: samples, operators, attributes, parameters) with Unity's n-dimensional machine views (OSDI'22, Figure 7).
// Start here:
//   strategies.hpp        Strategy, DeviceBlock; strategies_of(): all of an operator; plan_of_strategies(): from choices to a plan
//   operator_catalog.hpp  OperatorCatalog: kinds of operators, what each strategy costs, and movements between two
//   shortlists.hpp        Shortlists: the few strategies that a search compares, and tables of movements between them
//   elimination.hpp       cheapest(): one choice for every operator of a problem with pairwise costs, exactly
//   operator_space.hpp    OperatorSpace: all of this for one graph on all devices

#include <span>
#include <string>
#include <vector>

#include "pcg/plan/mapping.hpp"
#include "pcg/plan/plan.hpp"
#include "pcg/sharding/sharding.hpp"
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
// is always among them. `inputs` and `outputs` are whole shapes.
// Cost: O(strategies); for d devices there are as many shardings of two loops as ordered factorisations of d into three.
[[nodiscard]] std::vector<Strategy> strategies_of(const pcg::IterationSpace& space, std::span<const pcg::TensorShape> inputs,
                                                  std::span<const pcg::TensorShape> outputs, DeviceBlock block, int most_cut);
// The same on the first devices of the block, `at_most` and a divisor of its size, each with work of its own: the others idle, and
// have no copies of weights to keep up.
[[nodiscard]] std::vector<Strategy> strategies_of_few(const pcg::IterationSpace& space, std::span<const pcg::TensorShape> inputs,
                                                      std::span<const pcg::TensorShape> outputs, DeviceBlock block, int most_cut,
                                                      int at_most);

// From a strategy per operator to a plan.

// Returns: the plan of one stage, without name and summary, in which every operator of `graph`, a micro-batch that is the whole batch, runs
// as `choice` says, by node; null for sources. Any device of the cluster may run any of them.
[[nodiscard]] pcg::Plan plan_of_strategies(const Problem& problem, const pcg::Graph& graph, const std::vector<const Strategy*>& choice);

// How the operators of a plan are cut, in a few words for people.

// "b 4 x n 2", "copies 8", "sums 2 of input 0", "whole": the loops that are cut, by name; copies of the same work; partial sums that pass.
[[nodiscard]] std::string cut_text(const pcg::IterationSpace& space, const pcg::Sharding& sharding);
// The commonest cuts first: "23 operators b 8, 4 operators b 2 x n 4".
[[nodiscard]] std::string summary_of_cuts(const pcg::Plan& plan);

}  // namespace search
