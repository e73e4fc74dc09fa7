#pragma once
// The values that terms compute: whole tensors over the prime field of order 2^31 - 1, at small sizes. Layout operators leave values alone.
// The arithmetic is that of pcg's evaluator (field_kernels.hpp); shards have semantics of their own, which share nothing with these
// (axioms/shards.hpp).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/rules/language/term.hpp"

namespace rules {

// Small sizes for the size symbols (letters) of some variables, drawn from a seed: different symbols get different sizes from 2 on.
// Seeds 2 i and 2 i + 1 order them in opposite directions, so that nothing holds at both because one of two sizes is the smaller. A symbol
// alone gets five sizes at any five seeds in a row, 2 to 5 and 7, so that nothing holds because a tensor has two rows.
class SmallSizes {
 public:
  SmallSizes(std::span<const Variable> variables, std::uint64_t seed);
  // Returns: the small number for typing sizes: sums and multiples of symbols get the sums and multiples of their small numbers, plain
  // numbers stay what they are.
  // Throws: std::logic_error for what is neither.
  [[nodiscard]] std::int64_t of(const Numbers& typing_sizes) const;

 private:
  LetterSizes small_{};  // 0: not a symbol of the variables
};

struct Value {
  std::vector<std::int64_t> sizes;
  std::vector<std::uint32_t> elements;  // row-major
  bool operator==(const Value&) const = default;
};

// Returns: the value of a variable: pseudo-random from (seed, name); indices: below the rows of the largest table among `variables`, so
// some are beyond those of a smaller one.
[[nodiscard]] Value value_of(const Variable& v, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed);
// Returns: the value of a node from those of its inputs.
// Requires: well typed, without a size condition (size_condition()), no variable.
[[nodiscard]] Value value_of(const Node& n, std::span<const Value* const> inputs, const SmallSizes& sizes);
// Returns: the values of all nodes; variables' values are pseudo-random from (seed, name).
// Requires: as above, of all nodes.
[[nodiscard]] std::vector<Value> values_of(const Term& t, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed);
// Returns: the same of whole numbers from -2 to 2, with what relu, relu2 and max pools are in place of stand-ins; nullopt: a number becomes
// so large that the field could not tell its sign.
// Requires: as above, no other function (stand_ins_of()) and no average.
[[nodiscard]] std::optional<std::vector<Value>> whole_numbers_of(const Term& t, std::span<const Variable> variables,
                                                                 const SmallSizes& sizes, std::uint64_t seed);

}  // namespace rules
