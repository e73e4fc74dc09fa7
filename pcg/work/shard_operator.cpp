#include "pcg/work/shard_operator.hpp"

#include <algorithm>

namespace pcg {

Operator shard_operator(const Operator& op, std::span<const TensorShape> whole_inputs, std::span<const TensorShape> shard_inputs) {
  if (const auto* scan = std::get_if<StateSpace>(&op)) {
    StateSpace shard = *scan;
    const std::int64_t cut = whole_inputs[0].sizes.back() / shard_inputs[0].sizes.back();
    shard.heads = std::max<std::int64_t>(1, scan->heads / cut);
    shard.groups = std::max<std::int64_t>(1, scan->groups / cut);
    return shard;
  }
  const Attention* whole = std::get_if<Attention>(&op);
  if (!whole) return op;
  Attention shard = *whole;
  const std::int64_t cut = whole_inputs[0].sizes.back() / shard_inputs[0].sizes.back();  // by heads, keys and values alike
  shard.heads = std::max<std::int64_t>(1, whole->heads / cut);
  shard.kv_heads = std::max<std::int64_t>(1, whole->kv_heads / cut);
  const std::size_t keys = whole->packed ? 0 : 1;
  const std::size_t sequence = whole_inputs[keys].sizes.size() - 2;
  if (shard_inputs[keys].sizes[sequence] < whole_inputs[keys].sizes[sequence]) shard.keys = whole_inputs[keys].sizes[sequence];
  return shard;
}

}  // namespace pcg
