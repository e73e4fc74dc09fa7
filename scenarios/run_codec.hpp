#pragma once
// A Run as text, exact to the last bit: how a worker process hands its answers back. Not a format for users: that is reports/json.
// Private to this folder.

#include <string>
#include <vector>

#include "scenarios/result.hpp"

namespace scenarios {

[[nodiscard]] std::string encode(const std::vector<Run>& runs);
// Requires: the text comes from encode().
[[nodiscard]] std::vector<Run> decode(const std::string& text);

}  // namespace scenarios
