#include "pcg/evaluator/shard_task.hpp"

namespace pcg {

FieldTensor blank(const OutputShard& out) {
  return {out.shape, std::vector<std::uint32_t>(static_cast<std::size_t>(out.shape.elements()))};
}

std::uint64_t global_index(const Place& place, const std::vector<std::int64_t>& sizes, std::int64_t index) {
  std::int64_t result = 0, step = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    result += (place.offset[d] + index % sizes[d]) * step;
    index /= sizes[d];
    step *= place.whole[d];
  }
  return static_cast<std::uint64_t>(result);
}

}  // namespace pcg
