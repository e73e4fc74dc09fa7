#pragma once
// Reads a measurement file, whatever it is: Kineto / Chrome traces (.json, .json.gz), Nsight Systems SQLite exports, nccl-tests output
// (text, JSON), Chakra execution traces (.et, also gzipped). The content decides, not the file's name. Not here: topology files
// (topology/imports). Start here: import_trace() -> ImportedTrace (traces/trace.hpp) -> to_measurements(), or a summary (summarise). One
// reader for each format: formats/formats.hpp. Bytes of untrusted files: sources/.

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profiles/imports/traces/trace.hpp"
#include "profiles/measured/measurements.hpp"

namespace imports {

// Returns what the file holds.
// Throws: base::InputError, naming the file and the reason, when it cannot be read, is empty, cut short, damaged, of no known form, or
// contradicts itself; nothing of such a file is used. A sound trace without device events is no error: a note says so.
// Cost: one pass over the text, which is read in parts (a JSON trace takes 50 to 100 MB/s) and not kept; about 150 B per device event and
// 80 B per host operation are kept. JSON whose form shows only at its end is read twice. Refused: a text of more than 4 GiB after
// inflating, more than 20 million events of a kind, nccl-tests of more than 64 MiB, and JSON documents that are no traces of more than 256
// MiB.
[[nodiscard]] ImportedTrace import_trace(const std::filesystem::path& file);

// An imported trace as measurements that calibration and validation can use.
struct MeasurementNames {
  std::string device;   // a device profile's name; empty: the one that the trace's devices have
  std::string cluster;  // a preset's name, which no trace knows; empty: collectives are given without one
};

// Returns, of kernels, one row per distinct operation whose work is known (see ImportedOperation): the median over its occurrences of the
// summed times of its kernels; of collectives, one row per kind, nodes, group and size: the median. Times of traced collectives include
// waiting; nccl-tests' do not. The notes count what cannot be used.
// Cost: O(n log n).
[[nodiscard]] measured::Measurements to_measurements(const ImportedTrace& trace, const MeasurementNames& names);

// Totals of an imported trace, which a reader wants to see at once.
struct KindTotal {
  std::string kind;  // "matmul", or "other" for kernels whose kind is not known
  std::size_t count = 0;
  base::Seconds time;
  std::size_t shaped = 0;  // those whose operation's work is known
};

struct StreamTotal {
  int device = 0;
  std::int64_t stream = 0;
  std::size_t kernels = 0, collectives = 0;
  base::Seconds time;
};

// Collectives of one kind, element type and group size.
struct CollectiveTotal {
  std::string kind;  // "all_reduce", or the library's name for one that the simulator does not know
  std::string element;
  int group_size = 0;
  std::size_t count = 0;
  base::Seconds time;
  std::size_t sized = 0;  // those whose full buffer is known
  base::Bytes bytes;      // of these
  base::Seconds sized_time;
  // Mean bandwidths of the sized ones, as nccl-tests defines them; 0: there are none, or (busbw) the group is not known.
  base::BytesPerSecond algbw, busbw;
};

struct TraceSummary {
  std::vector<KindTotal> kinds;              // longest time first
  std::vector<StreamTotal> streams;          // by device and stream
  std::vector<CollectiveTotal> collectives;  // longest time first
};

// Returns the totals of a trace.
// Cost: O(n log groups).
[[nodiscard]] TraceSummary summarise(const ImportedTrace& trace);

}  // namespace imports
