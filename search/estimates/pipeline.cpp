#include "search/estimates/pipeline.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/check.hpp"
#include "sim/schedules/schedule.hpp"

namespace search {
namespace {

// A block that starts at 0, with everything that it waits for at hand.
struct Run {
  double computed = 0, drained = 0;  // its kernels have ended; its collectives too
  double launched = 0;               // host seconds
  std::vector<Signal> signals;
};

struct StageBlock {
  Run ahead, in_step;  // by what the hosts do; the same signals in the same order
  std::vector<sim::EventId> waits_on;
  bool host_waits = false, host_drains = false;
};

// One pipeline rank.
struct Rank {
  double computed = 0, drained = 0, host = 0;
};

class Pipeline {
 public:
  Pipeline(const sim::Program& program, const ItemCosts& costs, const pcg::Plan& plan)
      : program_(program),
        costs_(costs),
        plan_(plan),
        ranks_(static_cast<std::size_t>(plan.stages / plan.chunks)),
        times_(program.events.size() * static_cast<std::size_t>(plan.micro_batches), kUnknown) {
    alone_.of_set.assign(program.device_sets.size(), 0);
    alone_.of_movement.assign(program.movements.size(), {0});
    for (const sim::Block& b : program.forward) forward_.push_back(look_at(b));
    for (const sim::MicroBatchPosition p :
         {sim::MicroBatchPosition::only, sim::MicroBatchPosition::first, sim::MicroBatchPosition::middle, sim::MicroBatchPosition::last})
      for (const sim::Block& b : program.backward[p]) backward_[p].push_back(look_at(b));
  }

  double run() {
    run_passes();
    return run_update();
  }

 private:
  static constexpr double kUnknown = -1;

  Run run_alone(const sim::Block& block, Hosts hosts) const {
    Lane lane;
    std::vector<Signal> signals = replay(
        block, program_, costs_, alone_, hosts, [](sim::EventId) { return 0.0; }, std::span(&lane, 1));
    return {lane.computed(), lane.drained(), lane.host(), std::move(signals)};
  }

  StageBlock look_at(const sim::Block& block) const {
    StageBlock b{run_alone(block, Hosts::ahead), run_alone(block, Hosts::in_step), {}};
    std::set<sim::EventId> waits_on;
    for (const sim::Item& item : block.items) {
      waits_on.insert(item.waits_on.begin(), item.waits_on.end());
      const auto* kernels = std::get_if<sim::Compute>(&item.work);
      b.host_waits = b.host_waits || (kernels != nullptr && kernels->host_waits);
      b.host_drains = b.host_drains || (kernels != nullptr && kernels->host_drains);
    }
    b.waits_on.assign(waits_on.begin(), waits_on.end());
    return b;
  }

  double& time_of(sim::EventId event, int micro_batch) {
    return times_[event.value * static_cast<std::size_t>(plan_.micro_batches) + static_cast<std::size_t>(micro_batch)];
  }

  // The latest of what the block waits for; nullopt: something is not known yet.
  std::optional<double> arrival(const StageBlock& block, int micro_batch) {
    double latest = 0;
    for (const sim::EventId e : block.waits_on) {
      const double t = time_of(e, micro_batch);
      if (t == kUnknown) return std::nullopt;
      latest = std::max(latest, t);
    }
    return latest;
  }

  // The device is ready for the block at `start`, its host at `host`: what is later of the two decides.
  void run(const StageBlock& block, Rank& rank, int micro_batch, double arrived) {
    double start = std::max(rank.computed, arrived);
    // Collectives that the block before left behind run beside the first kernels of this one.
    start += std::max(0.0, rank.drained - start) * (1 - 1 / costs_.overlap_slowdown());
    const double host = std::max({rank.host, block.host_waits ? arrived : 0, block.host_drains ? rank.computed : 0});
    const auto at = [&](double ahead, double in_step) { return std::max(start + ahead, host + in_step); };
    for (std::size_t i = 0; i < block.ahead.signals.size(); ++i)
      time_of(block.ahead.signals[i].event, micro_batch) = at(block.ahead.signals[i].time, block.in_step.signals[i].time);
    rank.computed = at(block.ahead.computed, block.in_step.computed);
    rank.drained = std::max(rank.drained, at(block.ahead.drained, block.in_step.drained));
    rank.host = host + block.in_step.launched;
  }

  // Each rank goes through its slots as far as it can, until all are through.
  void run_passes();
  double run_update();
  std::map<base::DeviceId, std::size_t> rank_of_devices() const;
  LaneMap ranks_of_items() const;

  const sim::Program& program_;
  const ItemCosts& costs_;
  const pcg::Plan& plan_;
  LaneMap alone_;  // everything on lane 0
  std::vector<StageBlock> forward_;
  sim::ByPosition<std::vector<StageBlock>> backward_;
  std::vector<Rank> ranks_;
  std::vector<double> times_;  // [event][micro-batch]
};

void Pipeline::run_passes() {
  const int pipeline = static_cast<int>(ranks_.size());
  std::vector<std::vector<sim::Slot>> slots;
  for (int r = 0; r < pipeline; ++r) slots.push_back(sim::schedule(plan_.schedule, pipeline, r, plan_.chunks, plan_.micro_batches));
  std::vector<std::size_t> next(ranks_.size(), 0);
  for (bool all = false; !all;) {
    all = true;
    bool moved = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (; next[r] < slots[r].size(); ++next[r], moved = true) {
        const sim::Slot& slot = slots[r][next[r]];
        const auto stage = static_cast<std::size_t>(slot.chunk * pipeline) + r;
        const auto& blocks =
            slot.pass == sim::Pass::forward ? forward_ : backward_[sim::position_of(slot.micro_batch, plan_.micro_batches)];
        const std::optional<double> arrived = arrival(blocks[stage], slot.micro_batch);
        if (!arrived) break;
        run(blocks[stage], ranks_[r], slot.micro_batch, *arrived);
      }
      all = all && next[r] == slots[r].size();
    }
    BASE_CHECK(all || moved, "the stages of plan {} wait for each other", plan_.name);
  }
}

// A device belongs to the rank of the first stage that runs kernels on it.
std::map<base::DeviceId, std::size_t> Pipeline::rank_of_devices() const {
  std::map<base::DeviceId, std::size_t> rank;
  std::vector<bool> seen(program_.device_sets.size(), false);
  for (std::size_t s = 0; s < program_.forward.size(); ++s)
    for (const sim::Item& item : program_.forward[s].items) {
      const auto* kernels = std::get_if<sim::Compute>(&item.work);
      if (kernels == nullptr || seen[kernels->devices.value]) continue;
      seen[kernels->devices.value] = true;
      for (const base::DeviceId d : program_.device_sets[kernels->devices.value]) rank.try_emplace(d, s % ranks_.size());
    }
  return rank;
}

// Of the items of the update.
LaneMap Pipeline::ranks_of_items() const {
  const std::map<base::DeviceId, std::size_t> rank = rank_of_devices();
  LaneMap map;
  for (const std::vector<base::DeviceId>& set : program_.device_sets) map.of_set.push_back(rank.at(set.front()));
  map.of_movement.resize(program_.movements.size());
  for (const sim::Item& item : program_.update.items) {
    const auto* move = std::get_if<sim::Move>(&item.work);
    if (move == nullptr) continue;
    std::set<std::size_t> ranks;
    for (const sim::Round& round : program_.movements[move->movement.value].rounds)
      for (const sim::Transfer& t : round)
        for (const base::DeviceId d : t.group) ranks.insert(rank.at(d));
    map.of_movement[move->movement.value].assign(ranks.begin(), ranks.end());
  }
  return map;
}

double Pipeline::run_update() {
  std::vector<Lane> lanes;
  for (const Rank& r : ranks_) lanes.emplace_back(r.computed, r.drained, r.host);
  const auto arrival = [&](sim::EventId e) { return time_of(e, plan_.micro_batches - 1); };
  replay(program_.update, program_, costs_, ranks_of_items(), Hosts::in_step, arrival, lanes);
  double end = 0;
  for (const Lane& l : lanes) end = std::max(end, l.drained());
  return end;
}

}  // namespace

double iteration_s(const sim::Program& program, const ItemCosts& costs, const pcg::Plan& plan) {
  return Pipeline(program, costs, plan).run();
}

}  // namespace search
