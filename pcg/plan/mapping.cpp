#include "pcg/plan/mapping.hpp"

#include <fmt/core.h>

#include "base/check.hpp"

namespace pcg {
namespace {

// Calls visit(point, device number) for a strided view, in point order.
template <class Visit>
void walk(const MachineView& v, const std::vector<int>& degrees, Visit&& visit) {
  std::vector<int> at(degrees.size(), 0);
  std::int64_t device = v.start.value;
  for (int point = 0;; ++point) {
    visit(point, device);
    std::size_t a = degrees.size();
    for (; a > 0; --a) {  // the innermost axis runs fastest
      const std::size_t i = a - 1;
      device += v.strides[i];
      if (++at[i] < degrees[i]) break;
      device -= static_cast<std::int64_t>(v.strides[i]) * degrees[i];
      at[i] = 0;
    }
    if (a == 0) return;
  }
}

}  // namespace

std::vector<int> axes(const Sharding& s) {
  std::vector<int> result;
  auto add = [&](int degree) {
    if (degree > 1) result.push_back(degree);
  };
  add(s.sums);
  add(s.copies);
  for (int d : s.degrees) add(d);
  return result;
}

std::vector<DeviceId> devices_of(const MachineView& v, const Sharding& s) {
  const auto points = static_cast<std::size_t>(s.points());
  if (!v.devices.empty()) {
    BASE_CHECK(v.devices.size() == points, "{} devices for {} points", v.devices.size(), points);
    return v.devices;
  }
  const std::vector<int> degrees = axes(s);
  BASE_CHECK(v.strides.size() == degrees.size(), "{} strides for {} axes", v.strides.size(), degrees.size());
  std::vector<DeviceId> result;
  result.reserve(points);
  walk(v, degrees, [&](int, std::int64_t device) { result.emplace_back(static_cast<std::size_t>(device)); });
  return result;
}

std::string to_text(std::span<const DeviceId> devices) {
  const std::uint32_t low = devices.front().value, high = devices.back().value;
  if (devices.size() == 1) return fmt::format("{}", low);
  const std::uint32_t step = devices[1].value - low;
  for (std::size_t i = 1; i < devices.size(); ++i)
    if (devices[i].value - devices[i - 1].value != step) return fmt::format("{} of {} to {}", devices.size(), low, high);
  return step == 1 ? fmt::format("{} to {}", low, high) : fmt::format("{} to {} in steps of {}", low, high, step);
}

std::optional<std::string> violation(const MachineView& v, const Sharding& s, int device_count) {
  auto outside = [&](std::int64_t device) { return device < 0 || device >= device_count; };
  if (!v.devices.empty()) {
    if (v.devices.size() != static_cast<std::size_t>(s.points()))
      return fmt::format("{} devices are given for {} shards", v.devices.size(), s.points());
    for (DeviceId d : v.devices)
      if (outside(d.value)) return fmt::format("device {} is not one of 0 .. {}", d.value, device_count - 1);
    return std::nullopt;
  }
  const std::vector<int> degrees = axes(s);
  if (v.strides.size() != degrees.size())
    return fmt::format("{} strides are given for {} axes of degree above 1", v.strides.size(), degrees.size());
  std::int64_t lowest = v.start.value, highest = v.start.value;
  for (std::size_t a = 0; a < degrees.size(); ++a) {
    const std::int64_t reach = static_cast<std::int64_t>(v.strides[a]) * (degrees[a] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  for (const std::int64_t device : {lowest, highest})
    if (outside(device)) return fmt::format("device {} is not one of 0 .. {}", device, device_count - 1);
  return std::nullopt;
}

MachineView compact(const MachineView& v, const Sharding& s) {
  if (v.devices.empty()) return v;
  const std::vector<int> degrees = axes(s);
  MachineView strided{.start = v.devices.front(), .strides = std::vector<int>(degrees.size())};
  std::size_t step = 1;  // points between neighbours along the axis
  for (std::size_t a = degrees.size(); a-- > 0;) {
    strided.strides[a] = static_cast<int>(static_cast<std::int64_t>(v.devices[step].value) - v.devices.front().value);
    step *= static_cast<std::size_t>(degrees[a]);
  }
  bool regular = true;
  walk(strided, degrees,
       [&](int point, std::int64_t device) { regular = regular && device == v.devices[static_cast<std::size_t>(point)].value; });
  return regular ? strided : v;
}

}  // namespace pcg
