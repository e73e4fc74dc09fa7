#pragma once
// Text to a tree.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/yaml/tree.hpp"

namespace base {

// Returns: the tree of the text, or of the file's text. `name` stands for the file in messages.
// Throws: InputError: not YAML, not UTF-8, more than one document, a tag, an alias, a key that is no text, a duplicate key (all of them at
// once), lists and maps nested too deeply, an unreadable or empty file.
[[nodiscard]] Yaml parse_yaml(std::string text, std::string name);
[[nodiscard]] Yaml read_yaml(const std::filesystem::path& file);
// Returns: the tree of the file that a value names, from the folder on.
// Throws: InputError: as above, and at the value, whose path is `path`, where there is no such file.
[[nodiscard]] Yaml read_yaml(const Yaml& name, const std::string& path, const std::filesystem::path& directory);

// Returns: the tree in block style, indented by two spaces; a value that is at most two levels deep and fits in 120 columns is one line.
// Keeps: parse_yaml(emit_yaml(y)) equals y except for its marks and for which scalars are quoted.
[[nodiscard]] std::string emit_yaml(const Yaml& y);
// Returns: the tree in one line, "{preset: summit, nodes: 4}", however long it is.
[[nodiscard]] std::string flow_text(const Yaml& y);

// True if `text`, written bare inside any block or flow collection, reads back as a scalar with that very text.
// Conservative: some texts that YAML allows bare are refused.
[[nodiscard]] bool can_be_plain(std::string_view text);

}  // namespace base
