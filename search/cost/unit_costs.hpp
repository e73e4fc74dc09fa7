#pragma once
// What the units of a model cost in the passes of a pipeline's stages, so that the times of other stages are known without lowering a plan
// that has them. A unit is what a stage takes or leaves as a whole: a layer, what comes before the first one, what comes after the last
// one. Private to this folder.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "search/cost/replay.hpp"
#include "sim/schedules/schedule.hpp"

namespace search {

// Those of a micro-batch: units cost something in each.
inline constexpr sim::Pass kUnitPasses[] = {sim::Pass::forward, sim::Pass::backward, sim::Pass::inputs, sim::Pass::weights};

// Seconds that units add to a pass of their stage.
struct UnitSeconds {
  double device = 0;  // kernels, and their share of what the kernels of the pass wait for collectives
  double host = 0;    // to launch all that
  double longer = 0;  // the sum of what is longer of the two for each unit: the pass of a host that starts with its device
  UnitSeconds& operator+=(const UnitSeconds& o) {
    device += o.device;
    host += o.host;
    longer += o.longer;
    return *this;
  }
  UnitSeconds& operator-=(const UnitSeconds& o) { return *this += {-o.device, -o.host, -o.longer}; }
};

class UnitCosts {
 public:
  // `unit_of_block`: by block of the plan's graph, ascending; there are `units`, of which some may have no blocks. `pass_host_s`: host
  // seconds of a pass besides launching. `computed`: when the kernels of a block end that waits for nothing and whose hosts are ahead.
  // Cost: O(items of the blocks of one micro-batch + kinds of stages x units).
  UnitCosts(const sim::Program& program, const pcg::Plan& plan, const ItemCosts& costs, std::span<const int> unit_of_block,
            std::size_t units, double pass_host_s, const std::function<double(sim::BlockId)>& computed);

  // Returns: what the units from `first` up to `end` add to a pass of virtual stage `stage`, on its devices; zero for passes that the
  // schedule does not have.
  // Requires: the pass is not the update.
  [[nodiscard]] UnitSeconds of(sim::Pass pass, std::size_t stage, std::size_t first, std::size_t end) const;
  // The unit that each virtual stage of the plan ends before.
  [[nodiscard]] std::span<const std::size_t> ends() const { return ends_; }

 private:
  std::vector<std::size_t> ends_, kind_of_stage_;  // stages of one kind have devices of the same types
  // [kind of stage][unit]: of all units before it.
  std::vector<base::ByEnum<sim::Pass, sim::Pass::weights, std::vector<UnitSeconds>>> until_;
};

}  // namespace search
