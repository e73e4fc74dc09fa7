// Kernels beside copies on a second stream: what each loses.
#include <algorithm>
#include <cmath>

#include "tools/collector/cuda/kernels.cuh"
#include "tools/collector/cuda/parts.cuh"

namespace collector {
namespace {

constexpr double kWindow_s = 0.01;
constexpr std::size_t kCopyBytes = std::size_t{64} << 20;
constexpr int kTries = 5;

struct Repeated {
  std::function<void(cudaStream_t)> one;
  double alone_s = 0;
};

int count_for(double window_s, double each_s) { return static_cast<int>(std::clamp(std::ceil(window_s / each_s), 1.0, 2000.0)); }

double time_alone(const std::function<void(cudaStream_t)>& one) {
  const Stream s;
  const Event before, after;
  const auto sample = [&](int n) {
    before.record(s.get());
    for (int i = 0; i < n; ++i) one(s.get());
    after.record(s.get());
    return seconds_between(before, after) / n;
  };
  (void)sample(2);
  const int n = count_for(kWindow_s, sample(4));
  std::vector<double> samples;
  for (int i = 0; i < kTries; ++i) samples.push_back(sample(n));
  return summarise(std::move(samples)).median;
}

// Of `timed` while `other` keeps the second stream busy from before its start until after its end.
double time_beside(const Repeated& timed, const Repeated& other) {
  const Stream a, b;
  const Event started, before, after;
  const int n = count_for(kWindow_s, timed.alone_s);
  const int m = count_for(3 * kWindow_s, other.alone_s);
  std::vector<double> samples;
  for (int i = 0; i < kTries; ++i) {
    spin(2e-4, b.get());
    started.record(b.get());
    for (int j = 0; j < m; ++j) other.one(b.get());
    check(cudaStreamWaitEvent(a.get(), started.get(), 0));
    before.record(a.get());
    for (int j = 0; j < n; ++j) timed.one(a.get());
    after.record(a.get());
    samples.push_back(seconds_between(before, after) / n);
    b.wait();
  }
  return summarise(std::move(samples)).median;
}

// A kernel while `blocks` blocks of a copy hold multiprocessors, from before its start until after its end.
void measure_beside_blocks(Bench& b, const Case& c, int blocks, char* to, const char* from, Results& results) {
  const Launch launch = case_launch(b, c);
  char* const slot = b.operands(launch.footprint, c.precision);
  check(cudaStreamSynchronize(b.stream()));
  const double kernel_s = time_alone([&](cudaStream_t s) { launch.run(slot, s); });
  const double copy_s = time_alone([&](cudaStream_t s) { copy_by_blocks(from, to, kCopyBytes, 1, blocks, s); });
  const Stream a, aside(Stream::Urgent{});
  const Event started, before, after, copy_before, copy_after;
  const int n = count_for(kWindow_s, kernel_s);
  const int rounds = count_for(2.5 * kWindow_s, copy_s);
  std::vector<double> kernel_samples, copy_samples;
  for (int i = 0; i < kTries; ++i) {
    started.record(aside.get());
    copy_before.record(aside.get());
    copy_by_blocks(from, to, kCopyBytes, rounds, blocks, aside.get());
    copy_after.record(aside.get());
    check(cudaStreamWaitEvent(a.get(), started.get(), 0));
    spin(1e-4, a.get());  // the copy has its multiprocessors
    before.record(a.get());
    for (int j = 0; j < n; ++j) launch.run(slot, a.get());
    after.record(a.get());
    kernel_samples.push_back(seconds_between(before, after) / n);
    copy_samples.push_back(seconds_between(copy_before, copy_after) / rounds);
  }
  results.overlap.push_back({c, std::to_string(blocks) + " blocks", static_cast<double>(kCopyBytes), kernel_s,
                             summarise(std::move(kernel_samples)).median, copy_s, summarise(std::move(copy_samples)).median});
}

std::vector<Case> kernels_beside_blocks(const Device& d) {
  std::vector<Case> possible;
  for (const Case& c : std::vector<Case>{{Operation::linear_forward, Precision::bf16, MatmulShape{1, 8192, 8192, 8192}},
                                         {Operation::linear_forward, Precision::bf16, MatmulShape{1, 8192, 4096, 4096}},
                                         {Operation::linear_forward, Precision::bf16, MatmulShape{1, 8192, 14336, 4096}},
                                         {Operation::linear_weight_gradient, Precision::bf16, MatmulShape{1, 8192, 14336, 4096}},
                                         {Operation::linear_input_gradient, Precision::bf16, MatmulShape{1, 8192, 14336, 4096}},
                                         {Operation::linear_forward, Precision::bf16, MatmulShape{1, 4096, 6144, 12288}},
                                         {Operation::linear_forward, Precision::bf16, MatmulShape{1, 2048, 2560, 8192}},
                                         {Operation::linear_forward, Precision::fp8, MatmulShape{1, 8192, 8192, 8192}},
                                         {Operation::linear_forward, Precision::fp8, MatmulShape{1, 8192, 14336, 4096}},
                                         {Operation::gelu, Precision::bf16, RowsShape{8192, 16384}},
                                         {Operation::rms_norm_forward, Precision::bf16, RowsShape{8192, 8192}},
                                         {Operation::add, Precision::bf16, RowsShape{8192, 8192}}})
    if (supports(d, c)) possible.push_back(c);
  return possible;
}

std::vector<Case> kernels_beside(const Device& d) {
  const std::vector<Case> all = {{Operation::linear_forward, Precision::bf16, MatmulShape{1, 8192, 8192, 8192}},
                                 {Operation::linear_forward, Precision::bf16, MatmulShape{1, 4096, 4096, 1024}},
                                 {Operation::linear_forward, Precision::fp16, MatmulShape{1, 4096, 4096, 4096}},
                                 {Operation::linear_forward, Precision::tf32, MatmulShape{1, 4096, 4096, 4096}},
                                 {Operation::linear_forward, Precision::fp32, MatmulShape{1, 4096, 4096, 4096}},
                                 {Operation::add, Precision::fp32, RowsShape{8192, 8192}},
                                 {Operation::gelu, Precision::fp16, RowsShape{16384, 4096}},
                                 {Operation::layer_norm_forward, Precision::fp16, RowsShape{16384, 4096}},
                                 {Operation::adam, Precision::fp32, RowsShape{4096, 8192}}};
  std::vector<Case> possible;
  for (const Case& c : all)
    if (supports(d, c)) possible.push_back(c);
  return possible;
}

struct Direction {
  const char* name;
  char* to;
  const char* from;
  cudaMemcpyKind kind;
};

void measure_one(Bench& b, const Case& c, const Direction& d, double copy_alone_s, Results& results) {
  const Launch launch = case_launch(b, c);
  char* const slot = b.operands(launch.footprint, c.precision);
  check(cudaStreamSynchronize(b.stream()));
  const Repeated copy{[&](cudaStream_t s) { check(cudaMemcpyAsync(d.to, d.from, kCopyBytes, d.kind, s)); }, copy_alone_s};
  Repeated kernel{[&](cudaStream_t s) { launch.run(slot, s); }};
  kernel.alone_s = time_alone(kernel.one);
  const double beside_s = time_beside(kernel, copy);
  const double copy_beside_s = time_beside(copy, kernel);
  results.overlap.push_back({c, d.name, static_cast<double>(kCopyBytes), kernel.alone_s, beside_s, copy_alone_s, copy_beside_s});
}

}  // namespace

void measure_overlap(Bench& b, const Deadline& until, Results& results) {
  const HostMemory host(kCopyBytes, true);
  const DeviceMemory here(kCopyBytes), there(kCopyBytes);
  for (const int blocks : {16, 32, 8})
    for (const Case& c : kernels_beside_blocks(b.device())) {
      if (until.passed()) return results.left_out.push_back("overlap beside blocks: the time budget ended");
      try {
        measure_beside_blocks(b, c, blocks, there.data(), here.data(), results);
      } catch (const NotSupported& e) {
        results.left_out.push_back("overlap " + std::string(to_text(c.operation)) + " " + std::string(to_text(c.precision)) + ": " +
                                   e.what());
      }
    }
  const Direction directions[] = {{"h2d", here.data(), host.data(), cudaMemcpyHostToDevice},
                                  {"d2h", host.data(), here.data(), cudaMemcpyDeviceToHost},
                                  {"d2d", there.data(), here.data(), cudaMemcpyDeviceToDevice}};
  for (const Direction& d : directions) {
    const double copy_s = time_alone([&](cudaStream_t s) { check(cudaMemcpyAsync(d.to, d.from, kCopyBytes, d.kind, s)); });
    for (const Case& c : kernels_beside(b.device())) {
      if (until.passed()) return results.left_out.push_back(std::string("overlap from ") + d.name + " on: the time budget ended");
      try {
        measure_one(b, c, d, copy_s, results);
      } catch (const NotSupported& e) {
        results.left_out.push_back("overlap " + std::string(to_text(c.operation)) + " " + std::string(to_text(c.precision)) + ": " +
                                   e.what());
      }
    }
  }
}

}  // namespace collector
