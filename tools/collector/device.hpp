#pragma once
// A GPU as the collector must know it before it measures: which precisions it has, and roughly how long a case will take, so that the
// time budget can be shared out. Predictions steer the order and number of cases; they are never written as results.

#include <cstdint>
#include <string>

#include "tools/collector/case.hpp"

namespace collector {

struct Device {
  std::string name = "NVIDIA H200";  // the defaults are an H200's, for a dry run without a GPU
  int major = 9, minor = 0;          // compute capability
  int multiprocessors = 132;
  double memory_bytes = 141e9;
  double l2_bytes = 50e6;
  double clock_hz = 1.98e9;                 // of the multiprocessors, highest
  double memory_bytes_per_second = 4.8e12;  // by bus width and clock
  int count = 1;                            // GPUs that are visible
};

// Returns FLOP/s of all multiprocessors at the highest clock, dense; 0: the device has no such arithmetic. Source: FMAs per multiprocessor
// and cycle in NVIDIA's architecture white papers (V100, A100, H100, B200), times two.
[[nodiscard]] double peak_flops(const Device& d, Precision p);
// Tensor cores for products in half precision and tf32; own kernels compute in fp32 and are bound by traffic: no tf32, no fp8.
[[nodiscard]] bool supports(const Device& d, const Case& c);
// Returns the seconds of one launch: a third of the peaks, or 3 us.
[[nodiscard]] double predicted_seconds(const Device& d, const Case& c);

}  // namespace collector
