// Seconds of one kernel: what planners ask for every kernel of every candidate. To stay below a microsecond.
#include <benchmark/benchmark.h>

#include "profiles/device_profile.hpp"

namespace {

void matmul_time(benchmark::State& state) {
  const auto& d = profiles::device_profile("a100-sxm-80gb");
  pcg::Kernel k{.kind = pcg::KernelKind::matmul, .batch = 1, .m = 2048, .n = 4096, .k = 1024, .tensor_cores = true};
  for (auto _ : state) {
    k.m = 1024 + (k.m + 1) % 8192;  // no two alike
    const double m = static_cast<double>(k.m), n = static_cast<double>(k.n), inner = static_cast<double>(k.k);
    k.flops = base::Flops(2 * m * n * inner);
    k.bytes = base::Bytes(2 * (m * n + n * inner + inner * m));
    benchmark::DoNotOptimize(profiles::kernel_time(d, k, pcg::Precision::fp16));
  }
}
BENCHMARK(matmul_time);

void elementwise_time(benchmark::State& state) {
  const auto& d = profiles::device_profile("a100-sxm-80gb");
  const pcg::Kernel k{.kind = pcg::KernelKind::elementwise, .flops = base::Flops(1e6), .bytes = base::Bytes(1e8)};
  for (auto _ : state) benchmark::DoNotOptimize(profiles::kernel_time(d, k, pcg::Precision::fp16));
}
BENCHMARK(elementwise_time);

}  // namespace
