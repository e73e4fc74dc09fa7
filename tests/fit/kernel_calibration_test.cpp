// Calibration recovers what made-up tables were made from, with noise and impossible times among the rows, and says so when it cannot.
#include "profiles/fit/kernel_calibration.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <random>

#include "base/diagnostics.hpp"
#include "profiles/fit/model_fits.hpp"
#include "profiles/fitted.hpp"
#include "tests/about.hpp"
#include "tests/fit/kernel_errors.hpp"

using fit::CalibrationConfig;
using measured::KernelMeasurement;
using pcg::KernelKind;
using pcg::Precision;

namespace {

// 108 multiprocessors, 312 TFLOP/s, 2039 GB/s; nothing fitted.
profiles::DeviceProfile device() {
  profiles::DeviceProfile d = profiles::device_profile("a100-sxm-80gb");
  d.fitted = {};
  return d;
}

pcg::Kernel matmul(double m, double n, double k) {
  return {.kind = KernelKind::matmul,
          .flops = base::Flops(2 * m * n * k),
          .bytes = base::Bytes(2 * (m * n + n * k + k * m)),
          .batch = 1,
          .m = static_cast<std::int64_t>(m),
          .n = static_cast<std::int64_t>(n),
          .k = static_cast<std::int64_t>(k),
          .tensor_cores = true};
}

profiles::ProductModel truth() {
  profiles::ProductModel p;
  p.peak_share = 0.85;
  p.half_ratio = 20;
  p.step_s = 3e-9;
  p.bandwidth_share = 0.7;
  p.launch_s = 4e-6;
  return p;
}

// Times of `truth` with a noise of 3 % on every size from 16 to 16384 by fours, moved a little so that shapes are not all round.
std::vector<KernelMeasurement> made_up_matmuls() {
  std::mt19937 random(7);
  const auto d = device();
  const profiles::ProductDevice device_sizes{312e12, 2039e9, 108};
  std::vector<KernelMeasurement> rows;
  for (double m = 16; m <= 16384; m *= 4)
    for (double n = 48; n <= 16384; n *= 3)
      for (double k = 64; k <= 16384; k *= 3) {
        const pcg::Kernel kernel = matmul(m, n, k);
        const double noise = 1 + 0.03 * (static_cast<double>(random() % 2001) / 1000 - 1);
        const double t = profiles::product_seconds(truth(), device_sizes, profiles::product_sizes(kernel, Precision::bf16));
        rows.push_back({d.name, Precision::bf16, kernel, base::Seconds(t * noise), fmt::format("made.csv:{}", rows.size() + 2)});
      }
  return rows;
}

KernelMeasurement norm(double bytes, double seconds) {
  return {device().name, Precision::fp32, {.kind = KernelKind::norm, .bytes = base::Bytes(bytes)}, base::Seconds(seconds), "norms.csv:2"};
}

std::string message_of(const std::vector<KernelMeasurement>& rows, const CalibrationConfig& config) {
  try {
    (void)fit::calibrate_kernels(device(), rows, config);
  } catch (const base::InputError& e) { return e.diagnostics()[0].message + " | " + e.diagnostics()[0].hint; }
  return "none";
}

}  // namespace

TEST_CASE("matmuls: what the fit says of shapes kept aside is as near as the noise, and so are the parameters that matter") {
  const auto result = fit::calibrate_kernels(device(), made_up_matmuls(), {});
  REQUIRE(result.fits.size() == 1);
  const auto& fit = result.fits[0];
  CHECK(fit.provenance.rows + fit.provenance.held_out_rows == static_cast<int>(made_up_matmuls().size()));
  CHECK(fit.provenance.held_out_rows > 30);
  CHECK(fit.provenance.held_out_error < 0.025);  // uniform noise of 3 % alone leaves 1.5 %
  CHECK(std::abs(fit.held_out_bias) < 0.01);
  const auto& model = result.fitted.products.at({KernelKind::matmul, Precision::bf16}).model;
  CHECK(model.bandwidth_share == test::about(0.7, 0.1));
  CHECK(model.launch_s == test::about(4e-6, 0.1));
  CHECK(model.peak_share == test::about(0.85, 0.1));
}

TEST_CASE("one row in ten made wrong by two to twenty times hardly moves the fit") {
  auto rows = made_up_matmuls();
  std::mt19937 random(11);
  for (auto& row : rows)
    if (random() % 10 == 0) row.time = row.time * (2 + static_cast<double>(random() % 18));
  const auto result = fit::calibrate_kernels(device(), rows, {});
  profiles::DeviceProfile fitted = device();
  fitted.fitted = result.fitted;
  CHECK(test::kernel_errors(fitted, made_up_matmuls()).begin()->second.mean < 0.05);
}

TEST_CASE("rows that cannot be true are left out and counted") {
  auto rows = made_up_matmuls();
  rows[0].time = base::Seconds(0);
  rows[1].time = base::Seconds(1e-9);
  rows[2].time = base::Seconds(3600);
  rows.back().time = base::Seconds(rows.back().kernel.flops.value() / 400e12);  // faster than the peak of 312 TFLOP/s
  const auto result = fit::calibrate_kernels(device(), rows, {});
  CHECK(result.fits[0].left_out == 4);
}

TEST_CASE("a memory-bound kind: (bytes + half) / (bandwidth x 0.8), with a timer that adds 20 us") {
  std::vector<KernelMeasurement> rows;
  for (double bytes = 1e5; bytes < 5e9; bytes *= 1.3) rows.push_back(norm(bytes, 20e-6 + bytes / (2039e9 * 0.8)));
  const auto result = fit::calibrate_kernels(device(), rows, {});
  const auto& rate = result.fitted.rates.at(KernelKind::norm);
  CHECK(rate.traffic.max == test::about(0.8, 0.01));
  // The profile's shortest kernel takes 2 us: only so much of the fixed part is the kernel's.
  CHECK(rate.traffic.half == test::about(2e-6 * 2039e9 * 0.8, 0.01));
  CHECK(result.fits[0].provenance.held_out_error < 0.01);
}

TEST_CASE("too few rows are refused with the count, and no device of that name with the names there are") {
  std::vector<KernelMeasurement> some;
  for (int i = 0; i < 5; ++i) some.push_back(norm(1e6 * (i + 1), 1e-5));
  const auto result = fit::calibrate_kernels(device(), some, {});
  CHECK(result.fits[0].refusal.find("a fit needs 12") != std::string::npos);
  CHECK(result.fitted.rates.empty());
  CHECK(message_of(some, {.devices = {"h100-sxm-80gb"}}) ==
        "no kernel was measured on h100-sxm-80gb | the files hold kernels of a100-sxm-80gb");
  CHECK(message_of({}, {}) == "no kernel was measured on a100-sxm-80gb | the files hold no kernels");
}

TEST_CASE("the shapes kept aside are the same ones each time, about a fifth of them") {
  int aside = 0, all = 0;
  for (const auto& row : made_up_matmuls()) {
    aside += fit::is_held_out(row.kernel, row.precision) ? 1 : 0;
    ++all;
  }
  CHECK(aside > all / 8);
  CHECK(aside < all / 3);
  CHECK(fit::is_held_out(matmul(128, 512, 512), Precision::bf16) == fit::is_held_out(matmul(128, 512, 512), Precision::bf16));
}

TEST_CASE("the same rows give the same fit") {
  const auto a = fit::calibrate_kernels(device(), made_up_matmuls(), {});
  const auto b = fit::calibrate_kernels(device(), made_up_matmuls(), {});
  CHECK(profiles::to_text(a.fitted) == profiles::to_text(b.fitted));
}

TEST_CASE("a sister's rows are fitted with the sister's own peaks, and told") {
  auto d = device();
  d.name = "a100-sxm-40gb";
  d.memory_bandwidth = base::BytesPerSecond(1555e9);
  const auto result = fit::calibrate_kernels(d, made_up_matmuls(), {.devices = {"a100-sxm-80gb"}});
  const auto& fit = result.fitted.products.at({KernelKind::matmul, Precision::bf16});
  CHECK(fit.provenance.device == "a100-sxm-80gb");
  CHECK_FALSE(fit.provenance.borrowed);
  CHECK(fit.model.bandwidth_share == test::about(0.7, 0.1));
}
