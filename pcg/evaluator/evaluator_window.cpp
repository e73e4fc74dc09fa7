// Convolution and pooling over the field.

#include "pcg/evaluator/evaluator_operator.hpp"
#include "pcg/evaluator/field.hpp"

namespace pcg {
namespace {

using field::Hash;

enum WindowTag : std::uint64_t { kMaximum = 201 };
constexpr std::uint64_t kOutside = std::uint64_t{1} << 40U;  // no value: marks padding in a window's hash

// The windows of an output shard, seen from the input.
struct Windows {
  Window rows, columns;
  std::int64_t first_row = 0, first_column = 0;  // the output shard's first row and column, counted in windows of the input
};

// Where rows or columns are cut and windows reach over the cut, the input is there whole.
Windows placed(const Window& rows, const Window& columns, const ShardTask& t) {
  const std::vector<std::int64_t>&x = t.inputs[0].place.offset, &y = t.outputs[0].place.offset;
  return {rows, columns, y[2] - x[2] / rows.stride, y[3] - x[3] / columns.stride};
}

// Visits the window of output (oh, ow) on an h x w plane: visit(kernel index, plane index), -1 outside.
template <class Visit>
void walk(const Windows& k, std::int64_t h, std::int64_t w, std::int64_t oh, std::int64_t ow, Visit&& visit) {
  const std::int64_t top = (k.first_row + oh) * k.rows.stride - k.rows.padding;
  const std::int64_t left = (k.first_column + ow) * k.columns.stride - k.columns.padding;
  for (std::int64_t i = 0; i < k.rows.kernel; ++i)
    for (std::int64_t j = 0; j < k.columns.kernel; ++j) {
      const std::int64_t y = top + i, x = left + j;
      visit(i * k.columns.kernel + j, y < 0 || y >= h || x < 0 || x >= w ? -1 : y * w + x);
    }
}

}  // namespace

FieldTensor run_conv2d(const Conv2d& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const FieldTensor& x = *t.inputs[0].values;
  const FieldTensor& w = *t.inputs[1].values;
  const Windows windows = placed(op.rows, op.columns, t);
  const std::vector<std::int64_t>&xs = x.shape.sizes, &ys = y.shape.sizes;
  const std::int64_t per_group = w.shape.sizes[1], groups = op.groups > 1 ? xs[1] / per_group : 1, outs = ys[1] / groups;
  const std::int64_t area = std::int64_t{op.rows.kernel} * op.columns.kernel, plane = xs[2] * xs[3];
  std::size_t to = 0;
  for (std::int64_t b = 0; b < ys[0]; ++b)
    for (std::int64_t n = 0; n < ys[1]; ++n)
      for (std::int64_t oh = 0; oh < ys[2]; ++oh)
        for (std::int64_t ow = 0; ow < ys[3]; ++ow) {
          std::uint64_t sum = op.has_bias && t.first_summand ? t.inputs[2].values->values[static_cast<std::size_t>(n)] : 0;
          const std::uint32_t* in = x.values.data() + (b * xs[1] + n / outs * per_group) * plane;
          const std::uint32_t* kernel = w.values.data() + n * per_group * area;
          walk(windows, xs[2], xs[3], oh, ow, [&](std::int64_t k, std::int64_t p) {
            for (std::int64_t c = 0; p >= 0 && c < per_group; ++c)
              sum += field::fold(std::uint64_t{in[c * plane + p]} * kernel[c * area + k]);
          });
          y.values[to++] = activate(op.activation, field::reduce(sum));
        }
  return y;
}

FieldTensor run_pool2d(const Pool2d& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const FieldTensor& x = *t.inputs[0].values;
  const std::vector<std::int64_t>&xs = x.shape.sizes, &ys = y.shape.sizes;
  const bool global = op.rows.kernel == 0 || op.columns.kernel == 0;
  const Windows windows =
      global ? placed({.kernel = static_cast<int>(xs[2])}, {.kernel = static_cast<int>(xs[3])}, t) : placed(op.rows, op.columns, t);
  const std::uint32_t share = field::inverse(static_cast<std::uint32_t>(windows.rows.kernel * windows.columns.kernel));
  std::size_t to = 0;
  for (std::int64_t image = 0; image < ys[0] * ys[1]; ++image)
    for (std::int64_t oh = 0; oh < ys[2]; ++oh)
      for (std::int64_t ow = 0; ow < ys[3]; ++ow) {
        const std::uint32_t* in = x.values.data() + image * xs[2] * xs[3];
        std::uint64_t sum = 0;
        Hash all(kMaximum);
        walk(windows, xs[2], xs[3], oh, ow, [&](std::int64_t, std::int64_t p) {
          sum += p < 0 ? 0 : in[p];
          all(p < 0 ? kOutside : in[p]);
        });
        y.values[to++] = op.kind == Pool2d::Kind::average ? field::multiply(field::reduce(sum), share) : all.element();
      }
  return y;
}

}  // namespace pcg
