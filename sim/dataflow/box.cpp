#include "sim/dataflow/box.hpp"

#include <algorithm>

namespace sim {

double Box::volume() const {
  double v = 1;
  for (const Extent& e : dims) v *= static_cast<double>(std::max<std::int64_t>(0, e.end - e.begin));
  return v;
}

bool Box::contains(const Box& other) const {
  return std::ranges::equal(dims, other.dims,
                            [](const Extent& mine, const Extent& its) { return mine.begin <= its.begin && its.end <= mine.end; });
}

Box intersect(const Box& a, const Box& b) {
  Box r = a;
  for (std::size_t d = 0; d < r.dims.size(); ++d) {
    r.dims[d].begin = std::max(a.dims[d].begin, b.dims[d].begin);
    r.dims[d].end = std::max(r.dims[d].begin, std::min(a.dims[d].end, b.dims[d].end));
  }
  return r;
}

double overlap(const Box& a, const Box& b) {
  double v = 1;
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    const std::int64_t length = std::min(a.dims[d].end, b.dims[d].end) - std::max(a.dims[d].begin, b.dims[d].begin);
    if (length <= 0) return 0;
    v *= static_cast<double>(length);
  }
  return v;
}

Box box_of(const pcg::ParallelShape& shape, const pcg::ShardIndex& shard) {
  Box b;
  b.dims.reserve(shape.dims.size());
  for (std::size_t d = 0; d < shape.dims.size(); ++d) {
    const std::int64_t length = shape.dims[d].size / shape.dims[d].degree;
    b.dims.push_back({shard.block[d] * length, (shard.block[d] + 1) * length});
  }
  return b;
}

}  // namespace sim
