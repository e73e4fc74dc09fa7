#include "reports/html/page_data.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/json_numbers.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostSamples = 500;  // of a device: about one for every two points of a wide screen

// Bytes and times with as many digits as a picture shows.
Json rounded(double value, double digits) {
  if (value <= 0) return 0;
  const double step = std::pow(10, std::floor(std::log10(value)) - digits);
  return reports::count(std::round(value / step) * step);
}

Json curve(std::span<const sim::MemorySample> samples, double end_s) {
  Json times = Json::array(), bytes = Json::array();
  const auto add = [&](double time, double used) {
    times.push_back(rounded(time, 6));
    bytes.push_back(rounded(used, 5));
  };
  if (samples.size() <= kMostSamples) {
    for (const sim::MemorySample& s : samples) add(s.time.value(), s.used.value());
  } else {
    const double bin_s = end_s / kMostSamples;
    double used = 0;  // at the start of the bin
    std::size_t next = 0;
    for (std::size_t b = 0; b < kMostSamples; ++b) {
      double most = used;
      const bool is_last = b + 1 == kMostSamples;
      for (bool first = true; next < samples.size() && (is_last || samples[next].time.value() < static_cast<double>(b + 1) * bin_s);
           ++next) {
        used = samples[next].used.value();
        most = first && b == 0 ? used : std::max(most, used);
        first = false;
      }
      add(static_cast<double>(b) * bin_s, most);
    }
  }
  return {{"time_s", times}, {"bytes", bytes}};
}

}  // namespace

Json memory_data(const scenarios::Run& run, std::size_t most_bytes) {
  if (!run.simulation || run.simulation->memory_over_time.empty()) return nullptr;
  const sim::SimulationResult& s = *run.simulation;
  Json j{{"end_s", s.iteration_time.value()}, {"devices", Json::array()}};
  std::size_t bytes = 0, devices = 0;
  const std::vector<sim::MemorySample>& all = s.memory_over_time;
  for (auto from = all.begin(); from != all.end(); ++devices) {
    const auto to = std::find_if(from, all.end(), [&](const sim::MemorySample& m) { return m.device != from->device; });
    const auto same = std::ranges::find_if(s.stands_for, [&](const auto& c) { return c.front() == from->device; });
    Json device{{"device", from->device}, {"stands_for", device_ranges(same == s.stands_for.end() ? std::vector{from->device} : *same)}};
    device.update(curve({from, to}, s.iteration_time.value()));
    bytes += device.dump().size() + 1;
    if (bytes <= most_bytes) j["devices"].push_back(std::move(device));
    from = to;
  }
  if (const std::size_t shown = j["devices"].size(); shown < devices)
    j["left_out"] = fmt::format("To keep the file small, {} of {} simulated devices are drawn; --trace has all.", shown, devices);
  return j;
}

}  // namespace reports
