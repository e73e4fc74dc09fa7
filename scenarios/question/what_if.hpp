#pragma once
// A what-if: a change of the scenario by path and value.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml/tree.hpp"

namespace scenarios {

struct WhatIf {
  std::string name;
  std::vector<std::pair<std::string, base::Yaml>> set;  // "cluster.links.infiniband.bandwidth" -> 4x
};

// Returns the document with every `set` of a what-if applied; problems go to `sink`. `path` is the what-if's place ("what_if[0]"),
// `directory` the scenario's.
[[nodiscard]] base::Yaml patched(base::Yaml document, const WhatIf& what_if, const std::string& path,
                                 const std::filesystem::path& directory, base::Diagnostics& sink);

}  // namespace scenarios
