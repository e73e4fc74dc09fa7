// What the collector writes beside a time must be what the simulator asks about: FLOPs, bytes and sizes of pcg/work.

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

#include "pcg/operators/operator_shapes.hpp"
#include "pcg/work/kernel.hpp"
#include "pcg/work/work.hpp"
#include "tools/collector/case.hpp"
#include "tools/collector/device.hpp"
#include "tools/collector/grid.hpp"

namespace collector {
namespace {

using pcg::Element;
using pcg::real;
using pcg::TensorShape;

pcg::Precision same(Precision p) { return static_cast<pcg::Precision>(p); }
struct Asked {
  pcg::Operator op;
  std::vector<TensorShape> activations;
};
Asked asked(Operation o, const MatmulShape& s) {
  switch (o) {
    case Operation::batch_matmul_forward: return {pcg::BatchMatmul{}, {real({s.batch, s.m, s.k}), real({s.batch, s.k, s.n})}};
    case Operation::attention_scores:  // queries [batch, m, k], keys [batch, n, k]
      return {pcg::BatchMatmul{.transpose_b = true}, {real({s.batch, s.m, s.k}), real({s.batch, s.n, s.k})}};
    case Operation::attention_context: return {pcg::BatchMatmul{}, {real({s.batch, s.m, s.k}), real({s.batch, s.k, s.n})}};
    default: return {pcg::Linear{.out = s.n}, {real({s.m, s.k})}};
  }
}
Asked asked(Operation, const ConvolutionShape& s) {
  return {pcg::Conv2d{.out = s.out,
                      .rows = {.kernel = s.kernel_h, .stride = s.stride, .padding = s.pad_h},
                      .columns = {.kernel = s.kernel_w, .stride = s.stride, .padding = s.pad_w},
                      .groups = s.groups},
          {real({s.samples, s.channels, s.height, s.width})}};
}
Asked asked(Operation o, const RowsShape& s) {
  const TensorShape x = real({s.rows, s.width});
  switch (o) {
    case Operation::layer_norm_forward: return {pcg::LayerNorm{}, {x}};
    case Operation::rms_norm_forward: return {pcg::LayerNorm{.rms = true}, {x}};
    case Operation::add: return {pcg::Binary{}, {x, x}};
    case Operation::gelu: return {pcg::Unary{.kind = pcg::Unary::Kind::gelu}, {x}};
    case Operation::dropout: return {pcg::Dropout{}, {x}};
    case Operation::embedding:
      return {pcg::Embedding{.vocabulary = s.vocabulary, .width = s.width}, {{.sizes = {s.rows}, .element = Element::index}}};
    default: return {pcg::Softmax{}, {x}};
  }
}

// The kernel of pcg/work that the case stands for.
pcg::Kernel kernel_of(const Case& c) {
  const Asked a = std::visit([&](const auto& s) { return asked(c.operation, s); }, c.shape);
  std::vector<TensorShape> in = a.activations;
  for (const TensorShape& w : pcg::weight_shapes(a.op, in)) in.push_back(w);
  const std::vector<TensorShape> out = pcg::infer_shapes(a.op, a.activations.size() == in.size() ? a.activations : in);
  switch (c.operation) {
    case Operation::linear_input_gradient:
    case Operation::convolution_input_gradient:
      return pcg::input_gradient_kernels(a.op, in, out, std::vector<bool>(in.size(), true), same(c.precision)).back();
    case Operation::linear_weight_gradient:
    case Operation::convolution_weight_gradient: return pcg::weight_gradient_kernels(a.op, in, out, same(c.precision)).front();
    default: return pcg::forward_kernels(a.op, in, out, same(c.precision)).front();
  }
}

// Unfused attention is one operator of several kernels there, of which each is a case here.
bool is_part_of_attention(Operation o) {
  return o == Operation::attention_scores || o == Operation::attention_softmax || o == Operation::attention_context;
}

void check_equal(const Case& c) {
  CAPTURE(to_text(c.operation));
  CAPTURE(to_text(c.precision));
  const pcg::Kernel k = kernel_of(c);
  const Work w = work_of(c);
  CHECK(pcg::to_text(k.kind) == kind_of(c.operation));
  if (!is_part_of_attention(c.operation) && c.operation != Operation::rms_norm_forward) CHECK(k.name == to_text(c.operation));
  CHECK(k.flops.value() == w.flops);
  // In fp8 the simulator takes the second byte off operands where it knows that a layer multiplies low.
  const bool low = c.precision == Precision::fp8 && k.kind == pcg::KernelKind::matmul;
  const double operands = low ? static_cast<double>(k.batch * (k.m * k.k + k.k * k.n)) : 0;
  CHECK(k.bytes.value() - operands == w.bytes);
  CHECK(k.batch == w.batch);
  CHECK(k.m == w.m);
  CHECK(k.n == w.n);
  CHECK(k.k == w.k);
}

TEST_CASE("every case of the grid counts FLOPs, bytes and sizes as pcg/work does") {
  int checked = 0;
  for (const Group& g : grid(Device{}, 0))
    for (std::size_t i = 0; i < g.cases.size(); i += 7) {
      if (g.cases[i].operation == Operation::adam) continue;  // no operator of a graph: below
      check_equal(g.cases[i]);
      ++checked;
    }
  CHECK(checked > 3000);
}

TEST_CASE("the three kernels of unfused attention are those of pcg/work") {
  // 2 samples, 3 heads, 5 positions, heads of 4: packed queries, keys and values are 3 * 3 * 4 = 36 wide.
  const pcg::Operator op = pcg::Attention{.heads = 3, .kv_heads = 3};
  const std::vector<TensorShape> in{real({2, 5, 36})};
  const std::vector<pcg::Kernel> kernels = pcg::forward_kernels(op, in, pcg::infer_shapes(op, in), pcg::Precision::bf16);
  REQUIRE(kernels.size() == 3);
  const Case cases[] = {{Operation::attention_scores, Precision::bf16, MatmulShape{6, 5, 5, 4}},
                        {Operation::attention_softmax, Precision::bf16, RowsShape{30, 5}},
                        {Operation::attention_context, Precision::bf16, MatmulShape{6, 5, 4, 5}}};
  for (std::size_t i = 0; i < 3; ++i) {
    const Work w = work_of(cases[i]);
    CHECK(kernels[i].name == to_text(cases[i].operation));
    CHECK(pcg::to_text(kernels[i].kind) == kind_of(cases[i].operation));
    CHECK(kernels[i].flops.value() == w.flops);
    CHECK(kernels[i].bytes.value() == w.bytes);
    CHECK(kernels[i].m == w.m);
    CHECK(kernels[i].n == w.n);
    CHECK(kernels[i].k == w.k);
  }
}

TEST_CASE("Adam moves 28 bytes per parameter in either way of keeping state") {
  // fp32: weight, gradient, two moments read, all but the gradient written: (4 + 3) * 4. bf16: gradient 2, three states of 4 read and
  // written, weight 2 written: 2 + 24 + 2.
  for (const Precision p : {Precision::fp32, Precision::bf16}) {
    const Work w = work_of({Operation::adam, p, RowsShape{10, 100}});
    CHECK(w.bytes == 28000);
    CHECK(w.flops == 12000);
  }
  CHECK(kind_of(Operation::adam) == pcg::to_text(pcg::KernelKind::optimizer));
}

TEST_CASE("precisions have the names and sizes of pcg") {
  for (const Precision p : kPrecisions) {
    CHECK(to_text(p) == pcg::to_text(same(p)));
    CHECK(element_bytes(p) == pcg::element_bytes(Element::real, same(p)).value());
  }
}

TEST_CASE("an embedding occupies its whole table, and touches its rows") {
  const Work w = work_of({Operation::embedding, Precision::bf16, RowsShape{10, 8, 1000}});
  CHECK(w.bytes == 10 * 8 + 2 * 10 * 8 * 2);  // indices of 8 B, rows read and written
  CHECK(w.footprint == w.bytes + 1000 * 8 * 2);
}

TEST_CASE("any linear layer and any convolution agree") {
  CHECK(rc::check([] {
    const auto size = [] { return static_cast<std::int64_t>(*rc::gen::inRange(1, 5000)); };
    const auto precision = *rc::gen::elementOf(std::vector<Precision>(std::begin(kPrecisions), std::end(kPrecisions)));
    check_equal({Operation::linear_forward, precision, MatmulShape{1, size(), size(), size()}});
    check_equal({Operation::linear_weight_gradient, precision, MatmulShape{1, size(), size(), size()}});
    const int side = *rc::gen::inRange(1, 8);
    const int groups = *rc::gen::inRange(1, 5);
    const ConvolutionShape s{*rc::gen::inRange(1, 9),
                             groups * (size() % 50 + 1),
                             *rc::gen::inRange(8, 60),
                             *rc::gen::inRange(8, 60),
                             groups * (size() % 50 + 1),
                             side,
                             *rc::gen::inRange(1, 8),
                             *rc::gen::inRange(1, 4),
                             *rc::gen::inRange(0, 4),
                             *rc::gen::inRange(0, 4),
                             groups};
    check_equal({Operation::convolution_forward, precision, s});
    check_equal({Operation::convolution_weight_gradient, precision, s});
  }));
}

}  // namespace
}  // namespace collector
