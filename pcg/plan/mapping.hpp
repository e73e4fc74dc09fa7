#pragma once
// Machine mapping: the device that runs each point of an operator's task space (Unity, OSDI'22, section 3.2 and Figure 7). Devices are
// numbered machine by machine, so a stride that is a multiple of the GPUs per machine walks across machines.

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

// Returns the degrees above 1 of a sharding, in task-space order (sums, copies, loops).
[[nodiscard]] std::vector<int> axes(const Sharding& s);
// Returns one device per point. Requires: violation(v, s, device count) is nullopt.
[[nodiscard]] std::vector<DeviceId> devices_of(const MachineView& v, const Sharding& s);
// "0 to 5", "0 to 6 in steps of 2", "3 of 0 to 9". Requires: ascending, each once, not empty.
[[nodiscard]] std::string to_text(std::span<const DeviceId> devices);
// Returns why a view does not fit a sharding on `device_count` devices (wrong number of strides, a device out of range), or nullopt.
// Several points may share a device.
[[nodiscard]] std::optional<std::string> violation(const MachineView& v, const Sharding& s, int device_count);
// Returns the view with explicit devices replaced by a start and strides where these give the same devices. Requires: no explicit
// devices, or one per point.
[[nodiscard]] MachineView compact(const MachineView& v, const Sharding& s);

}  // namespace pcg
