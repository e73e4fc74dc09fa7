#pragma once
// A block of a program as one step of its pipeline rank: when its events are signalled and its streams become free, if it starts at 0 and
// waits for nothing. Private to this folder.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/cost/replay.hpp"
#include "sim/schedules/schedule.hpp"

namespace search {

// What the units of a model cost in the passes of a pipeline's stages, so that the times of other stages are known without lowering a plan
// that has them. A unit is what a stage takes or leaves as a whole: a layer, what comes before the first one, what comes after the last
// one.

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

// A block by itself.
struct Run {
  double computed = 0, drained = 0;            // its kernels have ended; its collectives too
  double synchronised = 0, synchronising = 0;  // collectives of gradients and weights have ended; their seconds
  double launched = 0;                         // host seconds
  std::vector<Signal> signals;
};

struct StageBlock {
  Run ahead, in_step;  // by what the hosts do; the same signals in the same order
  std::vector<sim::EventId> waits_on;
  bool host_waits = false, host_drains = false;
  bool gathers = false;  // kernels wait for collectives of weights
};

// The iteration time of the program of a plan's variant: each block as a whole, in the order of the plan's schedule.
class Pipeline {
 public:
  // As devices of type `pace` see it (ItemCosts). The program is of a variant of the plan; it, the cluster, the times of movements and
  // the plan outlive the object.
  // Cost: O(devices + stages x micro-batches + members of movements).
  Pipeline(const sim::Program& program, const topology::Cluster& cluster, const std::vector<std::vector<double>>& movement_s,
           const pcg::Plan& plan, std::uint32_t pace);

  // Returns: the iteration time of the variant that the program is now.
  // Cost: O(stages x micro-batches x events between stages + items of the updates), and O(items) for blocks that no variant before had.
  [[nodiscard]] double iteration_s();

  // Prepares for iterations of the variant that the program is now, whose stages take other units (UnitCosts).
  void use_units(std::span<const int> unit_of_block, std::size_t units, double pass_host_s);
  // Returns: the iteration time if each virtual stage ends before these units. Updates and what replicas exchange stay as they are.
  // Cost: that of iteration_s() for a variant that was met before.
  // Requires: use_units().
  [[nodiscard]] double iteration_s(std::span<const std::size_t> ends);
  [[nodiscard]] const UnitCosts& units() const { return *units_; }

  // Returns: the seconds of the passes of micro-batches of these positions through all stages, one after another on one rank that was idle
  // before; in one stage that merges passes, each forward pass but the first with the backward pass before it.
  // Requires: the plan has micro-batches of these positions.
  // Cost: O(stages x positions), and O(items) for blocks that no variant before had.
  [[nodiscard]] double passes_s(std::span<const sim::MicroBatchPosition> positions);

 private:
  struct Rank {
    double computed = 0, drained = 0, host = 0;
    double synchronised = 0;  // collectives of gradients and weights so far
  };

  void extend();
  // The micro-batches of the passes that a block is of: one, or two that are merged.
  struct MicroBatches {
    int forward = 0, backward = 0;
  };
  const StageBlock& stage_block_of(sim::BlockId id);
  const StageBlock& merged_block_of(sim::BlockId forward, sim::BlockId backward);
  double& time_of(sim::EventId event, MicroBatches at) {
    const int micro_batch = program_.events[event.value].pass == sim::Pass::forward ? at.forward : at.backward;
    return times_[event.value * static_cast<std::size_t>(micro_batches_) + static_cast<std::size_t>(micro_batch)];
  }
  [[nodiscard]] int stage_of(const sim::Slot& slot, std::size_t rank) const {
    return pcg::stage_of(plan_.schedule, static_cast<int>(slots_.size()), static_cast<int>(rank), slot.chunk);
  }
  [[nodiscard]] sim::BlockId block_of(const sim::Slot& slot, std::size_t rank) const;
  [[nodiscard]] UnitSeconds added_to(const sim::Slot& slot, std::size_t rank) const;
  // The latest of what the block waits for; nullopt: something is not known yet.
  std::optional<double> arrival(const StageBlock& block, MicroBatches at);
  // `added`: by other units of the stage.
  void run(const StageBlock& block, Rank& rank, MicroBatches at, double arrived, const UnitSeconds& added = {});
  // The next slot of a rank, and the one that is merged with it.
  // Returns: how many; 0: something is not known yet.
  std::size_t run_slot(std::size_t rank, std::size_t next);
  // A forward pass that gathers updated weights does so from the beginning of the iteration on, however late its kernels start: it is
  // replayed item by item at its place.
  void run_first(sim::BlockId id, Rank& rank, const UnitSeconds& added);
  // Each rank goes through its slots as far as it can, until all are through.
  void run_passes();
  double run_update();

  const sim::Program& program_;
  const pcg::Plan& plan_;
  int micro_batches_ = plan_.micro_batches * (sim::runs_on(plan_.schedule) ? 3 : 1);  // those of three iterations where it runs on
  std::vector<double> ends_;  // per iteration: when the first rank was through with it
  ItemCosts costs_;
  RankMap rank_map_;
  std::vector<std::vector<sim::Slot>> slots_;      // per rank, in order
  std::vector<std::optional<StageBlock>> blocks_;  // by BlockId: those met so far
  std::map<std::pair<sim::BlockId, sim::BlockId>, StageBlock> merged_;
  std::vector<Rank> ranks_;
  std::optional<UnitCosts> units_;
  base::ByEnum<sim::Pass, sim::Pass::weights, std::vector<UnitSeconds>> added_;  // per virtual stage; empty: stages are the plan's
  std::vector<double> times_;                                                    // [event][micro-batch]
};

}  // namespace search
