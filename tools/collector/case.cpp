#include "tools/collector/case.hpp"

#include <array>

namespace collector {
namespace {

struct Names {
  std::string_view operation;
  std::string_view kind;
};
constexpr std::array<Names, kOperations> kNames{{
    {"linear.forward", "matmul"},
    {"linear.input_gradient", "matmul"},
    {"linear.weight_gradient", "matmul"},
    {"batch_matmul.forward", "matmul"},
    {"attention.scores", "matmul"},
    {"attention.context", "matmul"},
    {"conv2d.forward", "convolution"},
    {"conv2d.input_gradient", "convolution"},
    {"conv2d.weight_gradient", "convolution"},
    {"attention.softmax", "softmax"},
    {"softmax.forward", "softmax"},
    {"layer_norm.forward", "norm"},
    {"rms_norm.forward", "norm"},
    {"binary.forward", "elementwise"},
    {"unary.forward", "elementwise"},
    {"dropout.forward", "elementwise"},
    {"embedding.forward", "embedding"},
    {"optimizer", "optimizer"},
}};

double real(std::int64_t n) { return static_cast<double>(n); }

// Counts of an operation per element of its tensor (pcg/work/forward_kernels.cpp), in units of one stored number where bytes are meant.
struct PerElement {
  double flops, tensors;
};
PerElement per_element(Operation o) {
  switch (o) {
    case Operation::attention_softmax:
    case Operation::softmax_forward: return {5, 2};
    case Operation::layer_norm_forward: return {7, 2};
    case Operation::rms_norm_forward: return {4, 2};
    case Operation::add: return {1, 3};
    case Operation::gelu: return {5, 2};
    case Operation::dropout: return {2, 2};
    default: return {0, 2};
  }
}

// The gradient of the inputs is dY[m, n] W[n, k], of the weights X[k, m] dY[m, n]: the reduced size changes places.
// `each`: bytes of a number of the operands, `result_each` of the result.
Work matmul_work(Operation o, const MatmulShape& s, double each, double result_each) {
  Work w{.batch = s.batch, .m = s.m, .n = s.n, .k = s.k};
  if (o == Operation::linear_input_gradient) w.n = s.k, w.k = s.n;
  if (o == Operation::linear_weight_gradient) w.m = s.k, w.k = s.m;
  w.flops = 2 * real(w.batch) * real(w.m) * real(w.n) * real(w.k);
  const double operands = real(w.m) * real(w.k) + real(w.k) * real(w.n);
  w.bytes = real(w.batch) * (each * operands + result_each * real(w.m) * real(w.n));
  w.footprint = w.bytes;
  return w;
}

Work convolution_work(Operation o, const ConvolutionShape& s, double each) {
  const std::int64_t positions = s.samples * s.out_height() * s.out_width();
  const std::int64_t out = s.out / s.groups;
  const std::int64_t window = s.channels / s.groups * s.kernel_h * s.kernel_w;
  Work w{.batch = s.groups, .m = positions, .n = out, .k = window};
  if (o == Operation::convolution_input_gradient) w.n = window, w.k = out;
  if (o == Operation::convolution_weight_gradient) w.m = out, w.n = window, w.k = positions;
  w.flops = 2 * real(s.groups) * real(positions) * real(out) * real(window);
  const double image = real(s.samples) * real(s.channels) * real(s.height) * real(s.width);
  w.bytes = each * (image + real(s.out) * real(window) + real(positions) * real(s.out));
  w.footprint = w.bytes;
  return w;
}

// Adam in fp32 reads weight, gradient and two moments and writes all but the gradient: 7 numbers of 4 B. In half precision the weight
// and its gradient are 2 B, moments and a master copy 4 B: the gradient and three states read, states and weight written.
double adam_bytes(double each) { return each < 4 ? 2 + 2 * 12 + 2 : 28; }

Work rows_work(Operation o, const RowsShape& s, double each) {
  const double elements = real(s.rows) * real(s.width);
  const PerElement per = per_element(o);
  Work w{.flops = per.flops * elements, .bytes = per.tensors * each * elements};
  if (o == Operation::layer_norm_forward) w.bytes += 2 * each * real(s.width);  // gain and bias
  if (o == Operation::rms_norm_forward) w.bytes += each * real(s.width);
  if (o == Operation::dropout) w.bytes += elements;            // the mask, 1 B per element
  if (o == Operation::embedding) w.bytes += 8 * real(s.rows);  // indices
  if (o == Operation::adam) w.flops = 12 * elements, w.bytes = adam_bytes(each) * elements;
  w.footprint = w.bytes;
  if (o == Operation::embedding) w.footprint = w.bytes + each * real(s.vocabulary) * real(s.width);
  return w;
}

}  // namespace

std::string_view to_text(Precision p) {
  switch (p) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::fp16: return "fp16";
    case Precision::bf16: return "bf16";
    case Precision::fp8: return "fp8";
  }
  return "?";
}
double element_bytes(Precision p) { return p == Precision::fp32 || p == Precision::tf32 ? 4 : 2; }

std::string_view to_text(Operation o) { return kNames[static_cast<std::size_t>(o)].operation; }
std::string_view kind_of(Operation o) { return kNames[static_cast<std::size_t>(o)].kind; }

Work work_of(const Case& c) {
  const double each = element_bytes(c.precision);
  if (const auto* m = std::get_if<MatmulShape>(&c.shape))
    return matmul_work(c.operation, *m, c.precision == Precision::fp8 ? 1 : each, each);
  if (const auto* v = std::get_if<ConvolutionShape>(&c.shape)) return convolution_work(c.operation, *v, each);
  return rows_work(c.operation, std::get<RowsShape>(c.shape), each);
}

}  // namespace collector
