#pragma once
// The time of a plan without simulating it: the program that the simulator would run, with every item at the time that it takes alone.
// Good for ranking. Devices of one type go in lockstep, and the slowest type sets the pace; items that run at the same time do not share
// links, but for the transfers of one round; a stage waits for all that comes from other stages before it starts a micro-batch.
// Start here:
//   estimate.hpp  Estimator: variants of one plan; estimate(): one plan. All that other folders need
//   pipeline.hpp  Pipeline: blocks of a program in the order of the schedule, each as a whole (StageBlock)
//   margins.hpp   how far estimates and sums may be from simulations
//   replay.hpp    replay(): the items of a block on the streams of a rank (RankStreams), at their costs (ItemCosts)

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "search/cost/pipeline.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/oracle.hpp"

namespace search {

// Seconds of one micro-batch's forward and backward pass. Later ones add their gradients to those before.
struct PassSeconds {
  base::Seconds first;  // so much longer than `later` as an iteration gets by it
  base::Seconds later;  // neither the first nor the last, after others like it; where there is none, after others like the first
};

// Estimates the variants of a plan. Not for several threads at once.
class Estimator {
 public:
  // Plan and oracle outlive the object.
  // Requires: pcg::violations(plan) is empty.
  // Throws: base::InputError when a device does not support the precision.
  // Cost: O(nodes x points).
  Estimator(const pcg::Plan& plan, const sim::Oracle& oracle);
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // Returns: the iteration time, as the plan's framework runs it.
  // Cost: O(stages x micro-batches + items of the updates), and O(nodes) for what no variant before had; the oracle and this object
  // remember what movements, kernels and blocks take.
  [[nodiscard]] base::Seconds time(const sim::Variant& variant);

  // Returns: the seconds of one micro-batch's forward and backward pass through all stages, one after another, of the slowest type of
  // device.
  // Cost: that of time() less the schedule.
  [[nodiscard]] PassSeconds pass(const sim::Variant& variant);

  // Prepares for plans that differ from this one in which units their stages take. A unit is what a stage takes or leaves as a whole.
  // `unit_of_block`: by block of the plan's graph, ascending; there are `units`, of which some may have no blocks.
  // Cost: that of time(), and O(items of one micro-batch + kinds of stages x units).
  void use_units(const sim::Variant& variant, std::span<const int> unit_of_block, std::size_t units);
  // Returns: about the iteration time of a plan whose virtual stages end before these units; exact for this plan's own.
  // Requires: use_units().
  // Cost: O(stages x micro-batches + items of the updates).
  [[nodiscard]] base::Seconds time_of_stages(std::span<const std::size_t> ends);
  // Returns: about the seconds that the unit adds to the passes of one micro-batch on the devices of a virtual stage.
  // Requires: use_units().
  [[nodiscard]] double unit_s(std::size_t unit, std::size_t stage) const;

 private:
  // Makes pipelines_ those of the variant. Cost: nothing if they are already.
  void lower(const sim::Variant& variant);

  const pcg::Plan& plan_;
  const sim::Oracle& oracle_;
  sim::Dataflow data_ = sim::dataflow_of(plan_);
  sim::Lowerer lowerer_{plan_, data_, oracle_.cluster(), oracle_.framework(plan_.training)};
  std::optional<sim::Variant> lowered_;
  std::vector<std::vector<double>> movement_s_;  // per movement that the lowerer has numbered, and round
  std::vector<Pipeline> pipelines_;              // per device type in use
};

// The estimate of one plan alone.
[[nodiscard]] base::Seconds estimate(const pcg::Plan& plan, const sim::Oracle& oracle);

}  // namespace search
