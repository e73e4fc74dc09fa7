// What a launch costs, with a kernel that does nothing.
#include "tools/collector/cuda/kernels.cuh"
#include "tools/collector/cuda/parts.cuh"

namespace collector {
namespace {

constexpr int kKernels = 200;  // fewer than the driver queues, so that the host never waits for the device
constexpr int kSamples = 51;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Median over samples of what `sample` returns; the first does not count.
template <class Sample>
double median_of(const Sample& sample) {
  std::vector<double> samples;
  for (int i = 0; i <= kSamples; ++i) {
    const double seconds = sample();
    if (i > 0) samples.push_back(seconds);
  }
  return summarise(std::move(samples)).median;
}

}  // namespace

void measure_launches(Results& results) {
  const Stream stream;
  cudaStream_t const s = stream.get();
  const Event before, after;
  const auto enqueue = [&] {
    for (int i = 0; i < kKernels; ++i) empty(s);
  };
  LaunchResult& l = results.launch;
  l.host_s = median_of([&] {
    const double start = now_s();
    enqueue();
    const double seconds = (now_s() - start) / kKernels;
    stream.wait();
    return seconds;
  });
  l.back_to_back_s = median_of([&] {
    before.record(s);
    enqueue();
    after.record(s);
    return seconds_between(before, after) / kKernels;
  });
  const Graph graph(s, enqueue);
  l.graph_kernels = kKernels;
  l.graph_kernel_s = median_of([&] {
    spin(2e-4, s);
    before.record(s);
    graph.launch(s);
    after.record(s);
    return seconds_between(before, after) / kKernels;
  });
  l.graph_launch_s = median_of([&] {
    const double start = now_s();
    graph.launch(s);
    const double seconds = now_s() - start;
    stream.wait();
    return seconds;
  });
  l.round_trip_s = median_of([&] {
    const double start = now_s();
    empty(s);
    stream.wait();
    return now_s() - start;
  });
}

}  // namespace collector
