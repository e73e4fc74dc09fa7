#include "profiles/imports/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace imports {
namespace {

struct Occurrences {
  std::vector<double> seconds;
  std::string source;  // of the first

  void add(double s, const std::string& where) {
    if (seconds.empty()) source = where;
    seconds.push_back(s);
  }
  [[nodiscard]] base::Seconds median() {
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::ranges::nth_element(seconds, middle);
    if (seconds.size() % 2 == 1) return base::Seconds(*middle);
    return base::Seconds(0.5 * (*middle + *std::max_element(seconds.begin(), middle)));
  }
  [[nodiscard]] std::string source_text() const {
    return seconds.size() == 1 ? source : fmt::format("{} (median of {})", source, seconds.size());
  }
};

// Over the bus to the host: no measurement of device memory.
bool crosses_bus(const std::string& name) { return name.find("HtoD") != std::string::npos || name.find("DtoH") != std::string::npos; }

struct OperationTime {
  double seconds = 0, longest = 0;
  std::optional<pcg::Precision> precision;
  int device = 0;
  bool usable = true;
};

// Time of each operation: that of its kernels together. Its precision is that of the longest one: a product in TF32 is followed by a short
// sum of its parts in FP32.
std::vector<OperationTime> operation_times(const ImportedTrace& t) {
  std::vector<OperationTime> times(t.operations.size());
  for (const ImportedKernel& k : t.kernels) {
    if (k.operation == kNoOperation) continue;
    OperationTime& o = times[k.operation];
    o.seconds += k.duration.value();
    o.device = k.device;
    o.usable = o.usable && !crosses_bus(t.names[k.name]);
    if (k.duration.value() < o.longest) continue;
    o.longest = k.duration.value();
    o.precision = k.precision;
  }
  return times;
}

std::string device_of(const ImportedTrace& t, int id, const MeasurementNames& names) {
  if (!names.device.empty()) return names.device;
  const auto at = std::ranges::find(t.devices, id, &ImportedDevice::id);
  return at == t.devices.end() ? std::string() : at->profile;
}

void add_kernels(const ImportedTrace& t, const MeasurementNames& names, measured::Measurements& into) {
  using Key =
      std::tuple<std::string, pcg::Precision, pcg::KernelKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t, double, double>;
  std::map<Key, Occurrences> rows;
  std::map<Key, pcg::Kernel> work;
  const std::vector<OperationTime> times = operation_times(t);
  std::size_t unknown = 0, nameless = 0;
  for (std::size_t i = 0; i < t.operations.size(); ++i) {
    const ImportedOperation& o = t.operations[i];
    const auto precision = times[i].precision ? times[i].precision : o.precision;
    const bool attention = o.work && o.work->kind == pcg::KernelKind::attention && o.work->flops == base::Flops(0);
    if (!o.work || !precision || attention || !times[i].usable || !(times[i].seconds > 0)) {
      ++unknown;
      continue;
    }
    const std::string device = device_of(t, times[i].device, names);
    if (device.empty()) {
      ++nameless;
      continue;
    }
    const pcg::Kernel& k = *o.work;
    const Key key{device, *precision, k.kind, k.batch, k.m, k.n, k.k, k.flops.value(), k.bytes.value()};
    rows[key].add(times[i].seconds, t.file);
    work.emplace(key, k);
  }
  for (auto& [key, occurrences] : rows)
    into.kernels.push_back({std::get<0>(key), std::get<1>(key), work.at(key), occurrences.median(), occurrences.source_text()});
  if (unknown > 0)
    into.notes.push_back(fmt::format("{} of {} operations have no known work or precision and give no row", unknown, t.operations.size()));
  if (nameless > 0)
    into.notes.push_back(fmt::format("{} operations ran on a device that has no profile: name one with --device", nameless));
}

void add_collectives(const ImportedTrace& t, const MeasurementNames& names, measured::Measurements& into) {
  std::map<std::tuple<profiles::CollectiveKind, int, int, double>, Occurrences> rows;
  std::size_t unknown = 0;
  for (const ImportedCollective& c : t.collectives) {
    const bool known = c.kind && c.bytes && c.bytes->value() > 0 && c.group_size > 1 && c.duration.value() > 0;
    if (known) rows[{*c.kind, c.nodes, c.group_size, c.bytes->value()}].add(c.duration.value(), c.source.empty() ? t.file : c.source);
    else ++unknown;
  }
  for (auto& [key, occurrences] : rows) {
    measured::CollectiveMeasurement m{
        .cluster = names.cluster, .nodes = std::max(1, std::get<1>(key)), .gpus = std::get<2>(key), .kind = std::get<0>(key)};
    m.bytes = base::Bytes(std::get<3>(key));
    m.time = occurrences.median();
    m.source = occurrences.source_text();
    into.collectives.push_back(std::move(m));
  }
  if (unknown > 0)
    into.notes.push_back(
        fmt::format("{} of {} collectives have no known kind, size or group and give no row", unknown, t.collectives.size()));
  if (!into.collectives.empty() && names.cluster.empty())
    into.notes.emplace_back("no file says which cluster it was: name a preset with --cluster");
  const bool nodes_known = std::ranges::all_of(rows, [](const auto& row) { return std::get<1>(row.first) > 0; });
  if (!nodes_known) into.notes.emplace_back("traces do not say over how many nodes a group spans: rows give 1");
}

}  // namespace

measured::Measurements to_measurements(const ImportedTrace& t, const MeasurementNames& names) {
  measured::Measurements result;
  add_kernels(t, names, result);
  add_collectives(t, names, result);
  return result;
}

}  // namespace imports
