// How long a kernel takes: the best basis that the profile has for it.
#include <fmt/core.h>

#include <algorithm>

#include "base/check.hpp"
#include "profiles/device_profile.hpp"

namespace profiles {
namespace {

// Fixed cost and rate in one: (work + half) / (peak * max). Grows with the work, so more is never faster.
double term_s(double work, double peak, const std::map<pcg::KernelKind, Efficiency>& table, pcg::KernelKind kind) {
  if (!(work > 0)) return 0;
  const Efficiency& e = table.at(kind);
  return (work + e.half) / (peak * e.max);
}

KernelTime roofline(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p) {
  const auto peak = d.peak.find(p);
  BASE_CHECK(peak != d.peak.end(), "{} has no {}", d.name, pcg::to_text(p));
  const auto vector_peak = d.vector_peak.at(p);
  const bool tensor = k.tensor_cores && peak->second > vector_peak;
  const double compute_s =
      term_s(k.flops.value(), (tensor ? peak->second : vector_peak).value(), tensor ? d.compute : d.vector_compute, k.kind);
  const double traffic_s = term_s(k.bytes.value(), d.memory_bandwidth.value(), d.traffic, k.kind);
  return {base::Seconds(std::max({compute_s, traffic_s, d.kernel_floor.value()})), Basis::defaults, false};
}

}  // namespace

std::string_view to_text(Basis b) {
  switch (b) {
    case Basis::measured: return "measured";
    case Basis::fitted: return "fitted";
    case Basis::defaults: return "defaults";
  }
  return "defaults";
}

// Measured tables, then fitted models, are asked here first once profiles hold them.
KernelTime kernel_time(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p) { return roofline(d, k, p); }

std::optional<std::string> unsupported(const DeviceProfile& d, pcg::Precision p) {
  if (d.peak.contains(p)) return std::nullopt;
  return fmt::format("{} has no {}", d.name, pcg::to_text(p));
}

}  // namespace profiles
