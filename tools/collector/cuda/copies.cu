// Copies between host and device, within a device and between devices: 4 KiB to 1 GiB, each alone on the machine.
#include <algorithm>

#include "tools/collector/cuda/kernels.cuh"
#include "tools/collector/cuda/parts.cuh"
#include "tools/collector/schedule.hpp"

namespace collector {
namespace {

constexpr std::size_t kSmallest = std::size_t{4} << 10, kLargest = std::size_t{1} << 30;

// Samples of several copies in a row; the first sample does not count.
Summary time_copies(cudaStream_t s, const std::function<void()>& copy) {
  const Event before, after;
  const auto sample = [&](int copies) {
    spin(4e-5, s);
    before.record(s);
    for (int i = 0; i < copies; ++i) copy();
    after.record(s);
    return seconds_between(before, after) / copies;
  };
  (void)sample(1);
  const Repeats repeats = repeats_for(std::max(1e-6, sample(1)));
  std::vector<double> samples;
  for (int i = 0; i <= repeats.samples; ++i) {
    const double seconds = sample(repeats.launches);
    if (i > 0) samples.push_back(seconds);
  }
  return summarise(std::move(samples));
}

// One direction over all sizes. copy(bytes) enqueues.
void sweep(const char* direction, const char* memory, cudaStream_t s, const std::function<void(std::size_t)>& copy, std::size_t largest,
           const Deadline& until, Results& results) {
  for (std::size_t bytes = kSmallest; bytes <= largest; bytes *= 2) {
    if (until.passed()) {
      results.left_out.push_back(std::string("copies ") + direction + " " + memory + " from " + std::to_string(bytes) +
                                 " bytes: the time budget ended");
      return;
    }
    results.copies.push_back({direction, memory, static_cast<double>(bytes), time_copies(s, [&] { copy(bytes); })});
  }
}

// From device 0 to every other one that it can reach directly; the first such pair stands for all.
void between_devices(const Device& d, const DeviceMemory& from, const Deadline& until, Results& results) {
  int here = 0;
  check(cudaGetDevice(&here));
  for (int there = 0; there < d.count; ++there) {
    int reachable = 0;
    if (there == here) continue;
    check(cudaDeviceCanAccessPeer(&reachable, here, there));
    if (reachable == 0) continue;
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(there, 0);
    if (enabled != cudaErrorPeerAccessAlreadyEnabled) check(enabled);
    (void)cudaGetLastError();
    check(cudaSetDevice(there));
    const DeviceMemory to(kLargest);
    check(cudaSetDevice(here));
    const Stream s;
    sweep(
        "p2p", "device", s.get(), [&](std::size_t n) { check(cudaMemcpyPeerAsync(to.data(), there, from.data(), here, n, s.get())); },
        kLargest, until, results);
    return;
  }
  results.left_out.push_back("copies p2p: no second GPU that can be reached");
}

}  // namespace

void measure_copies(const Device& d, const Deadline& until, Results& results) {
  const DeviceMemory device(kLargest), other(kLargest);
  const HostMemory pinned(kLargest, true), pageable(kLargest / 16, false);
  const Stream s;
  const auto copy = [&](char* to, const char* from, cudaMemcpyKind kind) {
    return [=, &s](std::size_t bytes) { check(cudaMemcpyAsync(to, from, bytes, kind, s.get())); };
  };
  sweep("h2d", "pinned", s.get(), copy(device.data(), pinned.data(), cudaMemcpyHostToDevice), kLargest, until, results);
  sweep("d2h", "pinned", s.get(), copy(pinned.data(), device.data(), cudaMemcpyDeviceToHost), kLargest, until, results);
  sweep("d2d", "device", s.get(), copy(other.data(), device.data(), cudaMemcpyDeviceToDevice), kLargest, until, results);
  between_devices(d, device, until, results);
  sweep("h2d", "pageable", s.get(), copy(device.data(), pageable.data(), cudaMemcpyHostToDevice), kLargest / 16, until, results);
  sweep("d2h", "pageable", s.get(), copy(pageable.data(), device.data(), cudaMemcpyDeviceToHost), kLargest / 16, until, results);
}

}  // namespace collector
