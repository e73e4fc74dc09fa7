#include "sim/unrolling/unroll.hpp"

#include <algorithm>
#include <map>

#include "pcg/plan/plan.hpp"
#include "profiles/device_profile.hpp"
#include "sim/program/program.hpp"

namespace sim {
namespace {

bool is_token_exchange(const Entry& e) {
  const auto* moved = std::get_if<TransferRun>(&e.work);
  return moved != nullptr && moved->stream == StreamKind::experts;
}

// Where the parts of a block end. Launches between its exchanges belong to these.
std::vector<std::uint32_t> part_ends(const CompiledBlock& block) {
  std::vector<std::uint32_t> ends;
  bool sent = false;
  for (std::uint32_t i = 0; i < block.entries.size(); ++i) {
    const bool sends = is_token_exchange(block.entries[i]);
    if (sent && !sends && !std::holds_alternative<HostLaunch>(block.entries[i].work)) {
      ends.push_back(i);
      sent = false;
    }
    sent = sent || sends;
  }
  ends.push_back(static_cast<std::uint32_t>(block.entries.size()));
  return ends;
}

struct PassTasks {
  std::uint32_t first = 0;
  const std::vector<std::uint32_t>& ends;
  std::uint32_t taken = 0;
  std::size_t part = 0;
};

// Returns TaskGraph::order of the instances: tasks of passes that are merged alternate part by part; empty where nothing is merged.
std::vector<std::uint32_t> task_order(const Unrolled& unrolled) {
  const std::vector<BlockInstance>& all = unrolled.instances;
  std::vector<std::uint32_t> order;
  if (std::ranges::none_of(all, &BlockInstance::merged)) return order;
  order.reserve(unrolled.graph.tasks.size());
  std::vector<std::vector<std::uint32_t>> ends;  // per block
  for (const CompiledBlock& block : unrolled.blocks) ends.push_back(part_ends(block));
  const auto take_part = [&](PassTasks& s) {
    for (const std::uint32_t end = s.ends[s.part++]; s.taken < end; ++s.taken) order.push_back(s.first + s.taken);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    PassTasks one{all[i].first, ends[all[i].block]};
    if (!all[i].merged) {
      while (one.part < one.ends.size()) take_part(one);
      continue;
    }
    ++i;
    PassTasks other{all[i].first, ends[all[i].block]};
    for (const Pass pass : alternation(one.ends.size(), other.ends.size())) take_part(pass == Pass::forward ? one : other);
  }
  return order;
}

class Unroller {
 public:
  Unroller(const Program& program, const Folded& folded, const pcg::Plan& plan, int micro_batches, const topology::Cluster& cluster)
      : program_(program),
        folded_(folded),
        plan_(plan),
        micro_batches_(micro_batches),
        of_iteration_(runs_on(plan.schedule) ? plan.micro_batches : micro_batches),
        cluster_(cluster),
        times_(program, folded, cluster) {}

  Unrolled run() {
    place_instances();
    set_up_streams();
    for (const BlockInstance& instance : out_.instances) emit(instance);
    out_.graph.order = task_order(out_);
    return std::move(out_);
  }

 private:
  void place_instances() {
    constexpr auto kPasses = static_cast<std::size_t>(Pass::update) + 1;
    instance_of_.assign(kPasses * static_cast<std::size_t>(plan_.stages) * static_cast<std::size_t>(micro_batches_), kNoInstance);
    const int ranks = pcg::ranks_of(plan_);
    std::vector<std::vector<Slot>> slots;
    for (int rank = 0; rank < ranks; ++rank) slots.push_back(slots_of(schedule_of(plan_, micro_batches_), rank));
    std::vector<std::size_t> next(slots.size(), 0);
    for (int iteration = 0; iteration < micro_batches_ / of_iteration_; ++iteration) {
      for (int rank = 0; rank < ranks; ++rank)
        place_slots(slots[static_cast<std::size_t>(rank)], next[static_cast<std::size_t>(rank)], rank, iteration);
      place(program_.update, 0, {.micro_batch = iteration, .pass = Pass::update}, false);
    }
  }

  // The instances of a rank before its iteration's update: all, or, where iterations follow each other, those before the first pass that is
  // to come after it. The first micro-batch of the iteration after the next wants the updated weights: two versions are enough
  // (PipeDream-2BW, section 3.1). The last backward pass of the next iteration may reduce its gradients, and collectives run in order.
  void place_slots(const std::vector<Slot>& slots, std::size_t& next, int rank, int iteration) {
    const int wants_update = (iteration + 2) * of_iteration_;
    for (; next < slots.size(); ++next) {
      const Slot& slot = slots[next];
      if (slot.micro_batch == (slot.pass == Pass::forward ? wants_update : wants_update - 1)) return;
      const int stage = pcg::stage_of(plan_.schedule, pcg::ranks_of(plan_), rank, slot.chunk);
      const auto& blocks = program_.blocks_of(slot.pass, position_of(slot.micro_batch % of_iteration_, of_iteration_));
      place(blocks[static_cast<std::size_t>(stage)], stage, slot, slot.merged || (next > 0 && slots[next - 1].merged));
    }
  }

  void set_up_streams() {
    TaskGraph& g = out_.graph;
    g.links = folded_.links;
    g.routes = folded_.routes;
    for (std::uint32_t c = 0; c < folded_.sizes.size(); ++c) {
      g.streams.insert(g.streams.end(), kStreamKinds, {c});
      g.slowdown.push_back(profiles::device_profile(cluster_.device(folded_.representatives[c]).type).overlap_slowdown);
    }
    g.tasks.reserve(next_);
    last_run_.assign(folded_.sizes.size(), kNoTask);
  }

  void emit(const BlockInstance& instance) {
    TaskGraph& g = out_.graph;
    const CompiledBlock& block = out_.blocks[instance.block];
    std::vector<std::uint32_t> streams, after;  // of one task
    for (std::size_t i = 0; i < block.entries.size(); ++i) {
      const Entry& e = block.entries[i];
      streams.clear();
      after.clear();
      for (const StreamId s : e.streams) streams.push_back(number_of(s));
      for (std::uint32_t d : e.after) after.push_back(instance.first + d);
      for (const Crossing& crossing : e.waits_on) {
        const Program::Home& home = program_.events[crossing.event.value];
        // The update belongs to no micro-batch: it waits for the last one of its iteration.
        const int micro_batch = instance.pass == Pass::update ? (instance.micro_batch + 1) * of_iteration_ - 1 : instance.micro_batch;
        // A backward pass is whole, or in two parts of which either may signal.
        const bool forward = home.pass == Pass::forward;
        for (const Pass pass : {Pass::forward, Pass::backward, Pass::inputs, Pass::weights})
          if (const std::uint32_t other = instance_at(pass, home.stage, micro_batch);
              (pass == Pass::forward) == forward && other != kNoInstance)
            wait_for(crossing, out_.instances[other], after);
      }
      if (e.follows_passes)
        for (const std::uint32_t c : folded_.transfers[std::get<TransferRun>(e.work).transfer].waits_for)
          if (last_run_[c] != kNoTask) after.push_back(last_run_[c]);
      g.add(steps_[instance.block][i], streams, after);
    }
    if (instance.merged) return;  // the passes before both
    for (std::uint32_t i = 0; i < block.entries.size(); ++i)
      if (const auto* run = std::get_if<KernelRun>(&block.entries[i].work)) last_run_[run->device_class] = instance.first + i;
  }

  // The number of a block, alone or merged with another one, among those that are compiled.
  std::uint32_t compiled(BlockId b, bool merged) {
    const auto [at, is_new] = compiled_.try_emplace({b, merged}, static_cast<std::uint32_t>(out_.blocks.size()));
    if (is_new) {
      out_.blocks.push_back(compile(program_.block(b), program_, folded_, times_, merged));
      std::vector<std::uint32_t>& steps = steps_.emplace_back();
      for (const Entry& e : out_.blocks.back().entries) steps.push_back(step_of(e));
    }
    return at->second;
  }
  // The tasks of other instances that an entry waits for.
  void wait_for(const Crossing& crossing, const BlockInstance& other, std::vector<std::uint32_t>& after) const {
    const auto& signals = out_.blocks[other.block].signals;
    for (auto it = std::ranges::lower_bound(signals, std::pair{crossing, std::uint32_t{0}}); it != signals.end() && it->first == crossing;
         ++it)
      after.push_back(other.first + it->second);
  }

  std::uint32_t step_of(const Entry& e) {
    constexpr std::uint32_t kNone = 0xffffffff;
    const auto add = [&](Step s) {
      out_.graph.steps.push_back(std::move(s));
      return static_cast<std::uint32_t>(out_.graph.steps.size() - 1);
    };
    if (const auto* run = std::get_if<KernelRun>(&e.work)) return add({{{run->seconds, {}}}, StepKind::kernels});
    if (const auto* launch = std::get_if<HostLaunch>(&e.work)) return add({{{launch->seconds, {}}}, StepKind::host});
    if (const auto* copy = std::get_if<CopyRun>(&e.work)) return add({{{copy->seconds, {}}}, StepKind::host});
    const std::uint32_t transfer = std::get<TransferRun>(e.work).transfer;
    transfer_steps_.resize(folded_.transfers.size(), kNone);
    // A step is shared by all tasks of its transfer class, however many micro-batches there are.
    if (transfer_steps_[transfer] == kNone) transfer_steps_[transfer] = add({folded_.transfers[transfer].phases, StepKind::transfer});
    return transfer_steps_[transfer];
  }

  void place(BlockId id, int stage, const Slot& slot, bool merged) {
    const std::uint32_t block = compiled(id, merged);
    instance_at(slot.pass, stage, slot.micro_batch) = static_cast<std::uint32_t>(out_.instances.size());
    out_.instances.push_back({block, next_, stage, slot.micro_batch, slot.pass, slot.merged});
    next_ += static_cast<std::uint32_t>(out_.blocks[block].entries.size());
  }
  std::uint32_t& instance_at(Pass pass, int stage, int micro_batch) {
    return instance_of_[(static_cast<std::size_t>(pass) * static_cast<std::size_t>(plan_.stages) + static_cast<std::size_t>(stage)) *
                            static_cast<std::size_t>(micro_batches_) +
                        static_cast<std::size_t>(micro_batch)];
  }

  static constexpr std::uint32_t kNoInstance = 0xffffffff, kNoTask = 0xffffffff;
  const Program& program_;
  const Folded& folded_;
  const pcg::Plan& plan_;
  int micro_batches_, of_iteration_;
  const topology::Cluster& cluster_;
  ClassTimes times_;
  Unrolled out_;
  std::map<std::pair<BlockId, bool>, std::uint32_t> compiled_;
  std::vector<std::vector<std::uint32_t>> steps_;  // per block and entry
  std::vector<std::uint32_t> transfer_steps_;      // per transfer class, made once
  std::vector<std::uint32_t> instance_of_;         // [pass][stage][micro-batch], or kNoInstance
  std::vector<std::uint32_t> last_run_;            // per class: of the passes before, or kNoTask
  std::uint32_t next_ = 0;
};

}  // namespace

Unrolled unroll(const Program& program, const Folded& folded, const pcg::Plan& plan, int micro_batches, const topology::Cluster& cluster) {
  return Unroller(program, folded, plan, micro_batches, cluster).run();
}

}  // namespace sim
