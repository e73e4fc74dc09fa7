#include "search/cost/pipeline.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"
#include "pcg/plan/plan.hpp"
#include "sim/program/program.hpp"

namespace search {
namespace {

// Sums over the items of a unit in a pass.
struct Work {
  std::vector<double> device, host;     // of kernels, per device type
  double moved = 0, move_launched = 0;  // of what moves between the devices of a stage: its seconds, and its hosts'
};

// The work of each unit in a pass, and the part of what moves that kernels wait for.
class PassWork {
 public:
  PassWork(const sim::Program& program, const ItemCosts& costs, std::size_t units)
      : program_(program), costs_(costs), units_(units, {std::vector<double>(types(), 0), std::vector<double>(types(), 0)}) {}

  [[nodiscard]] const Work& of(std::size_t unit) const { return units_[unit]; }
  // The part of the collectives' seconds that kernels wait for them, or are slower beside them.
  [[nodiscard]] double exposed() const { return moved_ > 0 ? std::max(0.0, waited_) / moved_ : 0; }

  // The items of a stage's block, whose kernels end at `computed`.
  void add(const sim::Block& block, const std::function<std::size_t(std::uint32_t)>& unit_of_node, double computed, double pass_host_s) {
    waited_ += computed;
    for (const sim::Item& item : block.items) {
      Work& unit = units_[unit_of_node(item.node)];
      if (const auto* kernels = std::get_if<sim::Compute>(&item.work)) {
        add_kernels(*kernels, unit, std::exchange(pass_host_s, 0));
      } else if (const auto* move = std::get_if<sim::Move>(&item.work)) {
        add_move(*move, unit);
      }
    }
  }

 private:
  [[nodiscard]] std::size_t types() const { return program_.device_types.size(); }

  // `pass_host_s` is part of the launch of the pass's first kernels, and of no unit.
  void add_kernels(const sim::Compute& kernels, Work& unit, double pass_host_s) {
    waited_ -= costs_.kernels_s(kernels);
    for (std::size_t t = 0; t < types(); ++t) {
      unit.host[t] -= pass_host_s * program_.device_types[t].host_slowdown;
      for (const sim::Part& p : kernels.parts) {
        unit.device[t] += program_.seconds[p.seconds + t];
        unit.host[t] += program_.host[p.seconds + t];
      }
    }
  }

  void add_move(const sim::Move& move, Work& unit) {
    const std::vector<double>& rounds = costs_.rounds_s(move);
    if (move.stream == sim::StreamKind::pipeline) {
      if (!program_.overlap_stage_boundary && !rounds.empty()) waited_ -= rounds.front();
      return;
    }
    const double seconds = std::accumulate(rounds.begin(), rounds.end(), 0.0);
    moved_ += seconds;
    unit.moved += seconds;
    unit.move_launched += costs_.launch_s(move);
  }

  const sim::Program& program_;
  const ItemCosts& costs_;
  std::vector<Work> units_;
  double moved_ = 0, waited_ = 0;
};

// On devices of which these are the types: the slowest of them.
UnitSeconds seconds_on(std::span<const std::uint32_t> types, const Work& work, double exposed) {
  UnitSeconds s;
  for (const std::uint32_t t : types) {
    s.device = std::max(s.device, work.device[t]);
    s.host = std::max(s.host, work.host[t]);
  }
  s.device += exposed * work.moved;
  s.host += work.move_launched;
  s.longer = std::max(s.device, s.host);
  return s;
}

Run run_alone(const sim::Block& block, const sim::Program& program, const ItemCosts& costs, Hosts hosts) {
  RankStreams streams;
  std::vector<Signal> signals = replay(
      block, program, costs, RankMap{}, hosts, [](sim::EventId) { return 0.0; }, std::span(&streams, 1));
  return {streams.computed(), streams.drained(), streams.synchronised(), streams.synchronising(), streams.host(), std::move(signals)};
}

StageBlock stage_block(const sim::Block& block, const sim::Program& program, const ItemCosts& costs) {
  // Two runs, since a start later than 0 moves the device's and the host's part by different times.
  StageBlock b{run_alone(block, program, costs, Hosts::ahead), run_alone(block, program, costs, Hosts::in_step), {}};
  for (const sim::Item& item : block.items) {
    b.waits_on.insert(b.waits_on.end(), item.waits_on.begin(), item.waits_on.end());
    const auto* kernels = std::get_if<sim::Compute>(&item.work);
    b.host_waits = b.host_waits || (kernels != nullptr && kernels->host_waits);
    b.host_drains = b.host_drains || (kernels != nullptr && kernels->host_drains);
    b.gathers =
        b.gathers || (kernels != nullptr && std::ranges::any_of(item.after, [&](std::uint32_t i) { return synchronises(block.items[i]); }));
  }
  std::ranges::sort(b.waits_on);
  b.waits_on.erase(std::unique(b.waits_on.begin(), b.waits_on.end()), b.waits_on.end());
  return b;
}

constexpr double kUnknown = -1;

}  // namespace

UnitCosts::UnitCosts(const sim::Program& program, const pcg::Plan& plan, const ItemCosts& costs, std::span<const int> unit_of_block,
                     std::size_t units, double pass_host_s, const std::function<double(sim::BlockId)>& computed)
    : ends_(static_cast<std::size_t>(plan.stages), 0) {
  const auto unit_of_node = [&](std::uint32_t n) {
    return static_cast<std::size_t>(unit_of_block[static_cast<std::size_t>(plan.pcg.nodes()[n].block)]);
  };
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n)
    if (plan.pcg.nodes()[n].computes()) base::nth(ends_, plan.stage[n]) = std::max(base::nth(ends_, plan.stage[n]), unit_of_node(n) + 1);
  ends_.back() = units;

  std::map<std::vector<std::uint32_t>, std::size_t> kinds;
  for (const sim::BlockId b : program.forward) {
    const auto& items = program.block(b).items;
    const auto first = std::ranges::find_if(items, [](const sim::Item& i) { return std::holds_alternative<sim::Compute>(i.work); });
    kind_of_stage_.push_back(kinds.try_emplace(costs.types_of(std::get<sim::Compute>(first->work).devices), kinds.size()).first->second);
  }

  until_.resize(kinds.size());
  const sim::MicroBatchPosition position = sim::position_of(std::min(1, plan.micro_batches - 1), plan.micro_batches);
  for (const sim::Pass pass : kUnitPasses) {
    PassWork work(program, costs, units);
    for (const sim::BlockId b : program.blocks_of(pass, position)) work.add(program.block(b), unit_of_node, computed(b), pass_host_s);
    for (const auto& [types, kind] : kinds) {
      std::vector<UnitSeconds>& until = until_[kind][pass];
      until.resize(1);
      for (std::size_t u = 0; u < units; ++u) {
        until.push_back(until.back());
        until.back() += seconds_on(types, work.of(u), work.exposed());
      }
    }
  }
}

UnitSeconds UnitCosts::of(sim::Pass pass, std::size_t stage, std::size_t first, std::size_t end) const {
  const std::vector<UnitSeconds>& until = until_[kind_of_stage_[stage]][pass];
  return UnitSeconds(until[end]) -= until[first];
}

Pipeline::Pipeline(const sim::Program& program, const topology::Cluster& cluster, const std::vector<std::vector<double>>& movement_s,
                   const pcg::Plan& plan, std::uint32_t pace)
    : program_(program), plan_(plan), costs_(program, cluster, movement_s, pace), rank_map_(program, plan) {
  const int ranks = pcg::ranks_of(plan);
  // The order of passes is the same for all variants.
  for (int r = 0; r < ranks; ++r) slots_.push_back(sim::slots_of(sim::schedule_of(plan, micro_batches_), r));
}

void Pipeline::extend() {
  costs_.extend();
  rank_map_.extend();
  blocks_.resize(program_.blocks.size());
}

double Pipeline::passes_s(std::span<const sim::MicroBatchPosition> positions) {
  extend();
  times_.assign(program_.events.size() * static_cast<std::size_t>(micro_batches_), 0);
  Rank rank;
  const auto pass = [&](std::span<const sim::BlockId> blocks) {
    for (const sim::BlockId id : blocks) run(stage_block_of(id), rank, {0, 0}, 0);
  };
  // The forward pass of a micro-batch is merged with the backward pass of the one before.
  const bool merges = pcg::merges_passes(plan_) && program_.forward.size() == 1;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::vector<sim::BlockId>& backward = program_.blocks_of(sim::Pass::backward, positions[i]);
    if (!merges || i == 0) pass(program_.forward);
    if (merges && i + 1 < positions.size()) run(merged_block_of(program_.forward[0], backward[0]), rank, {0, 0}, 0);
    else if (sim::has_whole_backward(plan_.schedule)) pass(backward);
    else
      for (const sim::Pass p : {sim::Pass::inputs, sim::Pass::weights}) pass(program_.blocks_of(p, positions[i]));
  }
  return rank.computed;
}

double Pipeline::iteration_s() {
  extend();
  ranks_.assign(slots_.size(), {});
  ends_.clear();
  times_.assign(program_.events.size() * static_cast<std::size_t>(micro_batches_), kUnknown);
  run_passes();
  if (!sim::runs_on(plan_.schedule)) return run_update();
  // From the end of the first iteration on a rank to the end of the second, which has forward passes of the third, and an update.
  const double computed = std::ranges::max(ranks_, {}, &Rank::computed).computed;
  return ends_.at(1) - ends_.at(0) + run_update() - computed;
}

void Pipeline::use_units(std::span<const int> unit_of_block, std::size_t units, double pass_host_s) {
  extend();
  units_.emplace(program_, plan_, costs_, unit_of_block, units, pass_host_s,
                 [&](sim::BlockId b) { return stage_block_of(b).ahead.computed; });
}

double Pipeline::iteration_s(std::span<const std::size_t> ends) {
  for (const sim::Pass pass : kUnitPasses) {
    added_[pass].clear();
    for (std::size_t s = 0; s < ends.size(); ++s) {
      UnitSeconds added = units_->of(pass, s, s == 0 ? 0 : ends[s - 1], ends[s]);
      added -= units_->of(pass, s, s == 0 ? 0 : units_->ends()[s - 1], units_->ends()[s]);
      added_[pass].push_back(added);
    }
  }
  const double seconds = iteration_s();
  added_ = {};
  return seconds;
}

const StageBlock& Pipeline::stage_block_of(sim::BlockId id) {
  std::optional<StageBlock>& known = blocks_[id.value];
  if (!known) known = stage_block(program_.block(id), program_, costs_);
  return *known;
}

const StageBlock& Pipeline::merged_block_of(sim::BlockId forward, sim::BlockId backward) {
  const auto [at, is_new] = merged_.try_emplace({forward, backward});
  if (is_new) at->second = stage_block(sim::merged(program_.block(forward), program_.block(backward)), program_, costs_);
  return at->second;
}

std::optional<double> Pipeline::arrival(const StageBlock& block, MicroBatches at) {
  double latest = 0;
  for (const sim::EventId e : block.waits_on) {
    const double t = time_of(e, at);
    if (t == kUnknown) return std::nullopt;
    latest = std::max(latest, t);
  }
  return latest;
}

// The device is ready for the block at `start`, its host at `host`: what is later of the two decides.
void Pipeline::run(const StageBlock& block, Rank& rank, MicroBatches at, double arrived, const UnitSeconds& added) {
  double start = std::max(rank.computed, arrived);
  // Collectives that the block before left running overlap with the first kernels of this one.
  start += std::max(0.0, rank.drained - start) * (1 - 1 / costs_.overlap_slowdown());
  const double host = std::max({rank.host, block.host_waits ? arrived : 0, block.host_drains ? rank.computed : 0});
  const auto later = [&](double ahead, double in_step) { return std::max(start + ahead + added.device, host + in_step + added.longer); };
  // Gradients and weights queue after those of the blocks before.
  double late = 0;
  if (block.ahead.synchronising > 0) {
    const double alone = later(block.ahead.synchronised, block.in_step.synchronised);
    late = std::max(0.0, rank.synchronised + block.ahead.synchronising - alone);
    rank.synchronised = alone + late;
  }
  for (std::size_t i = 0; i < block.ahead.signals.size(); ++i) {
    const Signal& signal = block.ahead.signals[i];
    time_of(signal.event, at) = later(signal.time, block.in_step.signals[i].time) + (signal.synchronises ? late : 0);
  }
  rank.computed = later(block.ahead.computed, block.in_step.computed) + (block.gathers ? late : 0);
  rank.drained = std::max({rank.drained, later(block.ahead.drained, block.in_step.drained), rank.synchronised});
  rank.host = host + block.in_step.launched + added.host;
}

void Pipeline::run_first(sim::BlockId id, Rank& rank, const UnitSeconds& added) {
  RankStreams streams(rank.computed, rank.synchronised, rank.host);
  const auto arrival = [&](sim::EventId e) { return time_of(e, {0, 0}); };
  const std::vector<Signal> signals =
      replay(program_.block(id), program_, costs_, RankMap{}, Hosts::in_step, arrival, std::span(&streams, 1));
  for (const Signal& s : signals) time_of(s.event, {0, 0}) = s.time + added.longer;
  rank = {streams.computed() + added.longer, std::max(rank.drained, streams.drained() + added.longer), streams.host() + added.host,
          streams.synchronised()};
}

sim::BlockId Pipeline::block_of(const sim::Slot& slot, std::size_t rank) const {
  return base::nth(program_.blocks_of(slot.pass, sim::position_of(slot.micro_batch % plan_.micro_batches, plan_.micro_batches)),
                   stage_of(slot, rank));
}

UnitSeconds Pipeline::added_to(const sim::Slot& slot, std::size_t rank) const {
  return added_[slot.pass].empty() ? UnitSeconds{} : base::nth(added_[slot.pass], stage_of(slot, rank));
}

std::size_t Pipeline::run_slot(std::size_t rank, std::size_t next) {
  const sim::Slot& slot = slots_[rank][next];
  const sim::BlockId id = block_of(slot, rank);
  const sim::Slot& last = slots_[rank][next + (slot.merged ? 1 : 0)];
  const StageBlock& block = slot.merged ? merged_block_of(id, block_of(last, rank)) : stage_block_of(id);
  const MicroBatches at{slot.micro_batch, last.micro_batch};
  const std::optional<double> arrived = arrival(block, at);
  if (!arrived) return 0;
  const bool gathers = slot.pass == sim::Pass::forward && slot.micro_batch == 0 && !program_.first_forward.empty();
  UnitSeconds added = added_to(slot, rank);
  if (slot.merged) added += added_to(last, rank);
  if (gathers) run_first(id, ranks_[rank], added);
  else run(block, ranks_[rank], at, *arrived, added);
  if (rank == 0 && last.pass != sim::Pass::forward && (last.micro_batch + 1) % plan_.micro_batches == 0)
    ends_.push_back(ranks_[0].computed);
  return slot.merged ? 2 : 1;
}

void Pipeline::run_passes() {
  std::vector<std::size_t> next(slots_.size(), 0);
  for (bool all = false; !all;) {
    all = true;
    bool moved = false;
    for (std::size_t r = 0; r < slots_.size(); ++r) {
      while (next[r] < slots_[r].size()) {
        const std::size_t ran = run_slot(r, next[r]);
        if (ran == 0) break;
        next[r] += ran;
        moved = true;
      }
      all = all && next[r] == slots_[r].size();
    }
    // A round in which no rank got on would go on forever.
    BASE_CHECK(all || moved, "the stages of plan {} wait for each other", plan_.name);
  }
}

double Pipeline::run_update() {
  std::vector<RankStreams> streams;
  for (const Rank& r : ranks_) streams.emplace_back(r.computed, r.drained, r.host);
  const auto arrival = [&](sim::EventId e) { return time_of(e, {micro_batches_ - 1, micro_batches_ - 1}); };
  replay(program_.block(program_.update), program_, costs_, rank_map_, Hosts::in_step, arrival, streams);
  return std::ranges::max_element(streams, {}, &RankStreams::drained)->drained();
}

}  // namespace search
