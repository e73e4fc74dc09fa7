// The roofline against numbers worked out by hand, and what must hold for any kernel.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "profiles/device_profile.hpp"
#include "tests/about.hpp"

using base::Bytes;
using base::Flops;
using pcg::KernelKind;
using pcg::Precision;

namespace {

constexpr KernelKind kKinds[] = {
    KernelKind::matmul,      KernelKind::convolution, KernelKind::attention,         KernelKind::softmax,   KernelKind::norm,
    KernelKind::elementwise, KernelKind::embedding,   KernelKind::pooling,           KernelKind::reduction, KernelKind::copy,
    KernelKind::loss,        KernelKind::optimizer,   KernelKind::attention_gradient};

// 100 TFLOP/s on tensor cores, 10 without, 1 TB/s; matmuls reach half of the first with 1 GFLOP in the fixed part.
profiles::DeviceProfile simple_device() {
  profiles::DeviceProfile d;
  d.name = "simple";
  d.memory_bandwidth = base::BytesPerSecond(1e12);
  d.peak = {{Precision::fp32, base::FlopsPerSecond(10e12)}, {Precision::fp16, base::FlopsPerSecond(100e12)}};
  d.vector_peak = {{Precision::fp32, base::FlopsPerSecond(10e12)}, {Precision::fp16, base::FlopsPerSecond(10e12)}};
  d.kernel_floor = base::Seconds(2e-6);
  for (const auto kind : kKinds) {
    d.compute[kind] = {0.5, 1e9};
    d.vector_compute[kind] = {0.8, 0};
    d.traffic[kind] = {0.9, 9e6};
  }
  return d;
}

pcg::Kernel matmul(double flops, double bytes) {
  return {.kind = KernelKind::matmul, .flops = Flops(flops), .bytes = Bytes(bytes), .tensor_cores = true};
}

double up_to(std::int64_t limit) { return static_cast<double>(*rc::gen::inRange<std::int64_t>(0, limit)); }

double time_us(const profiles::DeviceProfile& d, const pcg::Kernel& k, Precision p) {
  return profiles::kernel_time(d, k, p).time.value() * 1e6;
}

}  // namespace

TEST_CASE("a big matmul in half precision runs on tensor cores: (99 + 1) GFLOP / (100 TFLOP/s x 0.5) = 2 ms") {
  CHECK(time_us(simple_device(), matmul(99e9, 1e6), Precision::fp16) == test::about(2000));
}

TEST_CASE("a small one pays for its fixed part: (1 + 1) GFLOP / 50 TFLOP/s = 40 us for 1 % of the work") {
  CHECK(time_us(simple_device(), matmul(1e9, 1e3), Precision::fp16) == test::about(40));
}

TEST_CASE("fp32 runs without tensor cores: 80 GFLOP / (10 TFLOP/s x 0.8) = 10 ms") {
  CHECK(time_us(simple_device(), matmul(80e9, 1e6), Precision::fp32) == test::about(10000));
}

TEST_CASE("so does a kernel that cannot use them") {
  pcg::Kernel k = matmul(80e9, 1e6);
  k.tensor_cores = false;
  CHECK(time_us(simple_device(), k, Precision::fp16) == test::about(10000));
}

TEST_CASE("a memory-bound kernel: (891 + 9) MB / (1 TB/s x 0.9) = 1 ms") {
  CHECK(time_us(simple_device(), {.kind = KernelKind::norm, .flops = Flops(1e9), .bytes = Bytes(891e6)}, Precision::fp16) ==
        test::about(1000));
}

TEST_CASE("nothing is shorter than the floor, and a kernel without work costs just that") {
  CHECK(time_us(simple_device(), {.kind = KernelKind::copy, .flops = Flops(0), .bytes = Bytes(0)}, Precision::fp32) == test::about(2));
}

TEST_CASE("the time says that it rests on defaults") {
  CHECK(profiles::kernel_time(simple_device(), matmul(1e9, 1e3), Precision::fp16).basis == profiles::Basis::defaults);
  CHECK(profiles::to_text(profiles::Basis::fitted) == "fitted");
}

TEST_CASE("a V100 multiplies 4096-cubes eight times faster in fp16 than in fp32, within what its efficiencies say") {
  // 2 x 4096^3 = 137.4 GFLOP. fp16: (137.4 + 1.11) / (125000 x 0.804) = 1.378 ms; fp32: (137.4 + 0.308) / (15700 x 0.861) = 10.19 ms.
  const auto& d = profiles::device_profile("v100-sxm2-16gb");
  const auto k = matmul(2.0 * 4096 * 4096 * 4096, 3.0 * 2 * 4096 * 4096);
  CHECK(time_us(d, k, Precision::fp16) == test::about(1378, 0.001));
  CHECK(time_us(d, k, Precision::fp32) == test::about(10190, 0.001));
}

TEST_CASE("an A100 needs tf32 to be asked for") {
  const auto& d = profiles::device_profile("a100-sxm-80gb");
  const auto k = matmul(2.0 * 4096 * 4096 * 4096, 3.0 * 4 * 4096 * 4096);
  CHECK(time_us(d, k, Precision::fp32) / time_us(d, k, Precision::tf32) == test::about(156 * 0.738 / (19.5 * 0.863), 0.02));
}

TEST_CASE("on every device more work is never faster and never less than the peaks allow") {
  CHECK(rc::check([] {
    const auto names = profiles::device_names();
    const auto& d = profiles::device_profile(*rc::gen::elementOf(names));
    const auto p = *rc::gen::element(Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8);
    RC_PRE(!profiles::unsupported(d, p));
    pcg::Kernel k{.kind = *rc::gen::elementOf(std::vector<KernelKind>(std::begin(kKinds), std::end(kKinds)))};
    k.flops = Flops(up_to(1'000'000'000'000));
    k.bytes = Bytes(up_to(10'000'000'000));
    k.tensor_cores = *rc::gen::arbitrary<bool>();
    pcg::Kernel more = k;
    more.flops += Flops(up_to(1'000'000'000));
    more.bytes += Bytes(up_to(100'000'000));
    const auto t = profiles::kernel_time(d, k, p).time;
    RC_ASSERT(profiles::kernel_time(d, more, p).time >= t);
    RC_ASSERT(t >= d.kernel_floor);
    RC_ASSERT(t >= k.bytes / d.memory_bandwidth);
    // Winograd aside (convolutions on vector units), no kernel beats the peak.
    if (k.kind != KernelKind::convolution) RC_ASSERT(t >= k.flops / d.peak.at(p));
  }));
}

TEST_CASE("on every device a product's time is continuous in its rows where they become a power of two") {
  // 127 rows are priced between 90.5 and 128: one tile, and not the two that 128 and a rounding error would need.
  for (const std::string& name : profiles::device_names()) {
    const auto& d = profiles::device_profile(name);
    const auto seconds = [&](std::int64_t m) {
      const double x = static_cast<double>(m), work = 2.0 * 32 * 512 * 128 * x, bytes = 2.0 * 32 * (512 * x + 512 * 128 + 128 * x);
      const pcg::Kernel k{.kind = KernelKind::matmul,
                          .flops = Flops(work),
                          .bytes = Bytes(bytes),
                          .batch = 32,
                          .m = m,
                          .n = 512,
                          .k = 128,
                          .tensor_cores = true};
      return profiles::kernel_time(d, k, d.peak.contains(Precision::bf16) ? Precision::bf16 : Precision::fp32).time.value();
    };
    for (std::int64_t m = 64; m <= 8192; m *= 2)
      CHECK_MESSAGE(seconds(m) / seconds(m - 1) == test::about(1, 3 / static_cast<double>(m)), name, ": ", m);
  }
}
