#pragma once
// Text to a tree.

#include <filesystem>
#include <string>

#include "base/yaml/tree.hpp"

namespace base {

// Returns: the tree of the text, or of the file's text. `name` stands for the file in messages.
// Throws: InputError: not YAML, not UTF-8, more than one document, a tag, an alias, a key that is no text, a duplicate key (all of them at
// once), lists and maps nested too deeply, an unreadable or empty file.
[[nodiscard]] Yaml parse_yaml(std::string text, std::string name);
[[nodiscard]] Yaml read_yaml(const std::filesystem::path& file);

}  // namespace base
