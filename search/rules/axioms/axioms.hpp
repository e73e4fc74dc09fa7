#pragma once
// The properties of operators that proofs are based on, as data (axioms.yaml): name, statement, side conditions, source. They ship, so
// tests hold every one of them against independent semantics of the operators (tests/oracles/axioms). Start here: axioms() has each
// AxiomEntry as written, and its instances (Axiom).

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules {

// One instance of an entry: no placeholders left.
struct Axiom {
  std::size_t entry = 0;  // index into Axioms::entries
  std::string instance;   // "concat.add[k=1]": the entry's name and its row of the tables
  // Sizes of the variables' dims are letters, layouts are not said: the axiom is about every layout of the variables that types both sides.
  // A variable that no side uses only names sizes.
  Equation equation;
};

// As written in the file.
struct AxiomEntry {
  std::string name;                     // "linear.rows", "split0.concat"
  std::string source;                   // "TASO 26", "Unity B1"
  std::string statement;                // "split0[{k} at x.{k}](concat[{k}](x, y)) = x"
  std::vector<std::string> conditions;  // in words; what the sizes of the variables already say is not repeated
  std::size_t first = 0, count = 0;     // instances: all[first ..]
};

struct Axioms {
  std::vector<AxiomEntry> entries;
  std::vector<Axiom> all;
  std::string hash;  // of the file's text: rule files name it
};

// Returns: the axioms that ship.
[[nodiscard]] const Axioms& axioms();
// Returns: the axioms of a text.
// Throws: base::InputError with every problem found.
[[nodiscard]] Axioms parse_axioms(std::string_view yaml, const std::string& file);

}  // namespace rules
