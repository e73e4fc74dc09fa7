#pragma once
// The values that terms compute: whole tensors over the prime field of order 2^31 - 1, at small sizes. Layout operators leave values alone.
// The arithmetic is that of pcg's evaluator (field_kernels.hpp); shards have a meaning of their own, which shares nothing with this one
// (axioms/shards.hpp).

#include <cstdint>
#include <span>
#include <vector>

#include "search/rules/language/term.hpp"
#include "search/rules/meaning/small_sizes.hpp"

namespace rules {

struct Value {
  std::vector<std::int64_t> sizes;
  std::vector<std::uint32_t> elements;  // row-major
  bool operator==(const Value&) const = default;
};

// Returns the value of a variable: pseudo-random from (seed, name); indices: below the rows of the largest table among `variables`, so
// some are beyond those of a smaller one.
[[nodiscard]] Value value_of(const Variable& v, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed);
// Returns the value of a node from those of its inputs. Requires: well typed, without a size condition (size_condition.hpp), no variable.
[[nodiscard]] Value value_of(const Node& n, std::span<const Value* const> inputs, const SmallSizes& sizes);
// Returns the values of all nodes; variables' values are pseudo-random from (seed, name). Requires: as above, of all nodes.
[[nodiscard]] std::vector<Value> values_of(const Term& t, std::span<const Variable> variables, const SmallSizes& sizes, std::uint64_t seed);

}  // namespace rules
