#include "scenarios/comparison/calibration.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/diagnostics.hpp"
#include "base/files/text_file.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/fit/profile_text.hpp"
#include "profiles/profile_files.hpp"
#include "scenarios/intervals/interval.hpp"

namespace comparison {
namespace {

constexpr std::size_t kLeastLaunches = 20;

struct Sums {
  double measured_s = 0, predicted_s = 0, measured = 0, predicted = 0;
  void add(const Sums& o) {
    measured_s += o.measured_s;
    predicted_s += o.predicted_s;
    measured += o.measured;
    predicted += o.predicted;
  }
};

// One of those that are launched serially, in the precision in which kernels of its kind run (sim/kernels/kernel_cost.cpp).
profiles::MeasuredKernel alone(const sim::TimedKernel& t) {
  profiles::MeasuredKernel m{t.precision, t.kernel, 0};
  const auto count = static_cast<double>(t.kernel.serial_launches);
  m.kernel.batch /= t.kernel.serial_launches;
  m.kernel.flops = m.kernel.flops / count;
  m.kernel.bytes = m.kernel.bytes / count;
  m.kernel.serial_launches = 1;
  if (pcg::casts_products(t.precision) && t.kernel.kind != pcg::KernelKind::matmul && !t.kernel.low_attention)
    m.precision = pcg::Precision::bf16;
  return m;
}

auto place_of(const profiles::MeasuredKernel& m) {
  const pcg::Kernel& k = m.kernel;
  return std::tuple(k.kind, m.precision, k.batch, k.m, k.n, k.k, k.bytes.value());
}

struct KnownKernel {
  profiles::MeasuredKernel kernel;
  Sums sums;
};
using KnownKernels = std::map<decltype(place_of({})), KnownKernel>;

bool is_held_out(const Comparison& c, std::size_t device) {
  return c.holds_out_devices && std::ranges::find(c.held_out, device, &HeldOut::device) != c.held_out.end();
}

// `memory`: the device's bandwidth, at which a product adds to a buffer besides (sim/kernels/kernel_cost.cpp).
KnownKernels kernels_of(const Comparison& c, const sim::SimulationResult& simulation, base::BytesPerSecond memory) {
  KnownKernels known;
  const auto without_adding = [&](const Activity& a, const Activity& forecast) {
    const pcg::Kernel& k = simulation.kernels[forecast.list][forecast.at].kernel;
    const double launches = static_cast<double>(a.launches) / static_cast<double>(k.serial_launches);
    return std::max(0.0, a.duration_s - (k.added / memory).value() * launches);
  };
  const auto at = [&](const Activity& forecast) -> Sums& {
    profiles::MeasuredKernel m = alone(simulation.kernels[forecast.list][forecast.at]);
    return known.try_emplace(place_of(m), KnownKernel{m, {}}).first->second.sums;
  };
  for (std::size_t d = 0; d < c.devices.size(); ++d) {
    if (is_held_out(c, d)) continue;
    for (const Activity& a : c.predicted[d].activities)
      if (a.work == Work::kernel) at(a).add({0, without_adding(a, a), 0, static_cast<double>(a.launches)});
    const std::vector<Activity>& measured = c.devices[d].timeline.activities;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const std::uint32_t counterpart = c.alignments[d].counterpart[i];
      if (measured[i].work != Work::kernel || counterpart == Alignment::kNone) continue;
      const Activity& forecast = c.predicted[d].activities[counterpart];
      if (measured[i].sizes[1] > 0 && !is_same_size(measured[i].sizes, forecast.sizes)) continue;  // several, fused
      at(forecast).add({without_adding(measured[i], forecast), 0, static_cast<double>(measured[i].launches), 0});
    }
  }
  return known;
}

std::optional<base::Seconds> launch_of(const Comparison& c, sim::SpanPass pass) {
  std::vector<double> between;
  for (std::size_t d = 0; d < c.devices.size(); ++d) {
    std::vector<double> launched;
    for (const Activity& a : c.devices[d].timeline.activities)
      if (a.work == Work::kernel && a.pass == pass && a.launched_s && !is_held_out(c, d)) launched.push_back(*a.launched_s);
    std::ranges::sort(launched);
    for (std::size_t i = 1; i < launched.size(); ++i) between.push_back(launched[i] - launched[i - 1]);
  }
  if (between.size() < kLeastLaunches) return std::nullopt;
  const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
  std::ranges::nth_element(between, middle);
  return base::Seconds(*middle);
}

std::string device_type_of(const Comparison& c, const scenarios::Variant& variant) {
  std::set<std::string> types;
  for (const DeviceTimeline& d : c.predicted) types.insert(variant.cluster->device(base::DeviceId(d.device)).type);
  if (types.size() > 1) base::refuse("--calibrate", "the traces are of GPUs of several types", "give the traces of one type");
  return *types.begin();
}

std::string microseconds(base::Seconds s) { return fmt::format("{:.2f} us", s.value() * 1e6); }

std::string comment_of(const std::string& made_by) { return fmt::format("{}: {}", fit::kCalibrated, made_by); }

constexpr double kLevel = 0.9;  // of intervals

}  // namespace

std::optional<Misses> misses_of(const Comparison& c, double times) {
  if (c.held_out.empty()) return std::nullopt;
  const auto all = static_cast<double>(c.held_out.size());
  Misses m{.count = c.held_out.size() / (c.holds_out_devices ? 1 : c.devices.size())};
  double squares = 0;
  for (const HeldOut& h : c.held_out) {
    const double ratio = c.predicted[h.device].seconds() / h.measured_s;
    m.measured_s += h.measured_s / all;
    m.before += std::abs(ratio - 1) / all;
    m.after += std::abs(ratio * times - 1) / all;
    squares += std::pow(std::log(ratio * times), 2) / all;
  }
  const boost::math::students_t_distribution<double> student(static_cast<double>(std::max<std::size_t>(m.count, 1)));
  m.spread = std::max(scenarios::kLeastSpread, boost::math::quantile(student, (1 + kLevel) / 2) * std::sqrt(squares));
  return m;
}

std::string with_spread(const std::string& framework, const Misses& held_out, const std::string& made_by) {
  fit::CommentedYaml software(framework, "framework");
  software.set("host", "held_out_spread", fmt::format("{:.4f}", held_out.spread), {comment_of(made_by)});
  return software.text();
}

Calibration calibrate(const Comparison& c, const scenarios::Run& run, const scenarios::Variant& variant, const std::string& made_by) {
  Calibration result;
  const std::string type = device_type_of(c, variant);
  const profiles::DeviceProfile& device = profiles::device_profile(type);
  const std::string text = profiles::is_file(type) ? base::read_text_file(type) : std::string(profiles::device_text(type));
  const scenarios::Framework& framework = variant.framework;
  fit::CommentedYaml software(
      framework.file.empty() ? std::string(profiles::framework_text(framework.profile.framework)) : base::read_text_file(framework.file),
      "framework");
  const std::string comment = comment_of(made_by);
  const KnownKernels known = kernels_of(c, *run.simulation, device.memory_bandwidth);
  std::map<pcg::KernelKind, Sums> of_kind;
  for (const auto& [place, k] : known) of_kind[k.kernel.kernel.kind].add(k.sums);

  profiles::Fitted fitted = device.fitted;
  std::erase_if(fitted.table, [&](const profiles::MeasuredKernel& m) { return known.contains(place_of(m)); });
  for (const auto& [place, k] : known) {
    const pcg::Kernel& kernel = k.kernel.kernel;
    const Sums& kind = of_kind.at(kernel.kind);
    const bool by_kind = kernel.m == 0 && kind.measured != kind.predicted;
    const Sums& sums = by_kind ? kind : k.sums;
    if (!(sums.measured_s > 0 && sums.predicted_s > 0)) continue;
    double ratio = sums.measured_s / sums.predicted_s;
    if (kernel.m > 0) ratio *= sums.predicted / sums.measured;  // of one against one: some may be missing
    result.kernels.push_back({to_text(kernel.kind), {kernel.batch, kernel.m, kernel.n, kernel.k}, kernel.bytes, ratio, by_kind});
    profiles::MeasuredKernel row = k.kernel;
    row.seconds = profiles::kernel_time(device, kernel, row.precision).time.value() * ratio;
    fitted.table.push_back(row);
  }
  // A framework's share of attention is a limit below which no measured kernel gets.
  const std::string generation = profiles::generation_of(device.name);
  for (const auto& [kind, shares, key] :
       {std::tuple(pcg::KernelKind::attention, &framework.profile.attention, "attention"),
        std::tuple(pcg::KernelKind::attention_gradient, &framework.profile.attention_gradient, "attention_gradient")}) {
    const auto share = shares->find(generation);
    const auto sums = of_kind.find(kind);
    if (share == shares->end() || sums == of_kind.end() || !(sums->second.measured_s > 0)) continue;
    const double reached = share->second * sums->second.predicted_s / sums->second.measured_s;
    software.set(key, generation, fmt::format("{:.4f}", std::clamp(reached, 0.01, 1.0)), {comment});
  }
  result.forward_launch = launch_of(c, sim::SpanPass::forward);
  result.backward_launch = launch_of(c, sim::SpanPass::backward);
  for (const auto& [launch, key] :
       {std::pair(result.forward_launch, "forward_kernel"), std::pair(result.backward_launch, "backward_kernel")})
    if (launch) software.set("host", key, microseconds(std::max(base::Seconds(0), *launch - device.launch_overhead)), {comment});
  if (result.forward_launch && result.backward_launch)
    software.set("host", "basis", profiles::name_of(profiles::HostBasis::fitted), {comment});
  result.device = fit::with_fitted(text, fitted);
  result.framework = software.text();
  result.device_name = device.name;
  result.framework_name = pcg::name_of(framework.profile.framework);
  return result;
}

}  // namespace comparison
