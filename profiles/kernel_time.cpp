#include "profiles/device_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "base/check.hpp"

namespace profiles {
namespace {

// Fixed cost and rate in one: (work + half) / (peak * max). Grows with the work, so more is never faster.
double term_s(double work, double peak, const std::map<pcg::KernelKind, Efficiency>& table, pcg::KernelKind kind) {
  if (!(work > 0)) return 0;
  const Efficiency& e = table.at(kind);
  return (work + e.half) / (peak * e.max);
}

// `rate`, here and below: kernel_time's.
double peak_of(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate) {
  const auto peak = d.peak.find(p);
  BASE_CHECK(peak != d.peak.end(), "{} has no {}", d.name, pcg::to_text(p));
  const auto vector_peak = d.vector_peak.at(p);
  return k.tensor_cores ? std::max(peak->second * rate, vector_peak).value() : vector_peak.value();
}

double compute_s(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate) {
  return term_s(k.flops.value(), peak_of(d, k, p, rate), runs_on_tensor_cores(d, k, p) ? d.compute : d.vector_compute, k.kind);
}

KernelTime roofline(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate) {
  const double traffic_s = term_s(k.bytes.value(), d.memory_bandwidth.value(), d.traffic, k.kind);
  return {base::Seconds(std::max({compute_s(d, k, p, rate), traffic_s, d.kernel_floor.value()})), Basis::defaults};
}

// Precisions whose fits serve `p`, the best first: fp16 and bf16 run on the same units at the same rate, so one replaces the other
// where a table has only one, and either for low precision.
std::span<const pcg::Precision> stand_ins(pcg::Precision p) {
  using enum pcg::Precision;
  static constexpr std::array kHalf = {bf16, fp16};
  static constexpr std::array kOtherHalf = {fp16, bf16};
  if (p == bf16 || pcg::casts_products(p)) return kHalf;
  return p == fp16 ? std::span<const pcg::Precision>(kOtherHalf) : std::span<const pcg::Precision>();
}

// The fit of a kind and precision among `fits`, or its substitute; end() where nothing does.
template <class Fits>
typename Fits::const_iterator fit_for(const Fits& fits, pcg::KernelKind kind, pcg::Precision p) {
  auto at = fits.find({kind, p});
  for (const pcg::Precision other : stand_ins(p))
    if (at == fits.end()) at = fits.find({kind, other});
  return at;
}

// A fit of the forward pass of attention, by products, serves the backward pass as well.
const FittedProduct* product_of(const Fitted& f, pcg::KernelKind kind, pcg::Precision p) {
  auto at = fit_for(f.products, kind, p);
  if (at == f.products.end() && kind == pcg::KernelKind::attention_gradient) at = fit_for(f.products, pcg::KernelKind::attention, p);
  return at == f.products.end() ? nullptr : &at->second;
}

// mxfp8 runs on the units of fp8 at their rate, so a ceiling of one is the other's.
std::optional<double> ceiling_of(const DeviceProfile& d, pcg::Precision p) {
  auto at = d.ceiling.find(p);
  if (at == d.ceiling.end() && p == pcg::Precision::mxfp8) at = d.ceiling.find(pcg::Precision::fp8);
  return at == d.ceiling.end() ? std::nullopt : std::optional(at->second.value());
}

// The peak at which the fit of bf16 gives times of `p`.
double peak_for_fit_of_bf16(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate) {
  const auto own = ceiling_of(d, p), half = ceiling_of(d, pcg::Precision::bf16);
  return own && half ? peak_of(d, k, pcg::Precision::bf16, rate) * *own / *half : peak_of(d, k, p, rate);
}

// Tensor cores take as many bytes of an operand in each step, whatever the format.
double share_of_steps(pcg::Precision p) { return p == pcg::Precision::nvfp4 ? 0.25 : 0.5; }

Basis basis_of(const Provenance& provenance, bool covered) { return covered && !provenance.borrowed ? Basis::fitted : Basis::extrapolated; }

// Half an octave in which a number lies, and how far into it the number is. Powers of two are exact: a product counts whole tiles.
struct HalfOctave {
  double begin, end, fraction;
};
HalfOctave half_octave_of(double x) {
  constexpr double kRounding = 1e-9;
  const double halves = 2 * std::log2(x), whole = std::floor(halves + kRounding);
  return {std::exp2(whole / 2), std::exp2((whole + 1) / 2), std::max(0.0, halves - whole)};
}

// The same product with other rows.
ProductSizes with_rows(ProductSizes s, double m) {
  const auto operands = [&](double rows) { return rows * s.k + s.k * s.n + rows * s.n; };
  s.bytes *= operands(m) / operands(s.m);
  s.m = m;
  return s;
}

// Tiles and rounds make a staircase of the time over the rows. Its steps lie where a library's choice of tile puts them, which beside the
// rows of tables is not known. So the model counts at powers of the root of two, and between them the time is interpolated as a power of
// the rows: continuous, and hardly a row costs more than the work that it adds.
double smooth_seconds(const FittedProduct& f, const ProductModel& model, const ProductDevice& device, pcg::KernelKind kind,
                      const ProductSizes& sizes) {
  const auto at = [&](double rows) {
    const ProductSizes s = with_rows(sizes, rows);
    return product_seconds(model, device, s) * std::exp(f.correction.at(correction_point(kind, s)));
  };
  const HalfOctave rows = half_octave_of(sizes.m);
  const double begin = at(rows.begin);
  return rows.fraction > 0 ? begin * std::pow(at(rows.end) / begin, rows.fraction) : begin;
}

KernelTime fitted_time(const DeviceProfile& d, const FittedProduct& f, const pcg::Kernel& k, pcg::Precision p, double rate) {
  const ProductSizes sizes = product_sizes(k, p);
  const bool is_own = !pcg::casts_products(p) || d.fitted.products.contains({k.kind, p});
  ProductModel model = f.model;
  if (!is_own) model.step_s *= share_of_steps(p);
  const double peak = peak_of(d, k, p, rate);
  const ProductDevice device{is_own ? peak : peak_for_fit_of_bf16(d, k, p, rate), d.memory_bandwidth.value(),
                             static_cast<double>(d.multiprocessors)};
  const double seconds = smooth_seconds(f, model, device, k.kind, sizes);
  const double least = std::max({k.flops.value() / peak, k.bytes.value() / device.bandwidth, d.kernel_floor.value()});
  return {base::Seconds(std::max(seconds, least)), basis_of(f.provenance, is_own && f.correction.covers(correction_point(k.kind, sizes)))};
}

// Attention in low precision for which nothing was measured takes the time of its substitute.
std::optional<KernelTime> fitted_attention_time(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate) {
  const auto at = fit_for(d.fitted.attentions, k.kind, p);
  if (at == d.fitted.attentions.end()) return std::nullopt;
  const pcg::Precision measured = at->first.second;
  const double peak = peak_of(d, k, measured, rate);
  const double least = std::max({k.flops.value() / peak, k.bytes.value() / d.memory_bandwidth.value(), d.kernel_floor.value()});
  const bool is_own = measured == p || !pcg::casts_products(p);
  return KernelTime{base::Seconds(std::max(attention_seconds(at->second.model, peak, k), least)), basis_of(at->second.provenance, is_own)};
}

KernelTime fitted_time(const DeviceProfile& d, const FittedRate& f, const pcg::Kernel& k, pcg::Precision p, double rate) {
  const double seconds = (k.bytes.value() + f.traffic.half) / (d.memory_bandwidth.value() * f.traffic.max);
  const double least = std::max(compute_s(d, k, p, rate), d.kernel_floor.value());
  return {base::Seconds(std::max(seconds, least)), basis_of(f.provenance, k.bytes <= f.largest)};
}

KernelTime modelled_time(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate) {
  if (is_product(k)) {
    if (const auto attention = fitted_attention_time(d, k, p, rate)) return *attention;
    if (const FittedProduct* f = product_of(d.fitted, k.kind, p)) return fitted_time(d, *f, k, p, rate);
  } else if (const auto at = d.fitted.rates.find(k.kind); at != d.fitted.rates.end()) {
    return fitted_time(d, at->second, k, p, rate);
  }
  return roofline(d, k, p, rate);
}

KernelTime corrected_time(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate) {
  const KernelTime modelled = modelled_time(d, k, p, rate);
  if (d.measured.empty()) return modelled;
  const auto correction = d.measured.correction(k, p);
  if (!correction) return modelled;
  return {modelled.time * std::exp(correction->log), correction->is_own ? Basis::measured : Basis::fitted};
}

}  // namespace

bool runs_on_tensor_cores(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p) {
  return peak_of(d, k, p, 1) > d.vector_peak.at(p).value();
}

KernelTime kernel_time(const DeviceProfile& d, const pcg::Kernel& k, pcg::Precision p, double rate) {
  const KernelTime own = corrected_time(d, k, p, rate);
  if (p != pcg::Precision::tf32 || !d.peak.contains(pcg::Precision::fp32)) return own;
  const KernelTime wider = corrected_time(d, k, pcg::Precision::fp32, rate);
  return wider.time < own.time ? wider : own;
}

}  // namespace profiles
