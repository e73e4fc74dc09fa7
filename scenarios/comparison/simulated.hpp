#pragma once
// The timeline of a forecast, and the traces that `foreshard run --trace` writes (reports/chrome_trace.cpp), which are read back exactly.

#include <filesystem>
#include <optional>
#include <string>

#include "scenarios/comparison/timeline.hpp"

namespace comparison {

// A trace has times in microseconds. as_written: times go that way and back, so that they equal those of a trace to the last bit.
enum class Times { exact, as_written };

// Returns a timeline of every simulated device: its kernels one by one, each with its share of its span, and its transfers.
// Cost: O(spans log spans).
[[nodiscard]] Timeline timeline_of(const sim::SimulationResult& simulation, Times times);

// Returns whether the file is a trace of our own: by its first key, "foreshard_trace".
// Throws: base::InputError when it cannot be read.
[[nodiscard]] bool is_own_trace(const std::filesystem::path& file);

struct OwnTrace {
  std::string scenario, plan, summary;
  sim::SimulationResult simulation;  // spans, kernels and memory alone
};
// Throws: base::InputError when the text is damaged, or of another version.
// Cost: one pass over the text; an event at a time is kept as JSON.
[[nodiscard]] OwnTrace read_own_trace(const std::filesystem::path& file);

}  // namespace comparison
