#pragma once
// What the column of types in the tables of docs/formats says a reader takes and refuses.

#include <optional>
#include <string>
#include <vector>

#include "tests/docs/schema/key_tables.hpp"

namespace test {

// What a type says. Values are YAML, as a person writes them.
struct Samples {
  std::vector<std::string> accepted, refused;
};
[[nodiscard]] Samples samples_of(const std::string& type);

// Returns the value that a cell of defaults names, as YAML; nullopt: the cell is prose, or empty.
[[nodiscard]] std::optional<std::string> default_value(const std::string& cell);

}  // namespace test
