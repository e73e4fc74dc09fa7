#include "tools/collector/device.hpp"

#include <algorithm>

namespace collector {
namespace {

// FLOPs of one multiprocessor in one cycle.
double flops_per_cycle(int major, int minor, Precision p) {
  const bool data_center_ampere = major == 8 && minor == 0;
  switch (p) {
    case Precision::fp32: return major >= 9 || (major == 8 && !data_center_ampere) ? 256 : 128;
    case Precision::tf32: return major >= 10 ? 4096 : major == 9 ? 2048 : data_center_ampere ? 1024 : major == 8 ? 256 : 0;
    case Precision::fp16: return major >= 10 ? 8192 : major == 9 ? 4096 : data_center_ampere ? 2048 : major >= 7 ? 1024 : 0;
    case Precision::bf16: return major >= 10 ? 8192 : major == 9 ? 4096 : data_center_ampere ? 2048 : major == 8 ? 1024 : 0;
    case Precision::fp8: return major >= 10 ? 16384 : major == 9 ? 8192 : major == 8 && minor == 9 ? 2048 : 0;
  }
  return 0;
}

bool is_product(const Case& c) { return !std::holds_alternative<RowsShape>(c.shape); }

}  // namespace

double peak_flops(const Device& d, Precision p) { return flops_per_cycle(d.major, d.minor, p) * d.multiprocessors * d.clock_hz; }

bool supports(const Device& d, const Case& c) {
  if (!(peak_flops(d, c.precision) > 0)) return false;
  if (std::holds_alternative<RowsShape>(c.shape)) return c.precision != Precision::tf32 && c.precision != Precision::fp8;
  return !std::holds_alternative<ConvolutionShape>(c.shape) || c.precision != Precision::fp8;
}

double predicted_seconds(const Device& d, const Case& c) {
  const Work w = work_of(c);
  const double rate = peak_flops(d, is_product(c) ? c.precision : Precision::fp32);
  return std::max({3e-6, 3 * w.flops / rate, 3 * w.bytes / d.memory_bytes_per_second});
}

}  // namespace collector
