#pragma once
// Reads `network:` of a `cluster:` section. Private to this folder.

#include <string>
#include <string_view>

#include "base/diagnostics.hpp"
#include "base/yaml/tree.hpp"
#include "topology/description.hpp"

namespace topology {

// Returns the network. `cluster`: with its link types and node types. Problems go to `sink`.
[[nodiscard]] Network read_network(const base::Yaml& section, const std::string& path, const ClusterDescription& cluster,
                                   base::Diagnostics& sink);

// Removes the keys that a network of this type has not: those that a preset or a scenario has for the type before.
void drop_keys_of_other_types(base::Yaml& network, std::string_view type);

}  // namespace topology
