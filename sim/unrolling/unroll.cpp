#include "sim/unrolling/unroll.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "profiles/device_profile.hpp"
#include "sim/unrolling/task_order.hpp"

namespace sim {
namespace {

class Unroller {
 public:
  Unroller(const Program& program, const Folded& folded, const pcg::Plan& plan, int micro_batches, const topology::Cluster& cluster)
      : program_(program),
        folded_(folded),
        plan_(plan),
        micro_batches_(micro_batches),
        cluster_(cluster),
        times_(program, folded, cluster) {}

  Unrolled run() {
    compile_blocks();
    place_instances();
    set_up_streams();
    for (const BlockInstance& instance : out_.instances) emit(instance);
    out_.graph.order = task_order(out_);
    return std::move(out_);
  }

 private:
  void compile_blocks();
  void place_instances();
  void set_up_streams();
  void emit(const BlockInstance& instance);
  std::uint32_t add_block(BlockId b) {
    out_.blocks.push_back(compile(program_.block(b), program_, folded_, times_));
    const CompiledBlock& compiled = out_.blocks.back();
    std::vector<std::uint32_t>& steps = steps_.emplace_back();
    for (const Entry& e : compiled.entries) steps.push_back(step_of(e));
    return static_cast<std::uint32_t>(out_.blocks.size() - 1);
  }
  std::uint32_t step_of(const Entry& e);
  void place(std::uint32_t block, int stage, const Slot& slot) {
    first_at(slot.pass, stage, slot.micro_batch) = static_cast<std::uint32_t>(out_.instances.size());
    out_.instances.push_back({block, next_, stage, slot.micro_batch, slot.pass, slot.merged});
    next_ += static_cast<std::uint32_t>(out_.blocks[block].entries.size());
  }
  std::uint32_t& first_at(Pass pass, int stage, int micro_batch) {
    return instance_of_[(static_cast<std::size_t>(pass) * static_cast<std::size_t>(plan_.stages) + static_cast<std::size_t>(stage)) *
                            static_cast<std::size_t>(micro_batches_) +
                        static_cast<std::size_t>(micro_batch)];
  }

  const Program& program_;
  const Folded& folded_;
  const pcg::Plan& plan_;
  int micro_batches_;
  const topology::Cluster& cluster_;
  ClassTimes times_;
  Unrolled out_;
  std::vector<std::uint32_t> forward_;               // block of each stage
  std::vector<std::uint32_t> first_forward_;         // the first micro-batch's instead; empty: none
  ByPosition<std::vector<std::uint32_t>> backward_;  // block of each stage; none for positions that do not occur
  std::uint32_t update_ = 0;
  std::vector<std::vector<std::uint32_t>> steps_;  // per block and entry
  std::vector<std::uint32_t> transfer_steps_;      // per transfer class, made once
  std::vector<std::uint32_t> instance_of_;         // [pass][stage][micro-batch]
  std::uint32_t next_ = 0;
};

std::uint32_t Unroller::step_of(const Entry& e) {
  constexpr std::uint32_t kNone = 0xffffffff;
  const auto add = [&](Step s) {
    out_.graph.steps.push_back(std::move(s));
    return static_cast<std::uint32_t>(out_.graph.steps.size() - 1);
  };
  if (const auto* run = std::get_if<KernelRun>(&e.work)) return add({{{run->seconds, {}}}, StepKind::kernels});
  if (const auto* launch = std::get_if<HostLaunch>(&e.work)) return add({{{launch->seconds, {}}}, StepKind::host});
  const std::uint32_t transfer = std::get<TransferRun>(e.work).transfer;
  transfer_steps_.resize(folded_.transfers.size(), kNone);
  // A step is shared by all tasks of its transfer class, however many micro-batches there are.
  if (transfer_steps_[transfer] == kNone) transfer_steps_[transfer] = add({folded_.transfers[transfer].phases, StepKind::transfer});
  return transfer_steps_[transfer];
}

void Unroller::compile_blocks() {
  for (int s = 0; s < plan_.stages; ++s) {
    const auto i = static_cast<std::size_t>(s);
    forward_.push_back(add_block(program_.forward[i]));
    if (!program_.first_forward.empty()) first_forward_.push_back(add_block(program_.first_forward[i]));
    for (const auto position : {MicroBatchPosition::only, MicroBatchPosition::first, MicroBatchPosition::middle, MicroBatchPosition::last})
      if (!program_.backward[position].empty()) backward_[position].push_back(add_block(program_.backward[position][i]));
  }
  update_ = add_block(program_.update);
}

void Unroller::place_instances() {
  instance_of_.assign(3 * static_cast<std::size_t>(plan_.stages) * static_cast<std::size_t>(micro_batches_), 0);
  const int pipeline = plan_.stages / plan_.chunks;
  for (int rank = 0; rank < pipeline; ++rank) {
    for (const Slot& slot : slots_of(schedule_of(plan_, micro_batches_), rank)) {
      const int stage = slot.chunk * pipeline + rank;
      const bool starts = slot.micro_batch == 0 && !first_forward_.empty();
      const auto& blocks = slot.pass == Pass::backward ? backward_[position_of(slot.micro_batch, micro_batches_)]
                           : starts                    ? first_forward_
                                                       : forward_;
      place(blocks[static_cast<std::size_t>(stage)], stage, slot);
    }
  }
  place(update_, 0, {.pass = Pass::update});
}

void Unroller::set_up_streams() {
  TaskGraph& g = out_.graph;
  g.links = folded_.links;
  g.routes = folded_.routes;
  for (std::uint32_t c = 0; c < folded_.sizes.size(); ++c) {
    for (const StreamKind kind : kStreamKinds) {
      BASE_CHECK(number_of({c, kind}) == g.streams.size(), "stream {} of class {}", static_cast<int>(kind), c);
      g.streams.push_back({c});
    }
    g.slowdown.push_back(profiles::device_profile(cluster_.device(folded_.representatives[c]).type).overlap_slowdown);
  }
  g.tasks.reserve(next_);
}

void Unroller::emit(const BlockInstance& instance) {
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
      // The update belongs to no micro-batch: it waits for the last one.
      const int micro_batch = instance.pass == Pass::update ? micro_batches_ - 1 : instance.micro_batch;
      const BlockInstance& other = out_.instances[first_at(home.pass, home.stage, micro_batch)];
      const auto& signals = out_.blocks[other.block].signals;
      for (auto it = std::ranges::lower_bound(signals, std::pair{crossing, std::uint32_t{0}}); it != signals.end() && it->first == crossing;
           ++it)
        after.push_back(other.first + it->second);
    }
    g.add(steps_[instance.block][i], streams, after);
  }
}

}  // namespace

Unrolled unroll(const Program& program, const Folded& folded, const pcg::Plan& plan, int micro_batches, const topology::Cluster& cluster) {
  return Unroller(program, folded, plan, micro_batches, cluster).run();
}

}  // namespace sim
