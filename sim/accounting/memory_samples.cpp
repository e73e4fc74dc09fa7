#include "sim/accounting/over_time.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "profiles/device_profile.hpp"

namespace sim {
namespace {

struct Change {
  base::Seconds time;
  base::Bytes bytes;
};

// When a device class runs kernels of a block of the graph.
struct BlockWork {
  int block = 0;
  Interval when;
};

// Kernels of an instance in order, those of one block together; a run of kernels of several blocks is shared out by what each takes alone.
std::vector<BlockWork> work_of(const Accounts& a, const BlockInstance& instance, std::uint32_t device_class) {
  const topology::DeviceKind kind = topology::kind_of(a.cluster.device(a.folded.representatives[device_class]));
  const auto type = static_cast<std::uint32_t>(std::ranges::find(a.program.device_types, kind) - a.program.device_types.begin());
  std::vector<BlockWork> work;
  const auto& entries = a.unrolled.blocks[instance.block].entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto* run = std::get_if<KernelRun>(&entries[i].work);
    if (run == nullptr || run->device_class != device_class) continue;
    base::Seconds at = a.timeline.start[instance.first + i];
    const base::Seconds all = a.timeline.end[instance.first + i] - at;
    for (const Part& p : run->parts) {
      const double share = run->seconds > base::Seconds(0) ? a.program.seconds[p.seconds + type] / run->seconds.value() : 0;
      const int block = a.plan.pcg.nodes()[p.node].block;
      if (work.empty() || work.back().block != block) work.push_back({block, {at, at}});
      at += all * share;
      work.back().when.end = at;
    }
    if (!work.empty()) work.back().when.end = a.timeline.end[instance.first + i];
  }
  return work;
}

const BlockMemory* find(const std::vector<BlockMemory>& blocks, int block) {
  const auto at = std::ranges::find(blocks, block, &BlockMemory::block);
  return at == blocks.end() ? nullptr : &*at;
}

// Each block adds what it saves when it has run; the pass ends with all of it.
void add_forward(const std::vector<BlockWork>& work, const DeviceMemory& m, std::size_t stage, std::vector<Change>& changes) {
  base::Bytes rest = m.saved[stage];
  std::set<int> seen;
  for (const BlockWork& w : work) {
    const BlockMemory* b = find(m.blocks[stage], w.block);
    if (b == nullptr || !seen.insert(w.block).second) continue;
    changes.push_back({w.when.end, b->saved});
    rest -= b->saved;
  }
  changes.push_back({work.back().when.end, rest});
}

// Each block takes its temporaries and gradients when it begins, and frees them but for the gradients, and what it saved, at its end.
// `ends`: gradients that were made stay, as no other micro-batch follows.
void add_backward(const std::vector<BlockWork>& work, const DeviceMemory& m, std::size_t stage, bool ends, std::vector<Change>& changes) {
  base::Bytes rest = m.saved[stage], made;
  std::set<int> seen;
  for (const BlockWork& w : work) {
    const BlockMemory* b = find(m.blocks[stage], w.block);
    if (b == nullptr || !seen.insert(w.block).second) continue;
    changes.push_back({w.when.begin, b->temporary + b->gradients});
    changes.push_back({w.when.end, base::Bytes(0) - b->temporary - b->saved});
    rest -= b->saved;
    made += b->gradients;
  }
  const base::Bytes missing = m.lazy_gradients - made;  // of weights that no kernel of the pass belongs to
  changes.push_back({work.back().when.end, base::Bytes(0) - rest + (ends ? missing : base::Bytes(0) - made)});
}

// Where gradients of weights come later, what a pass saved stays until its end: that a sample is not too low for it.
void add_split_backward(const std::vector<BlockWork>& work, const DeviceMemory& m, std::size_t stage, Pass pass,
                        std::vector<Change>& changes) {
  const base::Seconds begin = work.front().when.begin, end = work.back().when.end;
  if (pass == Pass::weights) return changes.push_back({end, base::Bytes(0) - m.kept[stage]}), void();
  changes.push_back({begin, m.transient[stage]});
  const base::Bytes left = pass == Pass::inputs ? m.kept[stage] : base::Bytes(0);
  changes.push_back({end, left - m.transient[stage] - m.saved[stage]});
}

// A forward pass that is merged with the backward pass after it makes what it keeps layer by layer, as that frees it (peak_memory): all of
// it counts from the beginning of the backward pass to its end. `lazy`: gradients that are not there before, and stay where it `ends`.
void add_merged(const BlockInstance& forward, const BlockInstance& backward, const std::vector<BlockWork>& work, const DeviceMemory& m,
                base::Bytes lazy, bool ends, std::vector<Change>& changes) {
  const auto made = static_cast<std::size_t>(forward.stage), stage = static_cast<std::size_t>(backward.stage);
  const base::Bytes freed = m.saved[stage] - (backward.pass == Pass::inputs ? m.kept[stage] : base::Bytes(0));
  const base::Bytes during = m.saved[made] - std::min(m.saved[made], freed) + m.layer[made] + m.transient[stage] + lazy;
  changes.push_back({work.front().when.begin, during});
  changes.push_back({work.back().when.end, m.saved[made] - freed - during + (ends ? lazy : base::Bytes(0))});
}

void add_update(const std::vector<BlockWork>& work, const DeviceMemory& m, std::vector<Change>& changes) {
  changes.push_back({work.front().when.begin, m.update});
  changes.push_back({work.back().when.end, base::Bytes(0) - m.update});
}

std::vector<Change> changes_of(const Accounts& a, const DeviceMemory& m, std::uint32_t device_class) {
  std::vector<std::pair<const BlockInstance*, std::vector<BlockWork>>> passes;
  for (const BlockInstance& instance : a.unrolled.instances)
    if (auto work = work_of(a, instance, device_class); !work.empty()) passes.emplace_back(&instance, std::move(work));
  const bool splits =
      std::ranges::any_of(passes, [](const auto& p) { return p.first->pass == Pass::weights || p.first->pass == Pass::inputs; });
  const BlockInstance* last = nullptr;
  for (const auto& [instance, work] : passes)
    if (instance->pass == Pass::backward) last = instance;
  std::vector<Change> changes;
  if (!splits) changes.push_back({base::Seconds(0), base::Bytes(0) - m.lazy_gradients});
  const BlockInstance* merged = nullptr;  // a forward pass, whose backward pass is next
  for (const auto& [instance, work] : passes) {
    const auto stage = static_cast<std::size_t>(instance->stage);
    const BlockInstance* const forward = std::exchange(merged, instance->merged ? instance : nullptr);
    if (instance->merged) continue;
    if (forward != nullptr) add_merged(*forward, *instance, work, m, splits ? base::Bytes(0) : m.lazy_gradients, instance == last, changes);
    else if (instance->pass == Pass::update) add_update(work, m, changes);
    else if (instance->pass == Pass::forward) add_forward(work, m, stage, changes);
    else if (splits) add_split_backward(work, m, stage, instance->pass, changes);
    else add_backward(work, m, stage, instance == last, changes);
  }
  std::ranges::stable_sort(changes, {}, &Change::time);
  return changes;
}

}  // namespace

std::vector<MemorySample> memory_samples(const Accounts& a, std::span<const DeviceMemory> devices) {
  std::vector<MemorySample> out;
  for (std::uint32_t c = 0; c < a.folded.sizes.size(); ++c) {
    const base::DeviceId device = a.folded.representatives[c];
    const DeviceMemory& m = devices[device.value];
    base::Bytes used = m.always() + profiles::device_profile(a.cluster.device(device).type).reserved;
    out.push_back({device.value, base::Seconds(0), used});
    for (const Change& change : changes_of(a, m, c)) {
      used += change.bytes;
      if (out.back().device == device.value && out.back().time == change.time) out.back().used = used;
      else out.push_back({device.value, change.time, used});
    }
  }
  return out;
}

}  // namespace sim
