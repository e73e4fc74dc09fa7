#pragma once
// A comparison in words: how many times as quick one answer is as another, with its interval. Private to reports.

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "scenarios/answer/result.hpp"

namespace reports {

// "1.31x".
[[nodiscard]] std::string ratio_text(const scenarios::Speedup& s);
// "-7 +8": its interval's ends, in per cent of it; empty where it is exact.
[[nodiscard]] std::string ends_text(const scenarios::Speedup& s);
// "1.31x -7 +8".
[[nodiscard]] std::string speedup_cell(const scenarios::Speedup& s);
// "0.98 to 1.05".
[[nodiscard]] std::string speedup_range(const scenarios::Speedup& s);

// "best of 4 plans that fit with 71 %"; of several that come to the same, which they are.
[[nodiscard]] std::string favourite_text(const scenarios::Favourite& f);

// Adds KEY and KEY_interval.
void add_speedup(nlohmann::ordered_json& j, const std::string& key, const scenarios::Speedup& s);

}  // namespace reports
