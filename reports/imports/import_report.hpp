#pragma once
// An imported measurement file, or an imported topology, as text for people and as JSON.

#include <string>

#include "profiles/imports/import.hpp"
#include "topology/imports/imports.hpp"

namespace reports {

// Returns time by kind of kernel, collectives with bytes and both bandwidths, iterations (the first twelve, when there are many), notes.
[[nodiscard]] std::string import_text(const imports::ImportedTrace& trace);
// {"format","file","kernels","collectives","devices":[..],"span_s","iterations":[..],"by_kind":{..},"by_stream":[..],
//  "by_collective":[..],"rank","world_size","notes":[..]}; docs/formats/measurements.md, "Imports".
[[nodiscard]] std::string import_json(const imports::ImportedTrace& trace);

// Returns what was found, and the notes. `file` is the name of the file that was read.
[[nodiscard]] std::string topology_text(const topology::ImportedTopology& t, const std::string& file);
// Returns {"format","file","nodes","per_node":{..},"notes":[..]}.
[[nodiscard]] std::string topology_json(const topology::ImportedTopology& t, const std::string& file);

}  // namespace reports
