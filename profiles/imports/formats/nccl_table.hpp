#pragma once
// One row of nccl-tests, and the checks that hold for it whatever form it was written in. Private to this folder.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/imports/traces/trace.hpp"

namespace imports::nccl {

// A number as printed, with half a unit of its last place.
struct Printed {
  double value = 0, half = 0;
};
[[nodiscard]] std::optional<Printed> printed(std::string_view text);

struct Timing {
  Printed time_us, algbw, busbw;  // GB/s
  bool in_place = false;
  double wrong = 0;  // elements; 0 also when they were not checked
};

struct Row {
  double size = 0;     // bytes, as printed: the full buffer
  double count = 0;    // elements, as printed; 0: not known
  std::string type;    // "float"
  std::string redop;   // "sum", "none", empty
  std::string root;    // "-1", "0", empty
  std::string test;    // "all_reduce", "alltoall"; empty: not named
  std::string source;  // "FILE:LINE"
  int line = 0;        // 0: not known
  std::vector<Timing> timings;
};

struct Table {
  std::vector<Row> rows;
  int ranks = 0;  // 0: not known
  int nodes = 0;
  std::vector<std::string> devices;  // vendor names, by rank
  std::vector<std::string> notes;
};

// Returns the trace of a table.
// Throws: base::InputError (see read_nccl_tests).
[[nodiscard]] ImportedTrace to_trace(const Table& table, const std::string& file);
// Returns the collective that a command line names: "all_reduce" of ".../all_reduce_perf -b 8"; empty: none.
[[nodiscard]] std::string test_named_in(std::string_view text);

}  // namespace imports::nccl
