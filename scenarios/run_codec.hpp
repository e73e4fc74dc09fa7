#pragma once
// Runs as JSON, exact to the last bit: the form in which a worker process hands its answers back. Not a format for users: that is
// reports/json. Private to this folder.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scenarios/result.hpp"

namespace scenarios {

[[nodiscard]] nlohmann::json encode(const std::vector<Run>& runs);
// Requires: the value comes from encode().
[[nodiscard]] std::vector<Run> decode(const nlohmann::json& encoded);

}  // namespace scenarios
