#pragma once
// The work of devices as a measurement file records it: kernels, collectives and iterations, the same value whatever wrote the file.
// Not here: how a file is read, totals, measurements to fit (all import.hpp).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.hpp"
#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/kinds.hpp"

namespace imports {

enum class TraceFormat { kineto, nsight_systems, nccl_tests, chakra };
[[nodiscard]] std::string_view to_text(TraceFormat f);

struct ImportedDevice {
  int id = 0;           // as the file numbers it
  std::string name;     // "NVIDIA A100-SXM4-80GB"; empty: the file does not say
  std::string profile;  // the device profile with that vendor name; empty: there is none
  base::Bytes memory;   // 0: the file does not say
};

// A framework's operation that launched kernels ("aten::mm"), with the work that follows from its recorded input shapes.
struct ImportedOperation {
  std::string name;
  std::optional<pcg::Kernel> work;  // kind, sizes, FLOPs and bytes as pcg/work counts them; absent: not determined. Its name is empty
  std::optional<pcg::Precision> precision;  // of its first input
};

inline constexpr std::uint32_t kNoOperation = UINT32_MAX;

// The part of an iteration that launched something, by the host operations around the launch. recompute: a backward pass that runs parts of
// the forward pass again.
enum class LaunchedBy : std::uint8_t { unknown, forward, recompute, backward, optimizer };

struct ImportedKernel {
  std::uint32_t name = 0;                  // into ImportedTrace::names
  std::uint32_t operation = kNoOperation;  // into ImportedTrace::operations: the innermost one that launched it
  std::optional<pcg::KernelKind> kind;     // absent: neither the kernel's name nor its operation says it
  std::optional<pcg::Precision> precision;
  int device = 0;
  std::int64_t stream = 0;
  std::optional<base::Seconds> start;  // after the trace's first event; absent: the file gives durations only
  base::Seconds duration;
  base::Bytes moved;  // of a copy or fill, as the file counts it; else 0
  LaunchedBy by = LaunchedBy::unknown;
  std::optional<base::Seconds> launched;  // when the host did, after the trace's first event; absent: not recorded
};

struct ImportedCollective {
  std::uint32_t name = 0;  // into ImportedTrace::names
  std::optional<profiles::CollectiveKind>
      kind;                          // absent: one that the simulator does not know (reduce, gather, barrier) or whose name says nothing
  std::optional<base::Bytes> sent;   // what one rank puts in
  std::optional<base::Bytes> bytes;  // the full buffer, as sim::plan_collective counts it; absent: size or group is not known
  std::string element;               // "fp32", "bf16", "int8"; empty: not known
  int group_size = 0;                // ranks that take part; 0: not known
  int nodes = 0;                     // that they are on; 0: not known
  std::vector<int> ranks;            // of the group; empty: not known
  std::string group;                 // the process group's name
  std::optional<bool> in_place;      // only nccl-tests says it
  int device = 0;
  std::int64_t stream = 0;
  std::optional<base::Seconds> start;
  base::Seconds duration;
  std::string source;  // "FILE:LINE" of nccl-tests; else empty
  LaunchedBy by = LaunchedBy::unknown;
  std::optional<base::Seconds> launched;  // as a kernel's
};

// One training iteration: a step that the profiler marked ("ProfilerStep#3"), or an NVTX range.
struct ImportedIteration {
  std::string name;
  std::optional<base::Seconds> start;
  base::Seconds duration;
  std::optional<base::Seconds> busy;  // time within it during which at least one kernel, copy or collective ran; absent: starts unknown
};

// What a framework's allocator has given out on a device from this moment on.
struct ImportedAllocation {
  int device = 0;
  base::Seconds at;
  base::Bytes allocated;
};

// Names, each stored once: a trace repeats a few thousand kernel names a million times.
class Names {
 public:
  // Returns the number of a name, which it gets when it is new.
  std::uint32_t id(const std::string& name);
  [[nodiscard]] const std::string& operator[](std::uint32_t id) const { return names_[id]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

struct ImportedTrace {
  TraceFormat format = TraceFormat::kineto;
  std::string file;
  Names names;  // of kernels, collectives and, in Kineto traces, host operations
  std::vector<ImportedDevice> devices;
  std::vector<ImportedOperation> operations;
  std::vector<ImportedKernel> kernels;  // in order of start where it is known, else of the file
  std::vector<ImportedCollective> collectives;
  std::vector<ImportedIteration> iterations;
  std::vector<ImportedAllocation> allocated;  // by time; empty: memory was not profiled
  base::Seconds span;  // from the first to the last moment of the device's work; without starts, the sum of durations
  std::optional<int> rank, world_size;
  std::vector<std::string> notes;  // what was left out or is not known, and why
};

// Returns the full buffer of nccl-tests (and of sim::plan_collective) from what one rank puts in: an all-gather's is group_size times that,
// any other's is the same. Returns nullopt for an all-gather whose group is not known.
[[nodiscard]] std::optional<base::Bytes> full_buffer(profiles::CollectiveKind kind, base::Bytes sent, int group_size);
// Returns busbw / algbw of nccl-tests (doc/PERFORMANCE.md there): 2(n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter, all-to-all; 1
// else.
[[nodiscard]] double bus_factor(profiles::CollectiveKind kind, int group_size);

// Sorts kernels, collectives, iterations and allocations by start (stable, those without a start stay in front), computes the span and the
// busy time of iterations, names the device profiles, and notes what a reader must know: no device events, unknown kernels, sizes that are
// missing, that times of collectives hold waiting.
// Cost: O(n log n).
void finish_trace(ImportedTrace& trace);

}  // namespace imports
