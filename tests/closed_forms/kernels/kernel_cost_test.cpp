// What a framework does to the time of a kernel, one case a branch, on a device with round numbers and nothing fitted: 100 TFLOP/s in bf16,
// 200 in fp8, of which products reach half; 10 on vector units; 1 TB/s.
#include "sim/kernels/kernel_cost.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "profiles/device_profile.hpp"
#include "profiles/kinds.hpp"
#include "tests/about.hpp"

namespace {

using pcg::KernelKind;
using pcg::Precision;

profiles::DeviceProfile round_device() {
  profiles::DeviceProfile d;
  d.name = "round-80gb";
  d.memory_bandwidth = base::BytesPerSecond(1e12);
  for (const Precision p : {Precision::bf16, Precision::fp8}) {
    d.peak[p] = base::FlopsPerSecond(p == Precision::fp8 ? 200e12 : 100e12);
    d.vector_peak[p] = base::FlopsPerSecond(10e12);
  }
  for (const KernelKind kind :
       {KernelKind::matmul, KernelKind::attention, KernelKind::attention_gradient, KernelKind::softmax, KernelKind::elementwise}) {
    d.compute[kind] = {0.5, 0};
    d.vector_compute[kind] = {1, 0};
    d.traffic[kind] = {1, 0};
  }
  return d;
}

pcg::Kernel kernel(KernelKind kind, double flops, double bytes) {
  return {.kind = kind, .name = "test", .flops = base::Flops(flops), .bytes = base::Bytes(bytes), .tensor_cores = true};
}
// 1 TFLOP takes 20 ms in bf16; its 1 GB takes 1 ms.
const pcg::Kernel kBound = kernel(KernelKind::matmul, 1e12, 1e9);
// 10 GB take 10 ms; its 0.4 TFLOP take 8 ms at the half that products reach, and 4 ms at the peak.
const pcg::Kernel kWaits = kernel(KernelKind::matmul, 0.4e12, 10e9);

double ms(const profiles::DeviceProfile& d, const profiles::FrameworkProfile& f, const pcg::Kernel& k, sim::Running running) {
  return sim::kernel_cost(d, f, k, running).time.value() * 1e3;
}
constexpr sim::Running kRunInHalf{.precision = Precision::bf16}, kRunLow{.precision = Precision::fp8};

}  // namespace

TEST_CASE("a product that is bound by its FLOPs keeps the share that is sustained; one that waits for memory keeps its time") {
  profiles::DeviceProfile d = round_device();
  CHECK(ms(d, {}, kBound, kRunInHalf) == test::about(20));
  d.sustained[Precision::bf16] = 0.8;
  CHECK(ms(d, {}, kBound, kRunInHalf) == test::about(20 / 0.8));
  CHECK(ms(d, {}, kWaits, kRunInHalf) == test::about(10));
  // A framework's own share is that of all its GPUs; the device's is that of a middling one, and of two the slower sets the pace.
  d.sustained_spread[Precision::bf16] = 0.1;
  const double slower = profiles::slowest_of(d, Precision::bf16, 2);
  REQUIRE(slower < 1);
  CHECK(ms(d, {}, kBound, {.precision = Precision::bf16, .gpus = 2}) == test::about(20 / 0.8 / slower));
  profiles::FrameworkProfile own;
  own.sustained["round"] = 0.5;
  CHECK(ms(d, own, kBound, {.precision = Precision::bf16, .gpus = 2}) == test::about(20 / 0.5));
  own.sustained = {{"other", 0.5}};
  CHECK(ms(d, own, kBound, kRunInHalf) == test::about(20 / 0.8));
  // Tokens that are all alike leave the clock alone.
  CHECK(ms(d, own, kBound, {.precision = Precision::bf16, .gpus = 2, .constant_tokens = true}) == test::about(20));
}

TEST_CASE("what tensor cores sustain makes no step where a product begins to be bound by them") {
  // Products of 10 GB with ever more FLOPs: at 0.4 TFLOP memory and multipliers take 10 and 8 ms, of which the latter become 8 / 0.69 ms.
  profiles::DeviceProfile d = round_device();
  d.sustained[Precision::bf16] = 0.69;
  for (double tflop = 0.1; tflop < 2; tflop *= 1.01) {
    const auto at = [&](double work) { return ms(d, {}, kernel(KernelKind::matmul, work * 1e12, 10e9), kRunInHalf); };
    CHECK(at(tflop) == test::about(std::max(10.0, 20 * tflop / 0.69)));
    CHECK(at(1.01 * tflop) <= 1.01 * at(tflop) * (1 + 1e-9));
  }
}

TEST_CASE("a share that nobody measured on the device is said, of products that keep it alone") {
  profiles::DeviceProfile d = round_device();
  CHECK(sim::kernel_cost(d, {}, kBound, kRunInHalf).assumed_share == 1);  // for want of any
  d.sustained[Precision::bf16] = 0.8;
  CHECK_FALSE(sim::kernel_cost(d, {}, kBound, kRunInHalf).assumed_share);
  d.sustained_assumed = true;
  CHECK(sim::kernel_cost(d, {}, kBound, kRunInHalf).assumed_share == 0.8);
  CHECK_FALSE(sim::kernel_cost(d, {}, kWaits, kRunInHalf).assumed_share);
  profiles::FrameworkProfile own;
  own.sustained["round"] = 0.5;
  CHECK_FALSE(sim::kernel_cost(d, own, kBound, kRunInHalf).assumed_share);
}

TEST_CASE("a lower clock slows what tensor cores multiply, and neither vector units nor memory") {
  profiles::DeviceProfile d = round_device();
  d.clock = 0.5;
  CHECK(ms(d, {}, kBound, kRunInHalf) == test::about(40));
  CHECK(ms(d, {}, kWaits, kRunInHalf) == test::about(16));  // its FLOPs take longer than its bytes now
  d.clock = 0.9;
  CHECK(ms(d, {}, kWaits, kRunInHalf) == test::about(10));
  d.clock = 0.5;
  pcg::Kernel on_vectors = kernel(KernelKind::softmax, 1e12, 1e9);
  on_vectors.tensor_cores = false;
  CHECK(ms(d, {}, on_vectors, kRunInHalf) == test::about(100));
}

TEST_CASE("attention takes at least its FLOPs by the share that the framework reaches, the backward pass by its own where there is one") {
  profiles::DeviceProfile d = round_device();
  const pcg::Kernel forward = kernel(KernelKind::attention, 1e12, 1e9), backward = kernel(KernelKind::attention_gradient, 1e12, 1e9);
  profiles::FrameworkProfile f;
  f.attention["round"] = 0.25;
  CHECK(ms(d, f, forward, kRunInHalf) == test::about(40));
  CHECK(ms(d, f, backward, kRunInHalf) == test::about(40));
  f.attention_gradient["round"] = 0.2;
  CHECK(ms(d, f, forward, kRunInHalf) == test::about(40));
  CHECK(ms(d, f, backward, kRunInHalf) == test::about(50));
  // The clock counts once, and what products sustain does not.
  d.clock = 0.5;
  d.sustained[Precision::bf16] = 0.8;
  CHECK(ms(d, f, forward, kRunInHalf) == test::about(80));
  // No less than the kernel alone takes at that clock.
  f.attention["round"] = 4;
  CHECK(ms(d, f, forward, kRunInHalf) == test::about(40));
  // Without a share it is a product like others.
  CHECK(ms(d, {}, forward, kRunInHalf) == test::about(20 / 0.5 / 0.8));
}

// 8 heads of 1024 queries that meet half of 1024 keys: 2 x 2 x 8192 x 512 x 64 FLOPs forward. A block costs 100 keys more, and 10
// multiprocessors are idle for half of a block of 128 queries, 10 x 64 = 640 queries that could meet all 1124. Five products are 2.5 times
// two.
TEST_CASE("attention in blocks takes what each block costs besides, and ends with half of a longest block on idle multiprocessors") {
  profiles::DeviceProfile d = round_device();
  d.multiprocessors = 10;
  pcg::Kernel k = kernel(KernelKind::attention, 2 * 2.0 * 8192 * 512 * 64, 0);
  k.batch = 8;
  k.m = k.n = 1024;
  k.k = 64;
  profiles::FrameworkProfile f;
  f.attention["round"] = 0.01;
  const double whole = ms(d, f, k, kRunInHalf);
  f.attention_block_keys = 100;
  const double blocks = (8192 * 612 + 640 * 1124) / (8192.0 * 512);
  CHECK(ms(d, f, k, kRunInHalf) == test::about(whole * blocks));
  // The backward pass has its own.
  k.kind = KernelKind::attention_gradient;
  k.flops = k.flops * 2.5;
  CHECK(ms(d, f, k, kRunInHalf) == test::about(2.5 * whole));
  f.attention_gradient_block_keys = 100;
  CHECK(ms(d, f, k, kRunInHalf) == test::about(2.5 * whole * blocks));
  d.clock = 0.5;
  CHECK(ms(d, f, k, kRunInHalf) == test::about(5 * whole * blocks));
}

TEST_CASE("in low precision products alone are faster; attention is where it multiplies in it, too") {
  const profiles::DeviceProfile d = round_device();
  CHECK(ms(d, {}, kBound, kRunLow) == test::about(10));
  pcg::Kernel attention = kernel(KernelKind::attention, 1e12, 1e9);
  CHECK(ms(d, {}, attention, kRunLow) == test::about(20));
  attention.low_attention = true;
  CHECK(ms(d, {}, attention, kRunLow) == test::about(10));
}

TEST_CASE("adding up in fp32 takes what the device says longer, in fp8") {
  profiles::DeviceProfile d = round_device();
  d.split_accumulation = 1.25;
  pcg::Kernel k = kBound;
  k.split_accumulation = true;
  CHECK(ms(d, {}, k, kRunLow) == test::about(12.5));
  CHECK(ms(d, {}, k, kRunInHalf) == test::about(20));
  CHECK(ms(d, {}, kBound, kRunLow) == test::about(10));
}

TEST_CASE("products one after another take the floor of each, and what is added to a buffer is moved once") {
  profiles::DeviceProfile d = round_device();
  d.kernel_floor = base::Seconds(3e-3);
  pcg::Kernel k = kBound;
  k.batch = k.serial_launches = 10;
  CHECK(ms(d, {}, k, kRunInHalf) == test::about(10 * 3));  // each would take 2 ms
  k.added = base::Bytes(5e9);
  CHECK(ms(d, {}, k, kRunInHalf) == test::about(10 * 3 + 5));
}
