#pragma once
// Memory over time in the form that the page draws.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "scenarios/answer/result.hpp"

namespace reports {

// Returns null where nothing was kept, else {"end_s", "devices": [{"device", "stands_for", "time_s", "bytes"}], "left_out"}: a value holds
// from its time on. Of a device with more than so many samples that a screen can show there are as many equal bins, each with the most that
// was used in it, so that the peak stays. Where `most_bytes` are not enough for all devices, the first ones are there and `left_out` says
// so.
[[nodiscard]] nlohmann::ordered_json memory_data(const scenarios::Run& run, std::size_t most_bytes);

}  // namespace reports
