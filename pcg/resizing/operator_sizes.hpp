#pragma once
// The free sizes that one operator carries, and the interface that it asks for new ones.

#include <cstddef>
#include <cstdint>
#include <span>

#include "pcg/operators/operator.hpp"

namespace pcg {

// Answers for one operator of a graph.
class NewSizes {
 public:
  virtual ~NewSizes() = default;
  // Returns the new value of a count that is no dim's size: heads, groups, a window.
  virtual std::int64_t count(std::int64_t old) = 0;
  // Return the new size of a dim of the operator's own output, or of its input.
  virtual std::int64_t output(std::size_t output, std::size_t dim, std::int64_t old) = 0;
  virtual std::int64_t input(std::size_t input, std::size_t dim, std::int64_t old) = 0;
  // Returns where an offset inside a dim of input 0 comes to lie. `old` and `now`: the dim's sizes.
  virtual std::int64_t offset(std::size_t dim, std::int64_t at, std::int64_t old, std::int64_t now) = 0;
};

// Returns the operator with its free sizes replaced; it asks for each of them. `before` and `after`: the shapes of its inputs in the old
// and the new graph.
[[nodiscard]] Operator with_sizes(const Operator& op, NewSizes& sizes, std::span<const TensorShape> before,
                                  std::span<const TensorShape> after);

}  // namespace pcg
