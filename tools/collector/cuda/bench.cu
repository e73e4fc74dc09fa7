#include "tools/collector/cuda/bench.cuh"

#include <algorithm>
#include <vector>

#include "tools/collector/cuda/kernels.cuh"
#include "tools/collector/grid.hpp"
#include "tools/collector/schedule.hpp"

namespace collector {
namespace {

constexpr std::size_t kWorkspace = std::size_t{512} << 20;
constexpr double kQueue_s = 4e-5;  // how long the host has to queue a sample before it starts
// Of one launch. Some algorithms that heuristics choose take minutes for an odd convolution, whatever its FLOPs say.
constexpr double kLongestMeasured_s = 0.25;

int attribute(cudaDeviceAttr a, int index) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, a, index));
  return value;
}

}  // namespace

Device device_facts(int index) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, index));
  Device d;
  d.name = properties.name;
  d.major = properties.major;
  d.minor = properties.minor;
  d.multiprocessors = properties.multiProcessorCount;
  d.memory_bytes = static_cast<double>(properties.totalGlobalMem);
  d.l2_bytes = properties.l2CacheSize;
  d.clock_hz = 1e3 * attribute(cudaDevAttrClockRate, index);
  // Two transfers per clock and wire.
  d.memory_bytes_per_second = 2e3 * attribute(cudaDevAttrMemoryClockRate, index) * attribute(cudaDevAttrGlobalMemoryBusWidth, index) / 8;
  check(cudaGetDeviceCount(&d.count));
  return d;
}

// The arena holds the largest case, and four times L2 at least.
Bench::Bench(const Device& d, bool cold)
    : device_(d),
      cold_(cold),
      arena_(aligned(std::max(1.01 * largest_footprint(d), 4 * d.l2_bytes) + 65536)),
      flush_(aligned(2 * d.l2_bytes + 65536)),
      workspace_(kWorkspace),
      indices_(8 * kMostIndices) {
  fill_random(flush_.data(), flush_.bytes(), Precision::fp32, 1, stream());
  stream_.wait();
  if (cublasLtCreate(&blas_) != CUBLAS_STATUS_SUCCESS) throw GpuError("cublasLtCreate failed");
}
Bench::~Bench() { cublasLtDestroy(blas_); }

char* Bench::operands(double footprint, Precision p) {
  const std::size_t bytes = aligned(footprint);
  if (bytes > arena_.bytes()) throw GpuError("operands of " + std::to_string(bytes) + " bytes are more than the arena holds");
  fill_random(arena_.data(), bytes, p, 7, stream());
  return arena_.data();
}

double Bench::one_launch(const std::function<void(int)>& run) {
  spin(kQueue_s, stream());
  before_.record(stream());
  run(1);
  after_.record(stream());
  return std::max(1e-6, seconds_between(before_, after_));
}

void Bench::prepare_sample() {
  if (cold_) read_all(flush_.data(), flush_.bytes(), reinterpret_cast<float*>(workspace_.data()), stream());
  spin(kQueue_s, stream());
}

Summary Bench::time(const Launch& launch, Precision p) {
  const std::size_t stride = aligned(launch.footprint);
  const std::size_t room = std::max<std::size_t>(1, arena_.bytes() / stride);
  // More operands than four times L2 holds are no colder.
  const auto enough = static_cast<std::size_t>(4 * device_.l2_bytes / static_cast<double>(stride)) + 2;
  const std::size_t slots = cold_ ? std::min(room, enough) : 1;
  (void)operands(static_cast<double>(stride * std::min<std::size_t>(slots, 200)), p);
  const auto run = [&](int i) { launch.run(arena_.data() + static_cast<std::size_t>(i) % slots * stride, stream()); };
  run(0);
  stream_.wait();
  const double once_s = one_launch(run);
  if (once_s > kLongestMeasured_s) throw NotSupported("one launch takes " + std::to_string(once_s) + " s");
  const Repeats repeats = repeats_for(once_s);
  const Graph sample(stream(), [&] {
    for (int i = 0; i < repeats.launches; ++i) run(i);
  });
  std::vector<double> samples;
  for (int i = 0; i <= repeats.samples; ++i) {
    prepare_sample();
    before_.record(stream());
    sample.launch(stream());
    after_.record(stream());
    const double seconds = seconds_between(before_, after_) / repeats.launches;
    if (i > 0) samples.push_back(seconds);
  }
  return summarise(std::move(samples));
}

}  // namespace collector
