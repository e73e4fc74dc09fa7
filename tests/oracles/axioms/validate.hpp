#pragma once
// Axioms held against the independent semantics of operators (shards.hpp), shard by shard, at small sizes, degrees and layouts.

#include <limits>
#include <string>
#include <vector>

#include "search/rules/axioms/axioms.hpp"

namespace rules {

struct Validation {
  bool valid = false;
  bool all = false;  // every size was tried (where there are many: of few elements); else evenly drawn ones, of few elements
  int shapes = 0;    // sizes, degrees and layouts of the variables at which the sides were held against each other
  double seconds = 0;
  std::string failure;  // the first shape at which the sides differ, and where
};

// The number of shapes from which a validation is more than a glance: with as many or more, an axiom of few sizes is tried at all of them.
inline constexpr int kDrawnSizes = 8;
// As `most_shapes`: every size, of at most 24 elements a tensor where there are more than 64 sizes.
inline constexpr int kEverySize = std::numeric_limits<int>::max();

// Tries every size of the dims from 1 to 4 (and 6 where two degrees or attention ask for it) and every value of d and e from 2 to 3 where
// those are at most 64 together, else `most_shapes` evenly drawn ones. Each is tried with the plainest layout of the variables that types
// both sides, and the first of them, at most 24, also with one drawn layout (dims and summands cut by up to 6, up to 3 copies). With
// most_shapes < kDrawnSizes, that number of shapes is drawn in any case.
[[nodiscard]] Validation validate(const Axiom& a, int most_shapes);
// The same for all instances of an entry, `most_shapes` for each; 0: a number that keeps an entry's cost within seconds.
[[nodiscard]] Validation validate(const Axioms& axioms, const AxiomEntry& e, int most_shapes);
// The same for all entries, in order. Deterministic but for the seconds, unless Z3 meets its time limit of some
// seconds at a comparison, which then counts as a failure.
[[nodiscard]] std::vector<Validation> validate_all(const Axioms& axioms, int most_shapes, int threads);

}  // namespace rules
