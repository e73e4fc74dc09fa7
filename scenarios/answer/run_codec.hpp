#pragma once
// Runs as JSON, exact to the last bit: the form in which a worker process hands its answers back, and in which they are kept. Not a format
// for users: that is reports/json. Private to this folder.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scenarios/answer/result.hpp"

namespace scenarios {

// A plan that equals `known` (may be null) is not written.
[[nodiscard]] nlohmann::json encode(const std::vector<Run>& runs, const std::shared_ptr<const pcg::Plan>& known = {});
// Requires: the value comes from encode(), with the same `known`.
[[nodiscard]] std::vector<Run> decode(const nlohmann::json& encoded, const std::shared_ptr<const pcg::Plan>& known = {});

}  // namespace scenarios
