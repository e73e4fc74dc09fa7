#pragma once
// The members of a TransformerConfig by the keys that a `transformer:` section has for them, and entries of files with such keys. Private
// to pcg/models.

#include <span>
#include <string_view>
#include <variant>

#include "base/yaml/tree.hpp"
#include "pcg/models/families/transformer.hpp"

namespace pcg::models {

// Sizes lie between `least` and `most`, as do numbers; "router" is whether it is sigmoid.
struct Field {
  std::string_view key;
  std::variant<std::int64_t TransformerConfig::*, bool TransformerConfig::*, double TransformerConfig::*, Unary::Kind TransformerConfig::*>
      member;
  double least = 1, most = kMostSize;
};
// All of one member each: a default may follow from members that come earlier.
[[nodiscard]] std::span<const Field> fields();
// nullptr: no such key.
[[nodiscard]] const Field* field(std::string_view key);
// An entry of a file of ours, with the keys of the entry that it is `like`, which its own replace. Those it may be like are in a map of
// the file.
[[nodiscard]] base::Yaml whole_section(const base::Yaml& file, base::Yaml entry);

}  // namespace pcg::models
