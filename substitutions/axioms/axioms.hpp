#pragma once
// The properties of operators that proofs rest on, as data (axioms.yaml): name, statement, side conditions, source. Every one is validated,
// by Z3 over the reals with opaque functions uninterpreted, shard by shard, on every small shape and degree that it admits.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "substitutions/language/rule.hpp"

namespace substitutions {

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

// The axioms that ship.
[[nodiscard]] const Axioms& axioms();
// Throws: base::InputError with every problem found.
[[nodiscard]] Axioms parse_axioms(std::string_view yaml, const std::string& file);

struct Validation {
  bool valid = false;
  bool all = false;  // every size was tried (where there are many: of few elements); else evenly drawn ones, of few elements
  int shapes = 0;    // sizes, degrees and layouts of the variables at which the sides were held against each other
  double seconds = 0;
  std::string failure;  // the first shape at which the sides differ, and where
};
// Every size of the dims from 1 to 4 and every value of d and e from 2 to 3 where those are at most 64 together, else `most_shapes` evenly
// drawn ones: with the plainest layout of the variables that types both sides, and with drawn layouts (dims and summands cut by up to 6, up
// to 3 copies). Fewer than kDrawnSizes: so many in any case.
inline constexpr int kDrawnSizes = 8;
// As `most_shapes`: every size, of at most 24 elements a tensor where there are more than 64.
inline constexpr int kEverySize = std::numeric_limits<int>::max();
[[nodiscard]] Validation validate(const Axiom& a, int most_shapes);
// All instances of an entry, `most_shapes` for each; 0: a number that keeps an entry's cost within seconds.
[[nodiscard]] Validation validate(const Axioms& axioms, const AxiomEntry& e, int most_shapes);
// Of all entries, in order. Deterministic but for the seconds.
[[nodiscard]] std::vector<Validation> validate_all(const Axioms& axioms, int most_shapes, int threads);

// Names of the entries that the others prove.
[[nodiscard]] std::vector<std::string> redundant(const Axioms& axioms);

}  // namespace substitutions
