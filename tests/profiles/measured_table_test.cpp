// Measured kernels in a profile: told exactly, interpolated inside their range, left to the model outside.
#include "base/yaml/parse.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/fitted.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/about.hpp"

using pcg::KernelKind;
using pcg::Precision;

namespace {

pcg::Kernel norm(double bytes) { return {.kind = KernelKind::norm, .bytes = base::Bytes(bytes)}; }

// A device of 1 TB/s with rows of measured kernels.
profiles::DeviceProfile device_with(const std::string& rows) {
  return profiles::load_device_profile(
      base::parse_yaml("foreshard: 1\ndevice:\n  name: d\n  memory: 8 GiB\n  memory_bandwidth: 1 TB/s\n  multiprocessors: 4\n  peak: {}\n"
                       "  vector_peak: {fp32: 2 TFLOP/s}\n  efficiency:\n    compute: {other: {max: 1}}\n    vector: {other: {max: 1}}\n"
                       "    traffic: {other: {max: 1}}\n  fitted:\n    table:\n" +
                           rows,
                       "d.yaml"));
}

// Norms measured at 1, 2 and 4 MB: twice, four times and twice as slow as the roofline.
profiles::DeviceProfile device() {
  return device_with(
      "      - \"norm fp32 1 0 0 0 0 1e6 2e-6\"\n      - \"norm fp32 1 0 0 0 0 2e6 8e-6\"\n      - \"norm fp32 1 0 0 0 0 4e6 8e-6\"\n");
}

}  // namespace

TEST_CASE("a measured kernel takes what it took") {
  const auto t = profiles::kernel_time(device(), norm(2e6), Precision::fp32);
  CHECK(t.time.value() == test::about(8e-6));
  CHECK(t.basis == profiles::Basis::measured);
}

TEST_CASE("also where that is faster than the data sheet: 1 MB in half a microsecond is 2 TB/s") {
  const auto d = device_with("      - \"norm fp32 1 0 0 0 0 1e6 5e-7\"\n");
  CHECK(profiles::kernel_time(d, norm(1e6), Precision::fp32).time.value() == test::about(5e-7));
}

TEST_CASE("between two, the model's time by the mean of how far it is off: half way between 2 and 4 times is 2.83 times") {
  const double bytes = std::sqrt(2.0) * 1e6;  // half a doubling from 1 MB and from 2 MB
  const auto t = profiles::kernel_time(device(), norm(bytes), Precision::fp32);
  CHECK(t.time.value() == test::about(std::sqrt(8.0) * bytes / 1e12, 1e-6));
  CHECK(t.basis == profiles::Basis::fitted);  // not measured itself
}

TEST_CASE("outside, and in another precision, the model speaks") {
  CHECK(profiles::kernel_time(device(), norm(5e6), Precision::fp32).basis == profiles::Basis::defaults);
  CHECK(profiles::kernel_time(device(), norm(0.9e6), Precision::fp32).basis == profiles::Basis::defaults);
  const profiles::MeasuredTable table({{Precision::fp32, norm(1e6), 1e-3}}, [](const pcg::Kernel&, Precision) { return 1e-6; });
  CHECK(table.correction(norm(1e6), Precision::fp32)->log == test::about(std::log(1000.0)));
  CHECK_FALSE(table.correction(norm(1e6), Precision::bf16).has_value());
}
