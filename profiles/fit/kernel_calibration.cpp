#include "profiles/fit/kernel_calibration.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>

#include "base/diagnostics.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/fit/model_fits.hpp"
#include "profiles/models/product_model.hpp"

namespace fit {
namespace {

constexpr std::uint64_t kAsideOneIn = 5;  // one in five, the usual share of cross-validation

// One step of FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv), whose published prime this is.
constexpr std::uint64_t step(std::uint64_t hash, std::uint64_t unit) { return (hash ^ unit) * 1099511628211ULL; }

using measured::KernelMeasurement;
using pcg::KernelKind;

constexpr int kFewestProducts = 40;       // some four rows for each of a product's eleven parameters
constexpr int kFewestRates = 12;          // six rows for each of a rate's two
constexpr int kFewestAttentions = 12;     // three rows for each of the four of attention's own model
constexpr std::size_t kWorst = 5;         // rows that a report shows
constexpr double kShortestS = 2e-7;       // no kernel has ever been this short: the clock ticked wrongly
constexpr double kFasterThanPeak = 1.02;  // room for the rounding of clocks and timers
constexpr double kSavedByWinograd = 4;    // FLOPs that a convolution may save on vector units
constexpr double kSlowest = 300;          // times a plain roofline, beyond kSlowestS
constexpr double kSlowestS = 1e-4;        // a late launch may add so much to a kernel of any size

using Rows = std::vector<const KernelMeasurement*>;
enum class Model { product, attention, rate };
struct Group {
  Model model = Model::rate;
  Rows used, aside;
  int left_out = 0;
};
using Groups = std::map<std::pair<KernelKind, pcg::Precision>, Group>;

const profiles::DeviceProfile& device_of(const profiles::DeviceProfile& d, const std::string& name) {
  return name == d.name ? d : profiles::device_profile(name);
}

std::string describe(const pcg::Kernel& k) {
  if (profiles::is_product(k)) {
    const std::string batch = k.batch > 1 ? fmt::format("{} of ", k.batch) : "";
    return fmt::format("{} {}{} x {} x {}", pcg::to_text(k.kind), batch, k.m, k.n, k.k);
  }
  return fmt::format("{} {}", pcg::to_text(k.kind), base::to_text(k.bytes));
}

double peak_of(const profiles::DeviceProfile& d, const KernelMeasurement& m) { return d.peak.at(m.precision).value(); }

// Whether the time of a row is impossible on its device: shorter than the peaks allow (that of compute only for products and attention) or
// than any launch, hundreds of times longer than a plain roofline, no finite number, or of a precision without a peak.
bool is_impossible(const profiles::DeviceProfile& d, const KernelMeasurement& m) {
  const double t = m.time.value();
  if (!(t > kShortestS) || !std::isfinite(t)) return true;
  if (!d.peak.contains(m.precision)) return true;
  const double compute = m.kernel.tensor_cores ? m.kernel.flops.value() / peak_of(d, m) : 0;
  const double saved = m.kernel.kind == KernelKind::convolution ? kSavedByWinograd : 1;
  if (t * kFasterThanPeak * saved < compute) return true;
  return t > kSlowestS + kSlowest * std::max(compute, (m.kernel.bytes / d.memory_bandwidth).value());
}

bool wanted(const CalibrationConfig& config, const std::string& own, const KernelMeasurement& m) {
  const bool device = config.devices.empty() ? m.device == own : std::ranges::find(config.devices, m.device) != config.devices.end();
  return device && (config.kinds.empty() || std::ranges::find(config.kinds, m.kernel.kind) != config.kinds.end());
}

// All rates of a kind are one group, whatever the precision: they are bound by bytes. Attention has a model of its own where both passes
// were measured: tables of the forward pass alone are of inference, with many short sequences.
Groups sorted_rows(const profiles::DeviceProfile& d, std::span<const KernelMeasurement> rows, const CalibrationConfig& config) {
  Groups groups;
  const auto is_wanted = [&](const KernelMeasurement& m) { return wanted(config, d.name, m); };
  const bool has_both = std::ranges::any_of(
      rows, [&](const KernelMeasurement& m) { return is_wanted(m) && m.kernel.kind == KernelKind::attention_gradient; });
  for (const KernelMeasurement& m : rows) {
    if (!is_wanted(m)) continue;
    const bool product = profiles::is_product(m.kernel);
    Group& g = groups[{m.kernel.kind, product ? m.precision : pcg::Precision::fp32}];
    g.model = !product ? Model::rate : has_both && pcg::is_attention(m.kernel.kind) ? Model::attention : Model::product;
    if (is_impossible(device_of(d, m.device), m)) ++g.left_out;
    else (is_held_out(m.kernel, m.precision) ? g.aside : g.used).push_back(&m);
  }
  return groups;
}

// In order of size: fits that look at some of the rows look at all sizes.
void sort_by_size(Rows& rows) {
  std::ranges::stable_sort(rows, {}, [](const KernelMeasurement* m) {
    const pcg::Kernel& k = m->kernel;
    return std::tuple(k.batch, k.m, k.n, k.k, k.bytes.value(), m->time.value());
  });
}

struct Errors {
  double mean = 0, bias = 0, p90 = 0;
};
Errors errors_of(const Rows& rows, const std::vector<double>& predicted) {
  Errors e;
  if (rows.empty()) return e;
  std::vector<double> sizes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double off = predicted[i] / rows[i]->time.value() - 1;
    e.bias += off;
    sizes.push_back(std::abs(off));
    e.mean += std::abs(off);
  }
  e.bias /= static_cast<double>(rows.size());
  e.mean /= static_cast<double>(rows.size());
  std::ranges::sort(sizes);
  e.p90 = sizes[std::min(sizes.size() - 1, sizes.size() * 9 / 10)];
  return e;
}

std::string sources_of(const Rows& rows) {
  std::set<std::string> files;
  for (const auto* m : rows) {
    const std::string& s = m->source;
    const std::size_t folder = s.rfind('/') == std::string::npos ? 0 : s.rfind('/') + 1;
    files.insert(s.substr(folder, s.rfind(':') - folder));
  }
  return fmt::format("{}", fmt::join(files, ", "));
}
std::string devices_of(const std::string& own, const Rows& rows) {
  std::set<std::string> names;
  for (const auto* m : rows) names.insert(m->device);
  return names == std::set<std::string>{own} ? "" : fmt::format("{}", fmt::join(names, ", "));
}

// The number of multiprocessors identifies a chip.
bool is_borrowed(const profiles::DeviceProfile& d, const Group& g) {
  return std::ranges::any_of(g.used, [&](const auto* m) { return device_of(d, m->device).multiprocessors != d.multiprocessors; });
}

// `predicted` runs over group.used, then over group.aside.
void judge(KernelFit& fit, const Group& g, const profiles::DeviceProfile& d, const std::vector<double>& predicted) {
  const auto split = predicted.begin() + static_cast<std::ptrdiff_t>(g.used.size());
  const std::vector<double> used(predicted.begin(), split), aside(split, predicted.end());
  const Errors seen = errors_of(g.used, used), unseen = errors_of(g.aside, aside);
  fit.provenance = {.source = sources_of(g.used.empty() ? g.aside : g.used),
                    .device = devices_of(d.name, g.used.empty() ? g.aside : g.used),
                    .borrowed = is_borrowed(d, g),
                    .rows = static_cast<int>(g.used.size()),
                    .error = seen.mean,
                    .held_out_rows = static_cast<int>(g.aside.size()),
                    .held_out_error = unseen.mean,
                    .held_out_p90 = unseen.p90};
  fit.held_out_bias = unseen.bias;
  std::vector<RowError> rows;
  for (std::size_t i = 0; i < g.aside.size(); ++i)
    rows.push_back({describe(g.aside[i]->kernel), g.aside[i]->source, g.aside[i]->time.value(), aside[i]});
  std::ranges::stable_sort(rows, std::greater<>{}, [](const RowError& r) { return std::abs(std::log(r.predicted_s / r.measured_s)); });
  if (rows.size() > kWorst) rows.resize(kWorst);
  fit.worst = std::move(rows);
}

// What make(measurement) makes of each.
template <class Make>
auto rows_of(const Rows& rows, Make make) {
  std::vector<decltype(make(*rows.front()))> result;
  for (const auto* m : rows) result.push_back(make(*m));
  return result;
}

// Of group.used, then of group.aside.
template <class Predict>
std::vector<double> predictions(const Group& g, Predict predict_row) {
  std::vector<double> predicted = rows_of(g.used, predict_row);
  std::ranges::copy(rows_of(g.aside, predict_row), std::back_inserter(predicted));
  return predicted;
}

std::vector<double> fit_products(const profiles::DeviceProfile& d, const Group& g, KernelKind kind, profiles::FittedProduct& into) {
  const auto row = [&](const KernelMeasurement& m) {
    const profiles::DeviceProfile& own = device_of(d, m.device);
    return ProductRow{{peak_of(own, m), own.memory_bandwidth.value(), static_cast<double>(own.multiprocessors)},
                      profiles::product_sizes(m.kernel, m.precision),
                      m.time.value()};
  };
  const std::vector<ProductRow> used = rows_of(g.used, row);
  into.model = fit_product_model(used);
  into.correction = fit_correction(kind, into.model, used);
  return predictions(g, [&](const KernelMeasurement& m) { return predict(kind, into.model, into.correction, row(m)); });
}
std::vector<double> fit_attentions(const profiles::DeviceProfile& d, const Group& g, profiles::FittedAttention& into) {
  const auto row = [&](const KernelMeasurement& m) { return AttentionRow{peak_of(device_of(d, m.device), m), m.kernel, m.time.value()}; };
  into.model = fit_attention(rows_of(g.used, row));
  return predictions(g, [&](const KernelMeasurement& m) { return predict(into.model, row(m)); });
}
std::vector<double> fit_rates(const profiles::DeviceProfile& d, const Group& g, profiles::FittedRate& into) {
  const auto row = [&](const KernelMeasurement& m) {
    return RateRow{device_of(d, m.device).memory_bandwidth.value(), m.kernel.bytes.value(), m.time.value()};
  };
  const std::vector<RateRow> used = rows_of(g.used, row);
  const profiles::Efficiency fit = fit_rate(used);
  const auto [least, most] = std::ranges::minmax(used, {}, &RateRow::bytes);
  // The rows' fixed part beyond the shortest kernel belongs to the timer and the launch, not to the kernel.
  into.traffic = {fit.max, std::min(fit.half, (d.memory_bandwidth * d.kernel_floor).value() * fit.max)};
  into.smallest = base::Bytes(least.bytes);
  into.largest = base::Bytes(most.bytes);
  return predictions(g, [&](const KernelMeasurement& m) { return predict(fit, row(m)); });
}

KernelFit fit_group(const profiles::DeviceProfile& d, KernelKind kind, pcg::Precision precision, const Group& g,
                    const CalibrationConfig& config, profiles::Fitted& into) {
  KernelFit fit{.kind = kind, .precision = precision, .product = g.model != Model::rate, .left_out = g.left_out};
  const int fewest = g.model == Model::product ? kFewestProducts : g.model == Model::attention ? kFewestAttentions : kFewestRates;
  if (static_cast<int>(g.used.size()) < fewest) {
    fit.provenance.rows = static_cast<int>(g.used.size());
    fit.refusal = fmt::format("{} usable rows beside those kept aside, a fit needs {}", g.used.size(), fewest);
    return fit;
  }
  const auto keep = [&](const std::vector<double>& predicted, auto& model) {
    judge(fit, g, d, predicted);
    fit.provenance.command = config.command;
    model.provenance = fit.provenance;
  };
  const std::pair key(kind, precision);
  if (g.model == Model::product) {
    profiles::FittedProduct product;
    keep(fit_products(d, g, kind, product), product);
    into.products[key] = std::move(product);
    into.attentions.erase(key);
  } else if (g.model == Model::attention) {
    profiles::FittedAttention attention;
    keep(fit_attentions(d, g, attention), attention);
    into.attentions[key] = std::move(attention);
    into.products.erase(key);
  } else {
    keep(fit_rates(d, g, into.rates[kind]), into.rates[kind]);
  }
  return fit;
}

std::vector<profiles::MeasuredKernel> table_of(const Groups& groups) {
  std::vector<profiles::MeasuredKernel> table;
  for (const auto& [key, group] : groups)
    for (const Rows* rows : {&group.used, &group.aside})
      for (const KernelMeasurement* m : *rows) table.push_back({m->precision, m->kernel, m->time.value()});
  return table;
}

void refuse_nothing(const Groups& groups, const profiles::DeviceProfile& d, std::span<const KernelMeasurement> rows,
                    const CalibrationConfig& config) {
  if (!groups.empty()) return;
  std::set<std::string> names;
  for (const KernelMeasurement& m : rows) names.insert(m.device);
  base::refuse(
      "", fmt::format("no kernel was measured on {}", config.devices.empty() ? d.name : fmt::format("{}", fmt::join(config.devices, ", "))),
      names.empty() ? "the files hold no kernels"
                    : fmt::format("the files hold kernels of {}{}", fmt::join(names, ", "),
                                  config.kinds.empty() ? "" : "; --kind leaves out those of other kinds"));
}

}  // namespace

bool is_held_out(const pcg::Kernel& k, pcg::Precision p) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a's published beginning
  const bool by_sizes = profiles::is_product(k) && !pcg::is_attention(k.kind);
  const auto bytes = static_cast<std::int64_t>(by_sizes ? 0 : k.bytes.value());
  for (const std::int64_t x : {static_cast<std::int64_t>(k.kind), static_cast<std::int64_t>(p), k.batch, k.m, k.n, k.k, bytes})
    for (int byte = 0; byte < 8; ++byte) hash = step(hash, static_cast<std::uint64_t>(x) >> (8 * byte) & 0xff);
  return (hash >> 33) % kAsideOneIn == 0;  // the high bits are the ones that FNV mixes best
}

bool is_held_out(const measured::CollectiveMeasurement& m) {
  const auto half_octave = static_cast<std::uint64_t>(std::floor(2 * std::log2(std::max(1.0, m.bytes.value()))));
  std::uint64_t hash = 1469598103934665603ULL;  // any odd number would do; the shipped fits were made with this one
  for (const std::uint64_t x : {static_cast<std::uint64_t>(m.kind), static_cast<std::uint64_t>(m.gpus), half_octave}) hash = step(hash, x);
  return (hash >> 32) % kAsideOneIn == 0;
}

KernelCalibration calibrate_kernels(const profiles::DeviceProfile& d, std::span<const KernelMeasurement> rows,
                                    const CalibrationConfig& config) {
  Groups groups = sorted_rows(d, rows, config);
  refuse_nothing(groups, d, rows, config);
  KernelCalibration result{.fitted = d.fitted};
  if (config.keep_table) result.fitted.table = table_of(groups);
  for (auto& [key, group] : groups) {
    sort_by_size(group.used);
    sort_by_size(group.aside);
    result.fits.push_back(fit_group(d, key.first, key.second, group, config, result.fitted));
  }
  return result;
}

}  // namespace fit
