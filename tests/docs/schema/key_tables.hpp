#pragma once
// The tables of docs/formats as values. They are what describes a key: schemas are made of them, and tests hold readers against them.

#include <string>
#include <vector>

namespace test {

struct KeyRow {
  std::vector<std::string> keys;        // whole paths under the table's place: "network.links", "node.wires[].link"
  std::string type, by_default, means;  // as written; empty where the table has no such column
  std::string text;                     // the whole row
};

struct KeyTable {
  std::string name;                  // the heading, and behind ": " the line above the table where that names it
  std::vector<std::string> columns;  // of the header
  std::vector<KeyRow> rows;
};

// Returns every table of the document, in order; cells of a row that has no key count towards the key above it.
[[nodiscard]] std::vector<KeyTable> tables_of(const std::string& document);

// The words in backticks, in order.
[[nodiscard]] std::vector<std::string> code_words(const std::string& text);

}  // namespace test
