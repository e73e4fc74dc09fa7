#pragma once
// The parallel operators: they change how a tensor is cut, not its elements. Pipeline and Batch change how many samples a tensor
// holds at a time.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pcg/sharding/parallel_shape.hpp"

namespace pcg {

// The new index is always the fastest one: Partition cuts block i into i*d .. i*d+d-1, Replicate makes copies c*d .. c*d+d-1 of copy c,
// Reduce adds sums s*d .. s*d+d-1 to sum s, Combine joins blocks i*d .. i*d+d-1 to block i.

struct Partition {
  int dim = 0;
  int degree = 1;
  bool operator==(const Partition&) const = default;
};  // degree[dim] *= d, new index fastest
struct Combine {
  int dim = 0;
  int degree = 1;
  bool operator==(const Combine&) const = default;
};  // degree[dim] /= d
struct Replicate {
  int degree = 1;
  bool operator==(const Replicate&) const = default;
};  // copy *= d
struct Reduce {
  int degree = 1;
  bool operator==(const Reduce&) const = default;
};  // sum /= d
struct Discard {
  int degree = 1;
  bool operator==(const Discard&) const = default;
};  // copy /= d: keeps copy i*d
struct Pipeline {
  int dim = 0;
  int count = 1;
  bool operator==(const Pipeline&) const = default;
};  // size[dim] /= n: micro-batches
struct Batch {
  int dim = 0;
  int count = 1;
  bool operator==(const Batch&) const = default;
};  // size[dim] *= n
using ParallelOperator = std::variant<Partition, Combine, Replicate, Reduce, Discard, Pipeline, Batch>;

// The name used in plan files and tables: "partition", "combine", ...
[[nodiscard]] std::string_view kind_name(const ParallelOperator& op);
// The names of all kinds, in the order of the alternatives of ParallelOperator.
[[nodiscard]] const std::vector<std::string>& parallel_operator_kind_names();
// Returns the parallel shape behind the operator, or why it does not apply; it makes at most kMostShards shards.
[[nodiscard]] base::Attempt<ParallelShape> try_apply(const ParallelOperator& op, const ParallelShape& in);
// Returns the parallel shape behind the operator. Throws: ShapeError when it does not apply.
[[nodiscard]] ParallelShape apply(const ParallelOperator& op, const ParallelShape& in);
// Returns a chain of parallel operators from one parallel shape of a tensor to another, in the order Reduce, Discard, Combine, Partition,
// Replicate; it is empty when the two are equal.
// Throws: ShapeError where there is none: the tensors differ, or to.sum does not divide from.sum (partial sums can be added, not made).
[[nodiscard]] std::vector<ParallelOperator> conversion(const ParallelShape& from, const ParallelShape& to);

}  // namespace pcg
