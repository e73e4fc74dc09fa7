#pragma once
// Changes a tree at a path: what-ifs, sweeps and the keys beside a preset.

#include <string>
#include <string_view>

#include "base/diagnostics.hpp"
#include "base/yaml/tree.hpp"

namespace base {

// Whether a patch may add a key that the tree does not have yet.
enum class UnknownKey { refuse, add };

// Patches `root` at a dotted path ("links.infiniband.bandwidth", "wires[2].link"). A value "4x" or "+10%"/"-10%" scales the number that
// is there (its unit stays; an integer must stay one); anything else replaces the old value, and maps are merged.
// Reports in `sink`: an unknown path, with the nearest known one (unless the key may be added); a scaling of something that is no number;
// a bare number for a quantity that carries a unit (400 instead of "12.5 GB/s"), with the cure.
void patch_yaml(Yaml& root, std::string_view dotted_path, const Yaml& value, Diagnostics& sink, const std::string& value_path,
                UnknownKey unknown = UnknownKey::refuse);

// Returns: the value at a dotted path, or nullptr.
[[nodiscard]] Yaml* find_at(Yaml& root, std::string_view dotted_path);

}  // namespace base
