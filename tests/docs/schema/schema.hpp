#pragma once
// The JSON Schemas of docs/schemas, which are compiled in, made again of the tables of docs/formats (key_tables.hpp) and of the planners'
// options.

#include <string>
#include <vector>

namespace test {

// "scenario", "cluster", "model", ...
[[nodiscard]] std::vector<std::string> schema_kinds();

// Returns the schema (draft 2020-12) of a kind of file. It knows every key; what depends on several keys, such as degrees that have to
// divide, `foreshard check` finds. Requires: one of schema_kinds().
[[nodiscard]] std::string schema_json(const std::string& kind);

}  // namespace test
