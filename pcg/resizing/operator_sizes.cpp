#include "pcg/resizing/operator_sizes.hpp"

namespace pcg {
namespace {

using Shapes = std::span<const TensorShape>;

std::int64_t look_up(const SizeMap& map, std::int64_t size) {
  const auto it = map.find(size);
  return it == map.end() ? size : it->second;
}

void map_shape(TensorShape& s, const SizeMap& map) {
  for (std::int64_t& size : s.sizes) size = look_up(map, size);
}

// --- one overload per operator that carries sizes ---
template <class Other>
void resize_operator(Other&, const SizeMap&, Shapes, Shapes) {}
void resize_operator(Input& o, const SizeMap& m, Shapes, Shapes) { map_shape(o.shape, m); }
void resize_operator(Linear& o, const SizeMap& m, Shapes, Shapes) { o.out = look_up(m, o.out); }
void resize_operator(Conv2d& o, const SizeMap& m, Shapes, Shapes) {
  o.out = look_up(m, o.out);
  o.groups = static_cast<int>(look_up(m, o.groups));
}
void resize_operator(Attention& o, const SizeMap& m, Shapes, Shapes) {
  o.heads = look_up(m, o.heads);
  o.kv_heads = look_up(m, o.kv_heads);
  o.window = look_up(m, o.window);
}
void resize_operator(Embedding& o, const SizeMap& m, Shapes, Shapes) {
  o.vocabulary = look_up(m, o.vocabulary);
  o.width = look_up(m, o.width);
}
void resize_operator(EmbeddingBag& o, const SizeMap& m, Shapes, Shapes) {
  o.vocabulary = look_up(m, o.vocabulary);
  o.width = look_up(m, o.width);
}
void resize_operator(Split& o, const SizeMap& m, Shapes, Shapes) {
  for (std::int64_t& size : o.sizes) size = look_up(m, size);
}
// A slice of all stays one; of another the first element keeps its place in proportion.
void resize_operator(Slice& o, const SizeMap& m, Shapes before, Shapes after) {
  const auto axis = resolve_axis(o.axis, before[0].sizes.size());
  const std::int64_t old_size = before[0].sizes[axis], new_size = after[0].sizes[axis];
  o.length = o.length == old_size ? new_size : look_up(m, o.length);
  const auto it = m.find(o.begin);
  o.begin = it != m.end() ? it->second : o.begin * new_size / old_size;
}
void resize_operator(Reshape& o, const SizeMap& m, Shapes, Shapes) {
  for (std::int64_t& size : o.sizes)
    if (size > 0) size = look_up(m, size);
}
void resize_operator(Broadcast& o, const SizeMap& m, Shapes, Shapes) { o.size = look_up(m, o.size); }
void resize_operator(ExpertLinear& o, const SizeMap& m, Shapes, Shapes) { o.out = look_up(m, o.out); }
// Groups say where tokens travel, not what comes of them: fewer experts may not divide into them.
template <class Routed>
void resize_routing(Routed& o, Shapes before, Shapes after) {
  if (before[1].sizes[2] != after[1].sizes[2]) o.groups = o.groups_per_token = 1;
}
void resize_operator(MoeDispatch& o, const SizeMap&, Shapes before, Shapes after) { resize_routing(o, before, after); }
void resize_operator(MoeCombine& o, const SizeMap&, Shapes before, Shapes after) { resize_routing(o, before, after); }

template <class Other>
std::vector<std::int64_t> sizes_of(const Other&) {
  return {};
}
std::vector<std::int64_t> sizes_of(const Input& o) { return o.shape.sizes; }
std::vector<std::int64_t> sizes_of(const Linear& o) { return {o.out}; }
std::vector<std::int64_t> sizes_of(const Conv2d& o) { return {o.out, o.groups}; }
std::vector<std::int64_t> sizes_of(const Attention& o) {
  return o.window > 0 ? std::vector<std::int64_t>{o.heads, o.kv_heads, o.window} : std::vector<std::int64_t>{o.heads, o.kv_heads};
}
std::vector<std::int64_t> sizes_of(const Embedding& o) { return {o.vocabulary, o.width}; }
std::vector<std::int64_t> sizes_of(const EmbeddingBag& o) { return {o.vocabulary, o.width}; }
std::vector<std::int64_t> sizes_of(const Split& o) { return o.sizes; }
std::vector<std::int64_t> sizes_of(const Slice& o) { return {o.length}; }
std::vector<std::int64_t> sizes_of(const Reshape& o) { return o.sizes; }
std::vector<std::int64_t> sizes_of(const Broadcast& o) { return {o.size}; }
std::vector<std::int64_t> sizes_of(const ExpertLinear& o) { return {o.out}; }

}  // namespace

Operator with_sizes(const Operator& op, const SizeMap& map, std::span<const TensorShape> before, std::span<const TensorShape> after) {
  Operator result = op;
  std::visit([&](auto& o) { resize_operator(o, map, before, after); }, result);
  return result;
}

std::vector<std::int64_t> free_sizes(const Operator& op) {
  return std::visit([](const auto& o) { return sizes_of(o); }, op);
}

}  // namespace pcg
