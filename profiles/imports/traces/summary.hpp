#pragma once
// Totals of an imported trace, which a reader wants to see at once.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profiles/imports/traces/trace.hpp"

namespace imports {

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

// Returns the totals of a trace. Cost: O(n log groups).
[[nodiscard]] TraceSummary summarise(const ImportedTrace& trace);

}  // namespace imports
