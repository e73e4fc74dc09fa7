#include "sim/accounting/over_time.hpp"

#include <algorithm>
#include <optional>

#include "profiles/device_profile.hpp"

namespace sim {
namespace {

struct Change {
  base::Seconds time;
  base::Bytes bytes;
};

// When a device class runs kernels of an instance; nullopt where it runs none.
std::optional<Interval> work_of(const Accounts& a, const BlockInstance& instance, std::uint32_t device_class) {
  std::optional<Interval> work;
  const auto& entries = a.unrolled.blocks[instance.block].entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto* run = std::get_if<KernelRun>(&entries[i].work);
    if (run == nullptr || run->device_class != device_class) continue;
    if (!work) work = Interval{a.timeline.start[instance.first + i], {}};
    work->end = a.timeline.end[instance.first + i];
  }
  return work;
}

std::vector<Change> changes_of(const Accounts& a, const DeviceMemory& m, std::uint32_t device_class) {
  std::vector<Change> changes;
  for (const BlockInstance& instance : a.unrolled.instances) {
    if (instance.pass == Pass::update) continue;
    const std::optional<Interval> work = work_of(a, instance, device_class);
    if (!work) continue;
    const auto stage = static_cast<std::size_t>(instance.stage);
    if (instance.pass == Pass::forward) {
      changes.push_back({work->end, m.saved[stage]});
    } else if (instance.pass == Pass::weights) {
      changes.push_back({work->end, base::Bytes(0) - m.kept[stage]});
    } else {
      // Kept activations are freed as the backward pass goes; here, all at its end, so that a sample is not too low for them.
      changes.push_back({work->begin, m.transient[stage]});
      const base::Bytes left = instance.pass == Pass::inputs ? m.kept[stage] : base::Bytes(0);
      changes.push_back({work->end, left - m.transient[stage] - m.saved[stage]});
    }
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
      out.push_back({device.value, change.time, used});
    }
  }
  return out;
}

}  // namespace sim
