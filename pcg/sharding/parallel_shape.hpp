#pragma once
// The shape of a parallel tensor. A tensor is cut along its dims, each by a degree. Besides, it may exist as `sum` shards that have to be
// added (the sum degree: the partial-sum degree of the literature) and as `copy` shards that are equal (the copy degree: the replication
// degree). Its value is the sum over s, of any one of c, concatenated over the dims. Unity (OSDI'22, section 3) has one replica dimension
// instead of the two degrees; why two: docs/decisions/0001-sum-and-copy-degrees.md.

#include <cstdint>
#include <string>
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

}  // namespace pcg
