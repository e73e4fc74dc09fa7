// The profiles that ship, held against the rows of public tables that their fits did not see, and against what must hold for any kernel.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <rapidcheck.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "profiles/device_profile.hpp"
#include "profiles/fit/kernel_calibration.hpp"
#include "tests/fit/converted.hpp"
#include "tests/fit/kernel_errors.hpp"
#include "tests/shared_data.hpp"

using pcg::KernelKind;
using pcg::Precision;

namespace {

std::vector<measured::KernelMeasurement> held_out_rows(const std::string& file, const std::string& device, KernelKind kind, Precision p) {
  std::vector<measured::KernelMeasurement> rows;
  for (const auto& m : test::converted("operators/" + file).kernels)
    if (m.device == device && m.kernel.kind == kind && m.precision == p && fit::is_held_out(m.kernel, m.precision)) rows.push_back(m);
  return rows;
}

struct Target {
  const char* file;
  const char* device;
  KernelKind kind;
  Precision precision;
  double at_most;
};

}  // namespace

TEST_CASE("shapes that no fit saw are forecast to within 10 % on average, by table (needs shared data)" * test::needs("operators")) {
  const Target targets[] = {
      {"gemm_bf16_a100_sxm.csv", "a100-sxm-80gb", KernelKind::matmul, Precision::bf16, 0.06},
      {"gemm_bf16_h100_sxm.csv", "h100-sxm-80gb", KernelKind::matmul, Precision::bf16, 0.06},
      {"gemm_bf16_h200_sxm.csv", "h200-sxm-141gb", KernelKind::matmul, Precision::bf16, 0.06},
      {"gemm_bf16_b200_sxm.csv", "b200-sxm-180gb", KernelKind::matmul, Precision::bf16, 0.07},
      {"deepbench_train_raw.csv", "v100-sxm2-16gb", KernelKind::matmul, Precision::fp16, 0.10},
      {"deepbench_train_raw.csv", "v100-sxm2-16gb", KernelKind::matmul, Precision::fp32, 0.10},
      {"neusight_test_linear_fp32.csv", "v100-pcie-16gb", KernelKind::matmul, Precision::fp32, 0.06},
      {"attention_prefill_fwd_bf16.csv", "a100-sxm-80gb", KernelKind::attention, Precision::bf16, 0.06},
  };
  for (const Target& t : targets) {
    CAPTURE(t.file);
    CAPTURE(t.device);
    const auto rows = held_out_rows(t.file, t.device, t.kind, t.precision);
    const auto errors = test::kernel_errors(profiles::device_profile(t.device), rows);
    REQUIRE(errors.size() == 1);
    CHECK(errors.begin()->second.rows > 20);
    CHECK(errors.begin()->second.mean < t.at_most);
  }
}

TEST_CASE("attention of both passes is told to within 12 % on average, in each precision that was measured") {
  const std::string file = SOURCE_DIRECTORY "/profiles/tables/cudnn_attention.csv";
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const auto rows = measured::read_measurements(text.str(), file).kernels;
  CHECK(rows.size() == 330);
  for (const char* device : {"gb200-186gb", "gb300-288gb", "h200-sxm-141gb"}) {
    std::vector<measured::KernelMeasurement> own = rows;
    std::erase_if(own, [&](const auto& m) { return m.device != device; });
    for (const auto& [kind, errors] : test::kernel_errors(profiles::device_profile(device), own)) {
      CAPTURE(device);
      CAPTURE(pcg::to_text(kind.first));
      CAPTURE(pcg::to_text(kind.second));
      CHECK(errors.mean < 0.12);
    }
  }
}

// A fifth of the shapes, which no fit saw, in each precision; of convolutions those in fp16, of which no fit saw any.
TEST_CASE("products, attention and convolutions of one H200 are told by its profile, products in fp8 and tf32 by that of its sister") {
  struct Sister {
    const char* file;
    const char* device;
    double at_most;
  };
  for (const Sister& s : {Sister{"products.csv", "h200-sxm-141gb", 0.11}, Sister{"products_fp8_tf32.csv", "h200-sxm-141gb", 0.12},
                          Sister{"attention.csv", "h200-sxm-141gb", 0.14}, Sister{"products_fp8_tf32.csv", "h100-sxm-80gb", 0.2},
                          Sister{"fp16_convolutions.csv", "h200-sxm-141gb", 0.25}}) {
    const std::string file = std::string(SOURCE_DIRECTORY "/profiles/tables/h200/") + s.file;
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const auto rows = measured::read_measurements(text.str(), file).kernels;
    CHECK(rows.size() > 30);
    for (const auto& [kind, errors] : test::kernel_errors(profiles::device_profile(s.device), rows)) {
      CAPTURE(s.file);
      CAPTURE(s.device);
      CAPTURE(pcg::to_text(kind.second));
      CHECK(errors.mean > 0);
      CHECK(errors.mean < s.at_most);
    }
  }
}

TEST_CASE("on every device doubling a size of a product takes at most 2 % less time, and no product beats the peak") {
  CHECK(rc::check([] {
    const auto& d = profiles::device_profile(*rc::gen::elementOf(profiles::device_names()));
    const auto p = *rc::gen::element(Precision::fp32, Precision::fp16, Precision::bf16);
    RC_PRE(!profiles::unsupported(d, p));
    const double element = p == Precision::fp32 ? 4 : 2;
    const auto kernel = [&](double batch, double m, double n, double k) {
      return pcg::Kernel{.kind = KernelKind::matmul,
                         .flops = base::Flops(2 * batch * m * n * k),
                         .bytes = base::Bytes(element * batch * (m * n + n * k + k * m)),
                         .batch = static_cast<std::int64_t>(batch),
                         .m = static_cast<std::int64_t>(m),
                         .n = static_cast<std::int64_t>(n),
                         .k = static_cast<std::int64_t>(k),
                         .tensor_cores = true};
    };
    const auto size = [](double most) {
      return std::round(std::exp2(static_cast<double>(*rc::gen::inRange(0, 1000)) / 1000 * std::log2(most)));
    };
    double s[4] = {size(64), size(65536), size(65536), size(65536)};
    const auto t = profiles::kernel_time(d, kernel(s[0], s[1], s[2], s[3]), p).time;
    RC_ASSERT(t.value() >= 2 * s[0] * s[1] * s[2] * s[3] / d.peak.at(p).value() * (1 - 1e-9));
    s[*rc::gen::inRange(0, 4)] *= 2;
    RC_ASSERT(profiles::kernel_time(d, kernel(s[0], s[1], s[2], s[3]), p).time >= t * 0.98);
  }));
}

TEST_CASE("every fit that ships tells its source, its command and what it left") {
  for (const auto& name : profiles::device_names())
    for (const auto& [key, fit] : profiles::device_profile(name).fitted.products) {
      CAPTURE(name);
      CHECK_FALSE(fit.provenance.source.empty());
      CHECK(fit.provenance.command.starts_with("foreshard calibrate --device " + name));
      CHECK(fit.provenance.rows >= 40);
      CHECK(fit.provenance.held_out_error > 0);
    }
  for (const auto& name : profiles::device_names())
    for (const auto& [key, fit] : profiles::device_profile(name).fitted.attentions) {
      CAPTURE(name);
      CHECK(fit.provenance.source.find("cudnn_attention.csv") != std::string::npos);
      CHECK(fit.provenance.command.starts_with("foreshard calibrate --device " + name));
      CHECK(fit.provenance.rows >= 12);
    }
}
