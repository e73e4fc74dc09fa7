#include "pcg/resizing/operator_sizes.hpp"

namespace pcg {
namespace {

using Shapes = std::span<const TensorShape>;

void replace_shape(TensorShape& s, NewSizes& n) {
  for (std::size_t d = 0; d < s.sizes.size(); ++d) s.sizes[d] = n.output(0, d, s.sizes[d]);
}

// --- one overload per operator that carries sizes ---
template <class Other>
void resize_operator(Other&, NewSizes&, Shapes, Shapes) {}
void resize_operator(Input& o, NewSizes& n, Shapes, Shapes) { replace_shape(o.shape, n); }
void resize_operator(Weight& o, NewSizes& n, Shapes, Shapes) { replace_shape(o.shape, n); }
void resize_operator(Linear& o, NewSizes& n, Shapes before, Shapes) { o.out = n.output(0, before[0].sizes.size() - 1, o.out); }
void resize_operator(Conv2d& o, NewSizes& n, Shapes, Shapes) {
  o.out = n.output(0, 1, o.out);
  o.groups = static_cast<int>(n.count(o.groups));
}
void resize_operator(Attention& o, NewSizes& n, Shapes, Shapes) {
  o.heads = n.count(o.heads);
  o.kv_heads = n.count(o.kv_heads);
  if (o.window > 0) o.window = n.count(o.window);
}
void resize_operator(StateSpace& o, NewSizes& n, Shapes, Shapes) {
  o.heads = n.count(o.heads);
  o.groups = n.count(o.groups);
  o.state = n.count(o.state);
}
void resize_operator(Embedding& o, NewSizes& n, Shapes before, Shapes) {
  o.vocabulary = n.input(1, 0, o.vocabulary);
  o.width = n.output(0, before[0].sizes.size(), o.width);
}
void resize_operator(EmbeddingBag& o, NewSizes& n, Shapes, Shapes) {
  o.vocabulary = n.input(1, 0, o.vocabulary);
  o.width = n.output(0, 1, o.width);
}
void resize_operator(Split& o, NewSizes& n, Shapes before, Shapes) {
  const std::size_t axis = resolve_axis(o.axis, before[0].sizes.size());
  for (std::size_t i = 0; i < o.sizes.size(); ++i) o.sizes[i] = n.output(i, axis, o.sizes[i]);
}
// A slice of all stays one.
void resize_operator(Slice& o, NewSizes& n, Shapes before, Shapes after) {
  const auto axis = resolve_axis(o.axis, before[0].sizes.size());
  const std::int64_t old_size = before[0].sizes[axis], new_size = after[0].sizes[axis];
  o.begin = n.offset(axis, o.begin, old_size, new_size);
  o.length = o.length == old_size ? new_size : n.output(0, axis, o.length);
}
void resize_operator(Reshape& o, NewSizes& n, Shapes, Shapes) {
  for (std::size_t d = 0; d < o.sizes.size(); ++d)
    if (o.sizes[d] > 0) o.sizes[d] = n.output(0, d, o.sizes[d]);
}
void resize_operator(Broadcast& o, NewSizes& n, Shapes before, Shapes) {
  o.size = n.output(0, resolve_axis(o.axis, before[0].sizes.size()), o.size);
}
void resize_operator(ExpertLinear& o, NewSizes& n, Shapes, Shapes) { o.out = n.output(0, 3, o.out); }
// Groups say where tokens travel, not what comes of them: fewer experts may not divide into them.
template <class Routed>
void resize_routing(Routed& o, Shapes before, Shapes after) {
  if (before[1].sizes[2] != after[1].sizes[2]) o.groups = o.groups_per_token = 1;
}
void resize_operator(MoeDispatch& o, NewSizes&, Shapes before, Shapes after) { resize_routing(o, before, after); }
void resize_operator(MoeCombine& o, NewSizes&, Shapes before, Shapes after) { resize_routing(o, before, after); }

}  // namespace

Operator with_sizes(const Operator& op, NewSizes& sizes, std::span<const TensorShape> before, std::span<const TensorShape> after) {
  Operator result = op;
  std::visit([&](auto& o) { resize_operator(o, sizes, before, after); }, result);
  return result;
}

}  // namespace pcg
