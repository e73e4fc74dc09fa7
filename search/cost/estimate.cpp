#include "search/cost/estimate.hpp"

#include <algorithm>
#include <array>

#include "sim/effort.hpp"

namespace search {

Estimator::Estimator(const pcg::Plan& plan, const sim::Oracle& oracle) : plan_(plan), oracle_(oracle) {
  oracle.spend(sim::kFollowData.of(plan));
}

void Estimator::lower(const sim::Variant& variant) {
  if (lowered_ == variant) return;
  lowered_ = variant;
  oracle_.spend(sim::kEstimatePlan.of(plan_));
  const sim::Program& program = lowerer_.lower(variant);
  for (std::size_t m = movement_s_.size(); m < program.movements.size(); ++m) {
    std::vector<double>& rounds = movement_s_.emplace_back();
    for (const sim::Round& r : program.movements[m].rounds) rounds.push_back(oracle_.round(r).at().time.value());
  }
  for (auto type = static_cast<std::uint32_t>(pipelines_.size()); type < program.device_types.size(); ++type)
    pipelines_.emplace_back(program, oracle_.cluster(), movement_s_, plan_, type);
}

base::Seconds Estimator::time(const sim::Variant& variant) {
  lower(variant);
  // Devices of several types run side by side and meet at collectives: the type that needs longest in all sets the pace. Adding up the
  // slowest of every item instead would make a device slower than any that is there, where each type is the better one for some kernels.
  double longest = 0;
  for (Pipeline& p : pipelines_) longest = std::max(longest, p.iteration_s());
  return base::Seconds(longest);
}

PassSeconds Estimator::pass(const sim::Variant& variant) {
  lower(variant);
  const sim::MicroBatchPosition first = sim::position_of(0, plan_.micro_batches),
                                later = plan_.micro_batches < 3 ? first : sim::MicroBatchPosition::middle;
  // Kernels that the first one leaves running meet the second, and its host is ahead or late: later ones are like the third and fourth.
  const std::array positions{first, later, later, later};
  PassSeconds longest;
  for (Pipeline& p : pipelines_) {
    const double three = p.passes_s(std::span(positions).first(3)), one_more = p.passes_s(positions) - three;
    longest.first = std::max(longest.first, base::Seconds(three - 2 * one_more));
    longest.later = std::max(longest.later, base::Seconds(one_more));
  }
  return longest;
}

void Estimator::use_units(const sim::Variant& variant, std::span<const int> unit_of_block, std::size_t units) {
  lower(variant);
  const double of_pass = plan_.cuda_graphs ? 0 : oracle_.framework(plan_.training).host.micro_batch.value();
  for (Pipeline& p : pipelines_) p.use_units(unit_of_block, units, of_pass);
}

base::Seconds Estimator::time_of_stages(std::span<const std::size_t> ends) {
  oracle_.spend(sim::kPipelineSlot * (2.0 * plan_.stages * plan_.micro_batches));
  double longest = 0;
  for (Pipeline& p : pipelines_) longest = std::max(longest, p.iteration_s(ends));
  return base::Seconds(longest);
}

double Estimator::unit_s(std::size_t unit, std::size_t stage) const {
  double longest = 0;
  for (const Pipeline& p : pipelines_) {
    double seconds = 0;
    for (const sim::Pass pass : kUnitPasses) {
      // A schedule that splits some backward passes has whole ones, too.
      const bool once = !sim::has_whole_backward(plan_.schedule) || pass == sim::Pass::forward || pass == sim::Pass::backward;
      if (once) seconds += p.units().of(pass, stage, unit, unit + 1).longer;
    }
    longest = std::max(longest, seconds);
  }
  return longest;
}

base::Seconds estimate(const pcg::Plan& plan, const sim::Oracle& oracle) { return Estimator(plan, oracle).time(sim::variant_of(plan)); }

}  // namespace search
