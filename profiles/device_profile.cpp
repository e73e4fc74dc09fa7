// The text form of device profiles, and those that ship.
#include "profiles/device_profile.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/diagnostics.hpp"
#include "profiles/device_files.hpp"
#include "profiles/kinds.hpp"

namespace profiles {
namespace {

using pcg::KernelKind;
using pcg::Precision;

// What an efficiency is of: `half` counts FLOPs or bytes, and only vector units may beat their peak (Winograd saves FLOPs).
enum class Share { tensor_peak, vector_peak, bandwidth };

class ProfileReader {
 public:
  explicit ProfileReader(base::Diagnostics& sink) : sink_(sink) {}

  DeviceProfile read(const base::Yaml& document) {
    base::MapReader map(document, "", sink_);
    map.format();
    DeviceProfile d;
    if (const auto* device = map.required("device")) d = read_device(*device);
    map.finish();
    return d;
  }

 private:
  DeviceProfile read_device(const base::Yaml& node) {
    base::MapReader map(node, "device", sink_);
    DeviceProfile d;
    d.name = map.text("name").value_or("");
    d.vendor_name = map.text("vendor_name").value_or(d.name);
    d.memory = map.bytes("memory").value_or(base::Bytes(0));
    d.reserved = map.bytes("reserved").value_or(base::Bytes(0));
    d.memory_bandwidth = map.bandwidth("memory_bandwidth").value_or(base::BytesPerSecond(0));
    d.multiprocessors = static_cast<int>(map.integer("multiprocessors", 1, 100'000).value_or(1));
    d.launch_overhead = map.seconds("launch_overhead").value_or(base::Seconds(0));
    d.kernel_floor = map.seconds("kernel_floor").value_or(base::Seconds(0));
    d.overlap_slowdown = map.number("overlap_slowdown", 1, 100).value_or(1);
    if (const auto* peak = map.required("peak")) d.peak = read_peaks(*peak, map.path_of("peak"));
    if (const auto* peak = map.required("vector_peak")) d.vector_peak = read_peaks(*peak, map.path_of("vector_peak"));
    if (const auto* efficiency = map.required("efficiency")) read_efficiencies(*efficiency, d);
    if (const auto* fitted = map.optional("fitted")) d.fitted = read_fitted(*fitted, sink_);
    for (const char* key : {"name", "memory", "memory_bandwidth", "multiprocessors"}) map.require(key);
    if (d.reserved > d.memory) map.complain("reserved", "more than the device's memory");
    map.finish();
    complete_peaks(node, d);
    return d;
  }

  std::map<Precision, base::FlopsPerSecond> read_peaks(const base::Yaml& node, const std::string& path) {
    base::MapReader map(node, path, sink_);
    std::map<Precision, base::FlopsPerSecond> peaks;
    for (const auto p : kPrecisions) {
      const std::string key(pcg::to_text(p));
      const auto rate = map.flops_rate(key);
      if (!rate) continue;
      if (!(rate->value() > 0)) map.complain(key, "a peak must be above 0");
      peaks[p] = *rate;
    }
    map.finish();
    return peaks;
  }

  // fp32 multiplies on vector units unless `peak` says otherwise, and what is not a matmul computes in fp32 whatever it stores.
  void complete_peaks(const base::Yaml& node, DeviceProfile& d) {
    const auto fp32 = d.vector_peak.find(Precision::fp32);
    const auto* written = node.find("vector_peak");
    if (fp32 == d.vector_peak.end()) {
      if (written != nullptr && written->is_map()) sink_.add(written->mark, "device.vector_peak", "fp32 is missing");
      return;
    }
    d.peak.try_emplace(Precision::fp32, fp32->second);
    for (const auto& [p, rate] : d.peak) d.vector_peak.try_emplace(p, fp32->second);
  }

  void read_efficiencies(const base::Yaml& node, DeviceProfile& d) {
    base::MapReader map(node, "device.efficiency", sink_);
    if (const auto* table = map.required("compute")) d.compute = read_table(*table, map.path_of("compute"), Share::tensor_peak);
    if (const auto* table = map.required("vector")) d.vector_compute = read_table(*table, map.path_of("vector"), Share::vector_peak);
    if (const auto* table = map.required("traffic")) d.traffic = read_table(*table, map.path_of("traffic"), Share::bandwidth);
    map.finish();
  }

  // `other` serves the kinds that are not named.
  std::map<KernelKind, Efficiency> read_table(const base::Yaml& node, const std::string& path, Share share) {
    base::MapReader map(node, path, sink_);
    std::map<KernelKind, Efficiency> table;
    Efficiency other;
    if (const auto* e = map.required("other")) other = read_efficiency(*e, map.path_of("other"), share);
    for (const auto kind : kKernelKinds) {
      const std::string key(pcg::to_text(kind));
      const auto* e = map.optional(key);
      table[kind] = e != nullptr ? read_efficiency(*e, map.path_of(key), share) : other;
    }
    map.finish();
    return table;
  }

  Efficiency read_efficiency(const base::Yaml& node, const std::string& path, Share share) {
    base::MapReader map(node, path, sink_);
    Efficiency e;
    e.max = map.number("max", 1e-6, share == Share::vector_peak ? 4 : 1).value_or(1);
    e.half = share == Share::bandwidth ? map.bytes("half").value_or(base::Bytes(0)).value() : read_flops(map, "half");
    if (e.half < 0) map.complain("half", "cannot be negative");
    map.require("max");
    map.finish();
    return e;
  }

  // A count of FLOPs, "1.9 GFLOP": the text of a rate without "/s".
  double read_flops(base::MapReader& map, std::string_view key) {
    const auto text = map.text(key);
    if (!text) return 0;
    if (const auto rate = base::parse_flops_rate(*text + "/s")) return rate->value();
    map.complain(key, fmt::format("\"{}\" is no count of FLOPs", *text), "write e.g. \"1.9 GFLOP\"");
    return 0;
  }

  base::Diagnostics& sink_;
};

std::map<std::string, DeviceProfile, std::less<>> load_shipped() {
  std::map<std::string, DeviceProfile, std::less<>> profiles;
  for (const auto& [name, text] : device_files())
    profiles.emplace(name, load_device_profile(base::parse_yaml(std::string(text), fmt::format("<device {}>", name))));
  return profiles;
}

}  // namespace

DeviceProfile load_device_profile(const base::Yaml& document) {
  base::Diagnostics sink;
  auto profile = ProfileReader(sink).read(document);
  sink.throw_if_any();
  profile.measured =
      MeasuredTable(profile.fitted.table, [&](const pcg::Kernel& k, Precision p) { return kernel_time(profile, k, p).time.value(); });
  return profile;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : device_files()) names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

const DeviceProfile& device_profile(const std::string& name) {
  static const auto kShipped = load_shipped();  // constant data, read once
  const auto at = kShipped.find(name);
  if (at != kShipped.end()) return at->second;
  base::Diagnostics sink;
  sink.add({}, "", fmt::format("no device profile is called \"{}\"", name), base::suggest(name, device_names()));
  sink.throw_if_any();
  return kShipped.begin()->second;  // not reached
}

}  // namespace profiles
