#pragma once
// A forecast beside measured traces: which parts of the iteration make the difference.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "profiles/imports/traces/trace.hpp"
#include "scenarios/answer/result.hpp"
#include "scenarios/comparison/alignment.hpp"
#include "scenarios/comparison/measured.hpp"
#include "scenarios/comparison/simulated.hpp"
#include "scenarios/comparison/timeline.hpp"
#include "scenarios/question/scenario.hpp"

namespace comparison {

struct Trace {
  std::string file;
  std::variant<OwnTrace, imports::ImportedTrace> content;
};
// Throws: base::InputError as the readers do.
[[nodiscard]] Trace read_trace(const std::filesystem::path& file);

// One device of a trace in one iteration.
struct MeasuredDevice {
  std::string file;
  std::uint32_t rank = 0;  // the GPU of the plan that it is compared with
  bool is_rank_known = true;
  std::string iteration;  // its name; of a trace of our own empty
  FoundBy by = FoundBy::marks;
  std::size_t iterations = 1;      // that were found
  std::vector<double> held_out_s;  // every other settled one, which a calibration does not see
  DeviceTimeline timeline;
};

// Returns the devices of the traces, each with the iteration of this number or name ("#3", as profilers mark steps), or with a steady one.
// `names`: those of their activities, which are added. Throws: base::InputError where there is no such iteration.
[[nodiscard]] std::vector<MeasuredDevice> devices_of(const std::vector<Trace>& traces, std::optional<std::size_t> iteration,
                                                     imports::Names& names);

// A part of the iteration, the mean over the devices. All parts add up to both iterations.
struct PartRow {
  PartKey key;
  PartTime measured, predicted;
  [[nodiscard]] double difference() const { return measured.seconds - predicted.seconds; }
};

// The kernels of one operator, whichever layer it is in: "layer *.mlp.up". Kernels alone, hidden or not.
struct OperatorRow {
  std::string operation;
  std::string_view pass;
  double measured_s = 0, predicted_s = 0;
  [[nodiscard]] double difference() const { return measured_s - predicted_s; }
};

// Activities of a trace that have no counterpart, of one name in one pass.
struct UnalignedRow {
  std::string name;
  std::string_view pass, kind, why;
  double seconds = 0;  // the mean over the devices
  double share = 0;    // of what their kernels and transfers take
  double count = 0;
};

struct MemoryPeaks {
  base::Bytes measured, predicted;  // the largest of the devices
};

// What a calibration does not see: an iteration of a device, or a GPU's where another one that does the same was traced, too.
struct HeldOut {
  std::size_t device = 0;  // of Comparison::devices
  double measured_s = 0;
};

// How far forecasts are from what was held out.
struct Misses {
  std::size_t count = 0;         // iterations, or GPUs
  double measured_s = 0;         // the mean
  double before = 0, after = 0;  // of |predicted / measured - 1|, the mean
  double spread = 0;             // HostCosts::held_out_spread
};

// The same plan with profiles that were fitted to the trace.
struct Recalibrated {
  double predicted_s = 0, low_s = 0, high_s = 0;
  std::optional<Misses> held_out;
};

struct Comparison {
  std::string scenario, plan, summary;
  double measured_s = 0, predicted_s = 0;  // the mean over the devices
  double low_s = 0, high_s = 0;            // the forecast's interval
  double aligned_share = 0;                // of the time of the trace's kernels and transfers
  std::vector<PartRow> parts;              // the largest difference first
  std::vector<PartRow> transfers;          // those of the exposed parts, by kind: each moment is the first's of those under way
  std::vector<OperatorRow> operators;      // the same
  std::vector<UnalignedRow> unaligned;     // the longest first
  std::optional<MemoryPeaks> memory;       // where the traces have it
  std::vector<MeasuredDevice> devices;
  std::vector<DeviceTimeline> predicted;  // one per device
  std::vector<Alignment> alignments;      // one per device
  imports::Names measured_names, predicted_names;
  std::vector<std::string> notes;  // what limits the comparison
  std::vector<HeldOut> held_out;   // iterations where all devices have some, else GPUs
  bool holds_out_devices = false;  // so these are left out of the fit
  std::optional<Recalibrated> calibrated;
};

// Returns the forecast of a run of the scenario's base beside the traces. Requires: the run was traced (RunOptions::trace).
// Throws: base::InputError where a trace is of a rank that the plan does not have.
// Cost: that of align() for each device.
[[nodiscard]] Comparison compare(const scenarios::Scenario& scenario, const scenarios::Run& run, const std::vector<Trace>& traces,
                                 std::optional<std::size_t> iteration = std::nullopt);

}  // namespace comparison
