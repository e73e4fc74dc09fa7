#pragma once
// Reads one node of a `cluster:` section: its GPUs, components and wires. Private to this folder.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/yaml/reader.hpp"
#include "topology/description.hpp"

namespace topology {

inline constexpr int kMaxNodes = 100'000;  // more than any cluster has: a slip of the pen is found before memory fills

// Returns the index of the link type named at `key`. Returns nullopt when the key is absent or wrong, and reports a wrong one.
[[nodiscard]] std::optional<int> read_link_name(base::MapReader& map, std::string_view key, const std::vector<LinkType>& links);

// Returns a node type. `count`: nodes of this type, where the node itself does not say. `preset_gpus`: as in read_description. Problems go
// to `sink`.
[[nodiscard]] NodeType read_node_type(const base::Yaml& node, const std::string& path, std::optional<int> count,
                                      const std::vector<LinkType>& links, int preset_gpus, base::Diagnostics& sink);

}  // namespace topology
