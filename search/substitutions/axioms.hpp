#pragma once
// The properties of operators that proofs rest on, as data (axioms.yaml): name, statement, side conditions, source. Every one is validated,
// by Z3 over the reals with opaque functions uninterpreted, piece by piece, on every small shape and degree that it admits.

#include <cstdint>
#include <string>
#include <vector>

#include "search/substitutions/rule.hpp"

namespace substitutions {

struct Axiom {
  std::string name;                     // "linear.row", "concat.split0"
  std::string source;                   // "TASO 26", "Unity 4.2; B1"
  std::string statement;                // as written: "split0[axis 1 at x.1](concat[1](x, y)) = x"
  Equation equation;                    // typed with generic sizes; sides hold the same variables unless one side drops some
  std::vector<std::string> conditions;  // in words; what the types of the variables already say is not repeated
};

struct Axioms {
  std::vector<Axiom> all;
  std::string hash;  // of the file's text: rule files name it
};

// The axioms that ship. A schema in the file ("for: {f: [none, relu], k: [0, 1]}") is expanded into one axiom per instance; `schemas`
// counts them as written.
[[nodiscard]] const Axioms& axioms();
// Throws: base::InputError with every problem found.
[[nodiscard]] Axioms parse_axioms(std::string_view yaml, const std::string& file);

struct Validation {
  bool valid = false;
  int shapes = 0;  // sizes and degrees tried
  double seconds = 0;
  std::string failure;  // the first shape at which the sides differ, and where
};
// Every size of the variables' dims from 1 to 4 and every degree symbol from 1 to 3 that types both sides, at most `most_shapes` of them
// (all, for 0), evenly drawn.
[[nodiscard]] Validation validate(const Axiom& a, int most_shapes);

// Names of axioms that the others prove.
[[nodiscard]] std::vector<std::string> redundant(const Axioms& axioms);

}  // namespace substitutions
