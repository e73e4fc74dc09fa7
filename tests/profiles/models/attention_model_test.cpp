// The model of fused attention against times worked out by hand.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "profiles/device_profile.hpp"
#include "profiles/models/product_model.hpp"
#include "tests/about.hpp"

using pcg::KernelKind;
using profiles::AttentionModel;

namespace {

// Heads 64 wide; a causal kernel meets half of the keys.
pcg::Kernel attention(KernelKind kind, std::int64_t heads, std::int64_t queries, std::int64_t reach, double met) {
  const double products = kind == KernelKind::attention ? 2 : 5;
  const double flops = 2.0 * static_cast<double>(heads * queries) * met * products * 64;
  return {.kind = kind, .flops = base::Flops(flops), .batch = heads, .m = queries, .n = reach, .k = 64, .tensor_cores = true};
}

constexpr AttentionModel kModel{.peak_share = 0.5, .fixed_keys = 100, .score_dims = 72, .launch_s = 1e-6};

}  // namespace

TEST_CASE("forward: 8 heads of 1024 queries that meet 512 keys: 1 us + 2 x 8192 x (512 + 100) x (128 + 72) / 50 TFLOP/s") {
  const double seconds = profiles::attention_seconds(kModel, 100e12, attention(KernelKind::attention, 8, 1024, 1024, 512));
  CHECK(seconds == test::about(1e-6 + 2.0 * 8192 * 612 * 200 / 50e12));
}

TEST_CASE("backward has five products: (512 + 100) x (320 + 72)") {
  const double seconds = profiles::attention_seconds(kModel, 100e12, attention(KernelKind::attention_gradient, 8, 1024, 1024, 512));
  CHECK(seconds == test::about(1e-6 + 2.0 * 8192 * 612 * 392 / 50e12));
}

TEST_CASE("while the last blocks run 64 queries could meet all keys: 64 x (1024 + 100) more in the sum of queries times keys") {
  AttentionModel idle = kModel;
  idle.idle_queries = 64;
  const double seconds = profiles::attention_seconds(idle, 100e12, attention(KernelKind::attention, 8, 1024, 1024, 512));
  CHECK(seconds == test::about(1e-6 + 2.0 * (8192 * 612 + 64 * 1124) * 200 / 50e12));
}

TEST_CASE("a window of 128 of 1024 keys masks keys: 256 x (1 - 1/8) = 224 keys more for each query") {
  const double seconds = profiles::attention_seconds(kModel, 100e12, attention(KernelKind::attention, 8, 1024, 128, 128));
  CHECK(seconds == test::about(1e-6 + 2.0 * 8192 * (128 + 100 + 224) * 200 / 50e12));
}

TEST_CASE("a window's blocks are some of the whole triangle's: no window takes more than it") {
  const auto seconds = [](std::int64_t reach, double met) {
    return profiles::attention_seconds(kModel, 100e12, attention(KernelKind::attention, 8, 512, reach, met));
  };
  CHECK(seconds(384, 240) == test::about(seconds(512, 256)));
  CHECK(seconds(384, 240) == test::about(1e-6 + 2.0 * 4096 * 356 * 200 / 50e12));
  CHECK(seconds(128, 112) == test::about(seconds(512, 256)));
}

TEST_CASE("more heads, queries or keys never take less time") {
  CHECK(rc::check([] {
    const auto kind = *rc::gen::element(KernelKind::attention, KernelKind::attention_gradient);
    const std::int64_t heads = *rc::gen::inRange(1, 200), length = *rc::gen::inRange(1, 20'000);
    const auto time = [&](std::int64_t h, std::int64_t l) {
      return profiles::attention_seconds(kModel, 100e12, attention(kind, h, l, l, static_cast<double>(l) / 2));
    };
    RC_ASSERT(time(heads + *rc::gen::inRange(0, 9), length + *rc::gen::inRange(0, 999)) >= time(heads, length));
  }));
}

TEST_CASE("where both passes were measured each has its own model; low precision that was not takes bf16's") {
  using pcg::Precision;
  const auto& d = profiles::device_profile("h100-sxm-80gb");
  const pcg::Kernel forward = attention(KernelKind::attention, 256, 4096, 4096, 2048);
  pcg::Kernel backward = attention(KernelKind::attention_gradient, 256, 4096, 4096, 2048);
  const auto time = [&](const pcg::Kernel& k, Precision p) { return profiles::kernel_time(d, k, p); };
  REQUIRE(d.fitted.attentions.contains({KernelKind::attention_gradient, Precision::bf16}));
  CHECK(time(backward, Precision::bf16).time > 2.5 * time(forward, Precision::bf16).time);  // 2.5 times the FLOPs, at a lower rate
  CHECK(time(forward, Precision::fp8).time == time(forward, Precision::bf16).time);
  CHECK(time(forward, Precision::fp8).basis == profiles::Basis::extrapolated);
  CHECK(time(forward, Precision::fp16).time == time(forward, Precision::bf16).time);
  const auto& blackwell = profiles::device_profile("gb300-288gb");
  CHECK(profiles::kernel_time(blackwell, forward, Precision::mxfp8).time < profiles::kernel_time(blackwell, forward, Precision::bf16).time);
  // A device without such a model takes the product's, the same for both passes.
  const auto& ampere = profiles::device_profile("a100-sxm-80gb");
  REQUIRE(ampere.fitted.attentions.empty());
  pcg::Kernel as_forward = backward;
  as_forward.kind = KernelKind::attention;
  CHECK(profiles::kernel_time(ampere, backward, Precision::bf16).time == profiles::kernel_time(ampere, as_forward, Precision::bf16).time);
}
