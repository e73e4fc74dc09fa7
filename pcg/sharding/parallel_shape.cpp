#include "pcg/sharding/parallel_shape.hpp"

#include <fmt/core.h>

namespace pcg {

int ParallelShape::shards() const {
  int n = sum * copy;
  for (const ParallelDim& d : dims) n *= d.degree;
  return n;
}

TensorShape ParallelShape::whole() const {
  TensorShape t;
  t.element = element;
  for (const ParallelDim& d : dims) t.sizes.push_back(d.size);
  return t;
}

TensorShape ParallelShape::shard() const {
  TensorShape t;
  t.element = element;
  for (const ParallelDim& d : dims) t.sizes.push_back(d.size / d.degree);
  return t;
}

ParallelShape unsharded(const TensorShape& s) {
  ParallelShape p;
  p.element = s.element;
  for (std::int64_t size : s.sizes) p.dims.push_back({size, 1});
  return p;
}

std::string to_text(const ParallelShape& s) {
  std::string text = "[";
  for (std::size_t d = 0; d < s.dims.size(); ++d) {
    text += fmt::format("{}{}", d == 0 ? "" : ", ", s.dims[d].size);
    if (s.dims[d].degree > 1) text += fmt::format("/{}", s.dims[d].degree);
  }
  text += "]";
  if (s.sum > 1) text += fmt::format(" sum {}", s.sum);
  if (s.copy > 1) text += fmt::format(" copy {}", s.copy);
  if (s.element == Element::index) text += " index";
  return text;
}

ShardIndex shard_index(const ParallelShape& s, int shard) {
  ShardIndex i;
  i.block.resize(s.dims.size());
  for (std::size_t d = s.dims.size(); d-- > 0;) {
    i.block[d] = shard % s.dims[d].degree;
    shard /= s.dims[d].degree;
  }
  i.copy = shard % s.copy;
  i.sum = shard / s.copy;
  return i;
}

int shard_number(const ParallelShape& s, const ShardIndex& i) {
  int n = i.sum * s.copy + i.copy;
  for (std::size_t d = 0; d < s.dims.size(); ++d) n = n * s.dims[d].degree + i.block[d];
  return n;
}

}  // namespace pcg
