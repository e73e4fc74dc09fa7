#pragma once
// The readers of the tables of keys in docs/formats, each with sound documents that have a value at every map that the table describes.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml/tree.hpp"

namespace test {

struct KeyReader {
  std::string table;  // KeyTable::name
  std::string place;  // of the table's keys in the documents: "", "model.transformer", "plans[0].megatron"
  std::vector<base::Yaml> documents;
  std::function<void(const base::Yaml&)> load;                          // throws base::InputError
  std::function<bool(const base::Yaml&, const base::Yaml&)> same = {};  // both are read as one value; empty: nobody can tell
  std::vector<std::string> elsewhere = {};                              // keys of the same maps that other text describes
  std::vector<std::pair<std::string, std::string>> alike = {};          // a map has the keys of another, too: its path and the other's
  bool all_required = false;                                            // the table has no defaults: every key must be there
};

// `of_operators`: keys and loops that the table of operators gives.
[[nodiscard]] std::vector<KeyReader> key_readers(const std::vector<std::string>& of_operators);

}  // namespace test
