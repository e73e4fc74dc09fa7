#pragma once
// The timeline of a run as a Chrome trace, which opens in Perfetto.

#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

// Returns one process per device, one thread per stream and the memory as a counter, of the best plan of the
// base, or where nothing fits, of the first run that has spans.
[[nodiscard]] std::string chrome_trace(const scenarios::ScenarioResult& r);

}  // namespace reports
