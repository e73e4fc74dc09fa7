#pragma once
// The shape of a parallel tensor. A tensor is cut along its dims, each by a degree. Besides, it may exist as `sum` shards that have to be
// added (the sum degree: the partial-sum degree of the literature) and as `copy` shards that are equal (the copy degree: the replication
// degree). Its value is the sum over s, of any one of c, concatenated over the dims. Unity (OSDI'22, section 3) has one replica dimension
// instead of the two degrees; why two: docs/decisions/0001-sum-and-copy-degrees.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pcg/operators/tensor.hpp"

namespace pcg {

// The most shards of a tensor and points of an operator: far above any cluster, and every number of a shard fits in an int.
constexpr int kMostShards = 1 << 24;

struct ParallelDim {
  std::int64_t size = 1;  // of the whole tensor
  int degree = 1;         // divides size
  auto operator<=>(const ParallelDim&) const = default;
};

struct ParallelShape {
  std::vector<ParallelDim> dims;
  int sum = 1;
  int copy = 1;
  Element element = Element::real;

  [[nodiscard]] int shards() const;  // sum * copy * product of degrees
  [[nodiscard]] TensorShape whole() const;
  [[nodiscard]] TensorShape shard() const;  // sizes / degrees
  bool operator==(const ParallelShape&) const = default;
};
[[nodiscard]] ParallelShape unsharded(const TensorShape& s);
[[nodiscard]] std::string to_text(const ParallelShape& s);  // "[64/8, 512, 1024/2] copy 4"; degrees of 1 are not written

// Shard number <-> coordinates: mixed radix, outermost first: sum, copy, dim 0, dim 1, ... A dim's coordinate i is its i-th block.
struct ShardIndex {
  int sum = 0;
  int copy = 0;
  std::vector<int> block;  // one per dim
  bool operator==(const ShardIndex&) const = default;
};
[[nodiscard]] ShardIndex shard_index(const ParallelShape& s, int shard);
[[nodiscard]] int shard_number(const ParallelShape& s, const ShardIndex& i);

// The parallel operators: they change how a tensor is cut, not its elements. Pipeline and Batch change how many samples a tensor holds at
// a time. The new index is always the fastest one: Partition cuts block i into i*d .. i*d+d-1, Replicate makes copies c*d .. c*d+d-1 of
// copy c, Reduce adds sums s*d .. s*d+d-1 to sum s, Combine joins blocks i*d .. i*d+d-1 to block i.

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
// Returns the parallel shape after the operator, or why it does not apply; it makes at most kMostShards shards.
[[nodiscard]] base::Attempt<ParallelShape> try_apply(const ParallelOperator& op, const ParallelShape& in);
// Returns the parallel shape after the operator. Throws: ShapeError when it does not apply.
[[nodiscard]] ParallelShape apply(const ParallelOperator& op, const ParallelShape& in);
// Returns a chain of parallel operators from one parallel shape of a tensor to another, in the order Reduce, Discard, Combine, Partition,
// Replicate; it is empty when the two are equal.
// Throws: ShapeError where there is none: the tensors differ, or to.sum does not divide from.sum (partial sums can be added, not made).
[[nodiscard]] std::vector<ParallelOperator> conversion(const ParallelShape& from, const ParallelShape& to);

}  // namespace pcg
