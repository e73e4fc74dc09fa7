#pragma once
// From a `cluster:` section, a preset's name or a file to a Cluster.

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml/tree.hpp"
#include "topology/cluster.hpp"

namespace topology {

// Returns: a `cluster:` section with its preset, or the file that it names, resolved and its overrides applied: the tree that what-ifs
// patch. `path` is the section's place in messages ("cluster"); a relative file starts at `directory`.
// Throws: base::InputError.
[[nodiscard]] base::Yaml expand_cluster(const base::Yaml& section, const std::string& path, const std::filesystem::path& directory = {});
// Removes the keys of a section's network that a network of this type has not: they belong to the type before. For what changes the type.
void adopt_network_type(base::Yaml& cluster, std::string_view type);
// Returns: the cluster of an expanded section.
// Throws: base::InputError with every problem found.
[[nodiscard]] Cluster load_cluster(const base::Yaml& expanded, const std::string& path);
// Returns: the cluster that a word of the command line names: a preset or a file.
// Throws: base::InputError.
[[nodiscard]] Cluster load_cluster_argument(const std::string& word);

// --- the clusters that ship (topology/presets), each parsed once ---

[[nodiscard]] std::vector<std::string> preset_names();  // sorted
// Returns: the section `cluster:` of a preset, or nullptr when none has this name.
[[nodiscard]] const base::Yaml* preset_section(std::string_view name);
// Returns: the value in a preset's section that these keys lead to, one map below the other, or nullptr.
[[nodiscard]] const base::Yaml* preset_value(std::string_view preset, std::initializer_list<std::string_view> keys);
// Returns: the number of GPUs in a node of a preset: 0 when no preset has this name, or its nodes are of several types.
[[nodiscard]] int preset_gpus(std::string_view name);
// Returns: 'no preset is called "NAME"', as messages say it.
[[nodiscard]] std::string unknown_preset(std::string_view name);

}  // namespace topology
