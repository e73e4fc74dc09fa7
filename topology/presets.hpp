#pragma once
// The clusters that ship (topology/presets), as they were when the program was built. Each is parsed once.

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml/tree.hpp"

namespace topology {

[[nodiscard]] std::vector<std::string> preset_names();  // sorted
// Returns the section `cluster:` of a preset, or nullptr when none has this name.
[[nodiscard]] const base::Yaml* preset_section(std::string_view name);
// Returns the number of GPUs in a node of a preset: 0 when no preset has this name, or its nodes are of several types.
[[nodiscard]] int preset_gpus(std::string_view name);
// Returns 'no preset is called "NAME"', as messages say it.
[[nodiscard]] std::string unknown_preset(std::string_view name);

}  // namespace topology
