#include "pcg/evaluator/evaluator_movement.hpp"

#include "pcg/evaluator/field_kernels.hpp"

namespace pcg {
namespace {

// Copies `length` layers of an axis from one tensor to another.
void copy(const FieldTensor& from, std::int64_t begin, FieldTensor& to, std::int64_t at, std::int64_t length, std::size_t axis) {
  field::copy_layers({from.shape.sizes, axis}, from.values, begin, {to.shape.sizes, axis}, to.values, at, length);
}

}  // namespace

FieldTensor run_concat(const Concat& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::size_t axis = resolve_axis(op.axis, y.shape.sizes.size());
  std::int64_t at = 0;
  for (const Operand& in : t.inputs) {
    copy(*in.values, 0, y, at, in.sizes()[axis], axis);
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
    copy(*t.inputs[0].values, begin, result.back(), 0, out.shape.sizes[axis], axis);
    begin += out.shape.sizes[axis];
  }
  return result;
}
FieldTensor run_slice(const Slice& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  copy(*t.inputs[0].values, op.begin, y, 0, op.length, resolve_axis(op.axis, y.shape.sizes.size()));
  return y;
}

FieldTensor run_transpose(const Transpose& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  field::permute(t.inputs[0].sizes(), t.inputs[0].values->values, op.permutation, y.values);
  return y;
}

FieldTensor run_broadcast(const Broadcast& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::size_t axis = resolve_axis(op.axis, y.shape.sizes.size());
  for (std::int64_t at = 0; at < y.shape.sizes[axis]; ++at) copy(*t.inputs[0].values, 0, y, at, 1, axis);
  return y;
}

}  // namespace pcg
