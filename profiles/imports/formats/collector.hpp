#pragma once
// The file of our own collector (tools/collector/README.md, "The file") -> ImportedTrace. Private to this folder.

#include <nlohmann/json.hpp>
#include <string>

#include "profiles/imports/traces/trace.hpp"

namespace imports {

// Returns the trace. Throws: base::InputError with the first twenty problems: another version, an unknown kind, precision or collective, a
// missing or impossible number, FLOPs that are not 2 batch m n k of a matmul.
[[nodiscard]] ImportedTrace read_collected(const nlohmann::json& document, const std::string& file);

}  // namespace imports
