#pragma once
// Machine mapping: which device runs each point of an operator's task space (Unity, OSDI'22, section 3.2 and Figure 7). Devices are
// numbered node by node, so a stride that is a multiple of the GPUs per node walks across nodes.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg {

using base::DeviceId;

// device(point) = start + sum of coordinate * stride over the task-space axes of degree above 1, outermost first; or, in the general
// form, devices[point].
struct MachineView {
  DeviceId start;
  std::vector<int> strides;       // one per axis of degree > 1
  std::vector<DeviceId> devices;  // explicit form, one per point; then start and strides are unused
  bool operator==(const MachineView&) const = default;
};

// The degrees above 1 of a sharding, in task-space order (sums, copies, loops).
[[nodiscard]] std::vector<int> axes(const Sharding& s);
// One device per point. Requires: strides match axes(s), or devices has points() entries.
[[nodiscard]] std::vector<DeviceId> devices_of(const MachineView& v, const Sharding& s);
// Why a view does not fit a sharding on `device_count` devices (wrong number of strides, out of range), or nullopt. Points may share a
// device.
[[nodiscard]] std::optional<std::string> violation(const MachineView& v, const Sharding& s, int device_count);
// The view with explicit devices replaced by strides where they are regular.
[[nodiscard]] MachineView compact(const MachineView& v, const Sharding& s);

}  // namespace pcg
