#pragma once
// A what-if: a change of the scenario by path and value.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml/tree.hpp"

namespace scenarios {

struct WhatIf {
  std::string name;   // of a point of a sweep: "network: cluster.links.infiniband.bandwidth=4x, cluster.nodes=2"
  std::string sweep;  // whose point it is; empty: of none
  std::string place;  // in the file: "what_if[0]"
  std::vector<std::pair<std::string, base::Yaml>> set;        // "cluster.links.infiniband.bandwidth" -> 4x
  std::vector<std::pair<std::string, std::string>> settings;  // the same as text
  bool replan = true;                                         // answered with a new plan, too
};

// What what-ifs change: the scenario's sections with the cluster's preset resolved, and the cluster as it is written, so that another
// preset takes the place of the first beside the same keys.
struct Patchable {
  base::Yaml document;
  base::Yaml written_cluster;
  std::filesystem::path directory;  // the scenario's
};

// Returns the document with every `set` of a what-if applied, another machine or another model first: a `cluster` with a preset or a file,
// `cluster.preset` or `cluster.file`, and a `model` that says where the model comes from replace what was there. Problems go to `sink`.
[[nodiscard]] base::Yaml patched(const Patchable& base, const WhatIf& what_if, base::Diagnostics& sink);

// Returns the model's section with the files that it names made absolute, so that a plan that is made from it may be saved anywhere.
[[nodiscard]] base::Yaml with_absolute_files(base::Yaml model, const std::filesystem::path& directory);

// Returns the what-ifs in order, a sweep as one what-if for each of its points: the last of its keys changes fastest. Problems go to
// `sink`.
[[nodiscard]] std::vector<WhatIf> read_what_ifs(const base::Yaml& list, base::Diagnostics& sink);

}  // namespace scenarios
