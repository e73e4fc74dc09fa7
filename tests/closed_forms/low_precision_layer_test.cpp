// The products of one transformer layer in each precision, with and without casts, against what Transformer Engine published
// (docs/examples/gemm_profiling, 8f2e635: hidden 4096, feed-forward 16384, 15872 tokens; the sum of 4 products forward, 4 of input and 4 of
// weight gradients). Its benchmark runs a linear layer forward for each of the 12: it casts the layer's input along rows and columns, and
// its weight along rows. No constant was fitted to these rows; the tolerances say how far they are met. Milliseconds.
//   B300                   BF16 12.76 to 13.10, current 9.15 / 6.81 without casts, delayed 7.80, MXFP8 8.98 / 7.16, NVFP4 6.45 / 3.76
//   H200 NVL, power-capped BF16 32.0, current 20.3 / 16.8, delayed 19.0, blockwise 22.9
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "profiles/device_profile.hpp"
#include "sim/kernels/node_kernels.hpp"
#include "tests/about.hpp"

namespace {

struct LayerTime {
  double products = 0, casts = 0;  // ms
  [[nodiscard]] double both() const { return products + casts; }
};

LayerTime layer_in(const char* gpu, pcg::Precision precision, pcg::Fp8Scaling recipe = pcg::Fp8Scaling::delayed) {
  constexpr std::int64_t kLayerTokens = 15872, kLayerWidth = 4096, kLayerFfn = 16384;
  const profiles::DeviceProfile& device = profiles::device_profile(gpu);
  pcg::TrainingConfig training;
  training.precision = precision;
  training.fp8_recipe = recipe;
  LayerTime time;
  const auto run = [&](std::int64_t m, std::int64_t k, std::int64_t n) {
    sim::NodeShape linear{.op = pcg::Linear{.out = n},
                          .read = {pcg::real({m, k}), pcg::real({k, n})},
                          .outputs = {pcg::real({m, n})},
                          .needed = {},
                          .casts = {}};
    std::vector<pcg::Kernel> kernels;
    if (pcg::casts_products(precision)) {
      linear.casts = {.low = true, .input = sim::Cast::complete, .copies_columns = device.transposes_fp8};
      pcg::OperandFormat rows = pcg::weight_format(training, false);
      rows.columns = 0;
      kernels = sim::weight_cast_kernels(pcg::WeightStorage::bf16, static_cast<double>(k * n), rows);
    }
    const auto forward = sim::forward_kernels(linear, training, profiles::framework_profile(pcg::Framework::generic));
    kernels.insert(kernels.end(), forward.begin(), forward.end());
    for (const pcg::Kernel& kernel : kernels) {
      const bool is_product = kernel.kind == pcg::KernelKind::matmul;
      const pcg::Precision p = is_product ? precision : pcg::Precision::bf16;
      (is_product ? time.products : time.casts) += 1e3 * profiles::kernel_time(device, kernel, p).time.value();
    }
  };
  for (const auto& [in, out] :
       {std::pair{kLayerWidth, 3 * kLayerWidth}, {kLayerWidth, kLayerWidth}, {kLayerWidth, kLayerFfn}, {kLayerFfn, kLayerWidth}}) {
    run(kLayerTokens, in, out);
    run(kLayerTokens, out, in);
    run(in, kLayerTokens, out);
  }
  return time;
}

struct Row {
  const char* gpu;
  pcg::Precision precision;
  pcg::Fp8Scaling recipe;
  double measured_ms, measured_products_ms;  // with casts, and without; 0: was not measured
};

}  // namespace

TEST_CASE("a layer's products in low precision take what they were measured to take, against bf16") {
  using enum pcg::Precision;
  using enum pcg::Fp8Scaling;
  constexpr std::array kRows{Row{"b300-sxm-288gb", fp8, current, 9.15, 6.81},   Row{"b300-sxm-288gb", fp8, delayed, 7.80, 0},
                             Row{"b300-sxm-288gb", mxfp8, delayed, 8.98, 7.16}, Row{"b300-sxm-288gb", nvfp4, delayed, 6.45, 3.76},
                             Row{"h200-sxm-141gb", fp8, current, 20.3, 16.8},   Row{"h200-sxm-141gb", fp8, delayed, 19.0, 0},
                             Row{"h200-sxm-141gb", fp8, blockwise, 22.9, 0}};
  for (const Row& row : kRows) {
    const double measured_half = row.gpu[0] == 'b' ? 12.93 : 32.0;
    const LayerTime half = layer_in(row.gpu, bf16), low = layer_in(row.gpu, row.precision, row.recipe);
    CAPTURE(row.gpu);
    CAPTURE(pcg::to_text(row.precision));
    CAPTURE(static_cast<int>(row.recipe));
    // Products and casts over bf16; of the H200, whose card is not the one of the profile, no closer.
    CHECK(low.both() / half.both() == test::about(row.measured_ms / measured_half, 0.16));
    if (row.measured_products_ms == 0) continue;
    CHECK(low.products / half.both() == test::about(row.measured_products_ms / measured_half, 0.16));
    // Casts over products: a card that is held back multiplies slower, and casts as fast.
    const double tolerance = row.gpu[0] == 'b' ? 0.12 : 0.5;
    CHECK(low.casts / low.products == test::about(row.measured_ms / row.measured_products_ms - 1, tolerance));
  }
}

TEST_CASE("large squares in fp4 against a long run on GB200") {
  // Azure/AI-benchmarking-guide 2a370be: 7.5 and 5.2 PFLOP/s; 2048, of 1.7, comes out at twice that, as the fit of bf16 fills the chip with
  // less.
  for (const auto& [n, rate] : {std::pair{8192, 7.5e15}, {4096, 5.2e15}}) {
    pcg::Kernel k{.kind = pcg::KernelKind::matmul,
                  .name = "square",
                  .flops = base::Flops(2.0 * n * n * n),
                  .bytes = base::Bytes((2 * 0.5625 + 2.0) * n * n),
                  .m = n,
                  .n = n,
                  .k = n,
                  .tensor_cores = true};
    const auto time = profiles::kernel_time(profiles::device_profile("gb200-186gb"), k, pcg::Precision::nvfp4);
    CHECK(time.basis == profiles::Basis::extrapolated);
    CHECK(k.flops.value() / time.time.value() == test::about(rate, 0.17));
  }
}
