#include "pcg/evaluator/evaluator_window.hpp"

#include "pcg/evaluator/evaluator_activation.hpp"
#include "pcg/evaluator/field.hpp"
#include "pcg/evaluator/field_kernels.hpp"

namespace pcg {
namespace {

// Where rows or columns are cut and windows reach over the cut, the input is there whole, and the output's first window lies inside it.
field::Windows placed(const Window& rows, const Window& columns, const ShardTask& t) {
  const std::vector<std::int64_t>&x = t.inputs[0].place.offset, &y = t.outputs[0].place.offset;
  return {rows, columns, y[2] - x[2] / rows.stride, y[3] - x[3] / columns.stride};
}
field::Images images(const Operand& x) { return {x.sizes(), x.values->values}; }

}  // namespace

FieldTensor run_conv2d(const Conv2d& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  std::vector<std::uint64_t> sums(y.values.size(), 0);
  field::add_convolution(placed(op.rows, op.columns, t), images(t.inputs[0]), images(t.inputs[1]), y.shape.sizes, sums);
  const bool bias = op.has_bias && t.first_summand;
  const auto channels = static_cast<std::size_t>(y.shape.sizes[1]), plane = static_cast<std::size_t>(y.shape.sizes[2] * y.shape.sizes[3]);
  for (std::size_t i = 0; i < sums.size(); ++i)
    y.values[i] = activate(op.activation, field::reduce(sums[i] + (bias ? t.inputs[2].values->values[i / plane % channels] : 0)));
  return y;
}

FieldTensor run_pool2d(const Pool2d& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const std::vector<std::int64_t>& xs = t.inputs[0].sizes();
  const bool global = op.rows.kernel == 0 || op.columns.kernel == 0;
  const field::Windows windows =
      global ? placed({.kernel = static_cast<int>(xs[2])}, {.kernel = static_cast<int>(xs[3])}, t) : placed(op.rows, op.columns, t);
  field::pool(op.kind, windows, images(t.inputs[0]), y.shape.sizes, y.values);
  return y;
}

}  // namespace pcg
