// Operators that only move values: concat, split, slice, transpose, broadcast.

#include <algorithm>

#include "pcg/evaluator/evaluator_operator.hpp"

namespace pcg {
namespace {

using Sizes = std::vector<std::int64_t>;

// Copies `length` layers of an axis from one tensor to another.
void copy_layers(const FieldTensor& from, std::int64_t begin, FieldTensor& to, std::int64_t at, std::int64_t length, std::size_t axis) {
  const Around a(from.shape.sizes, axis), b(to.shape.sizes, axis);
  for (std::int64_t o = 0; o < a.outer; ++o)
    std::copy_n(from.values.begin() + static_cast<std::ptrdiff_t>(a.at(o, begin, 0)), length * a.inner,
                to.values.begin() + static_cast<std::ptrdiff_t>(b.at(o, at, 0)));
}

}  // namespace

FieldTensor run_concat(const Concat& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::size_t axis = resolve_axis(op.axis, y.shape.sizes.size());
  std::int64_t at = 0;
  for (const Operand& in : t.inputs) {
    copy_layers(*in.values, 0, y, at, in.sizes()[axis], axis);
    at += in.sizes()[axis];
  }
  return y;
}
std::vector<FieldTensor> run_split(const Split& op, const ShardTask& t) {
  std::vector<FieldTensor> result;
  const std::size_t axis = resolve_axis(op.axis, t.inputs[0].sizes().size());
  std::int64_t begin = 0;
  for (const OutputShard& out : t.outputs) {
    result.push_back(blank(out));
    copy_layers(*t.inputs[0].values, begin, result.back(), 0, out.shape.sizes[axis], axis);
    begin += out.shape.sizes[axis];
  }
  return result;
}
FieldTensor run_slice(const Slice& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  copy_layers(*t.inputs[0].values, op.begin, y, 0, op.length, resolve_axis(op.axis, y.shape.sizes.size()));
  return y;
}

FieldTensor run_transpose(const Transpose& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const Sizes& in = t.inputs[0].sizes();
  Sizes step;  // of each output dim, in the input
  for (int from : op.permutation) step.push_back(Around(in, static_cast<std::size_t>(from)).inner);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), index = 0;
    for (std::size_t d = in.size(); d-- > 0;) {
      index += rest % y.shape.sizes[d] * step[d];
      rest /= y.shape.sizes[d];
    }
    y.values[i] = t.inputs[0].values->values[static_cast<std::size_t>(index)];
  }
  return y;
}

FieldTensor run_broadcast(const Broadcast& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::size_t axis = resolve_axis(op.axis, y.shape.sizes.size());
  for (std::int64_t at = 0; at < y.shape.sizes[axis]; ++at) copy_layers(*t.inputs[0].values, 0, y, at, 1, axis);
  return y;
}

}  // namespace pcg
