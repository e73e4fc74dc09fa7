#pragma once
// An imported topology as text for people and as JSON.

#include <string>

#include "topology/imports/imports.hpp"

namespace reports {

// Returns what was found, and the notes. `file` is the name of the file that was read.
[[nodiscard]] std::string topology_text(const topology::ImportedTopology& t, const std::string& file);
// Returns {"format","file","nodes","per_node":{..},"notes":[..]}.
[[nodiscard]] std::string topology_json(const topology::ImportedTopology& t, const std::string& file);

}  // namespace reports
