#pragma once
// The events of a Kineto / Chrome trace that an import needs, as the file has them: device events, the host operations and runtime
// calls that launched them, marked steps. Not yet linked (kineto.cpp does that). Private to this folder.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/kernel_names.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports::kineto {

using Nanoseconds = std::int64_t;
inline constexpr std::uint32_t kNone = UINT32_MAX;

// The arguments of a collective's kernel or of its record_param_comms. A number that the file does not give is -1.
struct CollectiveArguments {
  std::string name, element, group, ranks;
  std::int64_t in_elements = -1, out_elements = -1, group_size = -1;
  bool operator==(const CollectiveArguments&) const = default;
  [[nodiscard]] bool any() const { return *this != CollectiveArguments(); }
};

enum class DeviceWork { kernel, copy, fill };

struct DeviceEvent {
  DeviceWork work = DeviceWork::kernel;
  std::uint32_t name = 0;
  std::int64_t device = 0, stream = 0;
  Nanoseconds start = 0, duration = 0;
  std::int64_t correlation = -1, external = -1, bytes = -1;
  std::uint32_t collective = kNone;  // into RawTrace::collectives
};

struct HostOperation {
  std::uint32_t thread = 0, name = 0;
  Nanoseconds start = 0, end = 0;
  std::int64_t external = -1;
  std::uint32_t inputs = kNone;      // into RawTrace::inputs
  std::uint32_t collective = kNone;  // into RawTrace::collectives
};

struct Launch {
  std::uint32_t thread = 0;
  Nanoseconds at = 0;
  bool graph = false;  // of a whole CUDA graph: the operation around it says nothing of the single kernels
};

struct Step {
  std::uint32_t name = 0;
  Nanoseconds start = 0, duration = 0;
};

// What PyTorch's allocator has given out on a device, where memory was profiled.
struct Allocation {
  std::int64_t device = 0, allocated = 0;
  Nanoseconds at = 0;
};

struct RawDevice {
  std::int64_t id = -1;
  std::string name;
  double memory = 0;
};

struct RawTrace {
  Names names;
  std::vector<DeviceEvent> device_events;
  std::vector<HostOperation> operations;
  std::unordered_map<std::int64_t, Launch> launches;  // by correlation
  std::vector<InputShapes> inputs;                    // each once
  std::vector<CollectiveArguments> collectives;
  std::vector<Step> steps, device_steps;  // ProfilerStep#N as the host saw them, and as the device did
  std::vector<RawDevice> devices;
  std::vector<Allocation> allocations;
  std::int64_t rank = -1, world_size = -1;
  std::int64_t incomplete_device_events = 0;  // device events that are no complete ("X") ones
};

// Returns the events in the order of the file.
// Throws: base::InputError when the text is no JSON, is cut short, has no traceEvents, or an event contradicts itself.
[[nodiscard]] RawTrace read_events(ByteSource& bytes);

// Returns what launched a device event of host operation `operation` (kNone: not known), by the names of the operations around it:
// PyTorch's autograd engine, its checkpointing, and its optimizers. `parent`: one per operation, kNone: the outermost.
// Cost: O(depth).
[[nodiscard]] LaunchedBy launched_by(const Names& names, const RawTrace& raw, const std::vector<std::uint32_t>& parent,
                                     std::uint32_t operation);

// Returns the nanoseconds of a text in microseconds ("1712195495519689.125", "12", "1.5e3"), exact to the nanosecond where it is written
// without exponent: a double cannot hold the time of day to better than a quarter of a microsecond. Returns nullopt where the text is no
// number, or more than 95 years from 0.
[[nodiscard]] std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

}  // namespace imports::kineto
