#pragma once
// What devices do during one iteration, in one form for a forecast and for a measured trace, and how the iteration is made of it.
// Start here: timeline_of() (simulated.hpp) of a forecast, measured_timeline() (measured.hpp) of a trace; aligned() (alignment.hpp) finds
// the counterparts; compare() (comparison.hpp) does all of it.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "profiles/imports/traces/trace.hpp"
#include "sim/results/simulation_result.hpp"

namespace comparison {

// kernel: on the device. transfer: a collective, a message, or a copy between a device and its host.
enum class Work : std::uint8_t { kernel, transfer };

struct Activity {
  Work work = Work::kernel;
  std::optional<sim::SpanPass> pass;  // nullopt: not known
  std::string_view kind;              // "matmul", "all_gather", "host_copy"; a literal. Empty: not known
  std::uint32_t name = 0;             // into Timeline::names: an operator of the plan, or what a trace calls the kernel
  int layer = -1, stage = -1, micro_batch = -1;
  std::array<std::int64_t, 4> sizes{};  // batch, m, n, k of a product or attention; 0: not known
  std::int64_t launches = 1;            // kernels that it stands for
  base::Bytes buffer;                   // of a collective: the full buffer; 0: not known
  int group = 0;                        // of a collective: its ranks; 0: not known
  double start_s = 0, duration_s = 0;
  std::optional<double> launched_s;         // when the host did, on the same clock; nullopt: not recorded
  bool exposes = true;                      // devices can wait for it: false for messages that they send
  bool late_launch = false;                 // a kernel that its host launched only when the device was free
  std::uint32_t list = UINT32_MAX, at = 0;  // of a forecast's kernel: SimulationResult::kernels[list][at]
  [[nodiscard]] double end_s() const { return start_s + duration_s; }
};

struct DeviceTimeline {
  std::uint32_t device = 0;
  double begin_s = 0, end_s = 0;     // of the iteration
  std::vector<Activity> activities;  // by start
  std::vector<sim::MemorySample> memory;
  [[nodiscard]] double seconds() const { return end_s - begin_s; }
};

struct Timeline {
  imports::Names names;
  std::vector<DeviceTimeline> devices;
};

// A moment of a device belongs to the kernel that runs, of several to that which started first; else to the transfer that is under way;
// else to what the next kernel waits for. So the parts of a device add up to its iteration.
// kernel, exposed: what is not hidden behind kernels of a transfer; gap: nothing runs. Gaps are "launch", where the next kernel was not
// launched before, or "bubble" and "waiting": for another stage of a pipeline, or for whatever it is without one.
enum class Share : std::uint8_t { kernel, exposed, gap };
[[nodiscard]] std::string_view to_text(Share s);

struct PartKey {
  Share share = Share::kernel;
  std::string_view pass, kind;  // literals; "" where not known
  auto operator<=>(const PartKey&) const = default;
};

struct PartTime {
  double seconds = 0;  // of the iteration
  double busy_s = 0;   // hidden or not
  double count = 0;    // kernels or transfers
};
using Parts = std::map<PartKey, PartTime>;

// Cost: O(activities log activities).
[[nodiscard]] Parts parts_of(const DeviceTimeline& device, bool pipelined);

[[nodiscard]] std::string_view text_of(std::optional<sim::SpanPass> pass);  // "" where not known

}  // namespace comparison
