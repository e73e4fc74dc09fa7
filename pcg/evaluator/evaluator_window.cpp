// Convolution and pooling over the field.

#include "pcg/evaluator/evaluator_operator.hpp"
#include "pcg/evaluator/field.hpp"

namespace pcg {
namespace {

using field::Hash;

enum Tag : std::uint64_t { kMaximum = 201 };
constexpr std::uint64_t kOutside = std::uint64_t{1} << 40U;  // no value: marks padding in a window's hash

struct Window {
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  std::int64_t first_h = 0, first_w = 0;  // the output shard's first row and column, seen from the input's

  // Where rows or columns are cut and windows reach over the cut, the input is there whole.
  void place(const ShardTask& t) {
    const std::vector<std::int64_t>&x = t.inputs[0].place.offset, &y = t.outputs[0].place.offset;
    first_h = y[2] - x[2] / stride_h;
    first_w = y[3] - x[3] / stride_w;
  }
};

// Visits the window of output (oh, ow) on an h x w plane: visit(kernel index, plane index), -1 outside.
template <class Visit>
void walk(const Window& k, std::int64_t h, std::int64_t w, std::int64_t oh, std::int64_t ow, Visit&& visit) {
  for (std::int64_t i = 0; i < k.kernel_h; ++i)
    for (std::int64_t j = 0; j < k.kernel_w; ++j) {
      const std::int64_t y = (k.first_h + oh) * k.stride_h - k.pad_h + i, x = (k.first_w + ow) * k.stride_w - k.pad_w + j;
      visit(i * k.kernel_w + j, y < 0 || y >= h || x < 0 || x >= w ? -1 : y * w + x);
    }
}

}  // namespace

FieldTensor run_conv2d(const Conv2d& op, const ShardTask& t) {
  FieldTensor y = blank(t.outputs[0]);
  const FieldTensor& x = *t.inputs[0].values;
  const FieldTensor& w = *t.inputs[1].values;
  Window window{op.kernel_h, op.kernel_w, op.stride_h, op.stride_w, op.pad_h, op.pad_w};
  window.place(t);
  const std::vector<std::int64_t>&xs = x.shape.sizes, &ys = y.shape.sizes;
  const std::int64_t per_group = w.shape.sizes[1], groups = op.groups > 1 ? xs[1] / per_group : 1, outs = ys[1] / groups;
  const std::int64_t area = window.kernel_h * window.kernel_w, plane = xs[2] * xs[3];
  std::size_t to = 0;
  for (std::int64_t b = 0; b < ys[0]; ++b)
    for (std::int64_t n = 0; n < ys[1]; ++n)
      for (std::int64_t oh = 0; oh < ys[2]; ++oh)
        for (std::int64_t ow = 0; ow < ys[3]; ++ow) {
          std::uint64_t sum = op.has_bias && t.first_summand ? t.inputs[2].values->values[static_cast<std::size_t>(n)] : 0;
          const std::uint32_t* in = x.values.data() + (b * xs[1] + n / outs * per_group) * plane;
          const std::uint32_t* kernel = w.values.data() + n * per_group * area;
          walk(window, xs[2], xs[3], oh, ow, [&](std::int64_t k, std::int64_t p) {
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
  const bool global = op.kernel_h == 0 || op.kernel_w == 0;
  Window window =
      global ? Window{xs[2], xs[3], 1, 1, 0, 0} : Window{op.kernel_h, op.kernel_w, op.stride_h, op.stride_w, op.pad_h, op.pad_w};
  window.place(t);
  const std::uint32_t share = field::inverse(static_cast<std::uint32_t>(window.kernel_h * window.kernel_w));
  std::size_t to = 0;
  for (std::int64_t image = 0; image < ys[0] * ys[1]; ++image)
    for (std::int64_t oh = 0; oh < ys[2]; ++oh)
      for (std::int64_t ow = 0; ow < ys[3]; ++ow) {
        const std::uint32_t* in = x.values.data() + image * xs[2] * xs[3];
        std::uint64_t sum = 0;
        Hash all(kMaximum);
        walk(window, xs[2], xs[3], oh, ow, [&](std::int64_t, std::int64_t p) {
          sum += p < 0 ? 0 : in[p];
          all(p < 0 ? kOutside : in[p]);
        });
        y.values[to++] = op.kind == Pool2d::Kind::average ? field::multiply(field::reduce(sum), share) : all.element();
      }
  return y;
}

}  // namespace pcg
