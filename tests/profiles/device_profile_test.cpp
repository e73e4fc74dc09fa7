// The text form of device profiles, and those that ship.
#include "profiles/device_profile.hpp"
#include "base/yaml/parse.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/diagnostics.hpp"
#include "profiles/kinds.hpp"
#include "tests/about.hpp"

using pcg::Precision;

namespace {

std::string errors_of(const std::string& text) {
  try {
    (void)profiles::load_device_profile(base::parse_yaml(text, "d.yaml"));
  } catch (const base::InputError& e) {
    std::string all;
    for (const auto& d : e.diagnostics()) all += base::render(d) + "\n";
    return all;
  }
  return "none";
}

}  // namespace

TEST_CASE("the devices that ship") {
  CHECK(fmt::format("{}", fmt::join(profiles::device_names(), " ")) ==
        "a10-24gb a100-pcie-40gb a100-pcie-80gb a100-sxm-40gb a100-sxm-80gb a30-24gb a40-48gb a6000-48gb b200-sxm-180gb "
        "b300-sxm-288gb gb200-186gb gb300-288gb gh200-96gb h100-nvl-94gb h100-pcie-80gb h100-sxm-80gb h20-sxm-96gb "
        "h200-sxm-141gb h800-sxm-80gb l4-24gb l40s-48gb mi250x-64gb mi300x-192gb mi325x-256gb mi350x-288gb mi355x-288gb "
        "rtx-pro-6000-96gb rtx3090-24gb rtx4090-24gb rtx5090-32gb t4-16gb titan-xp-12gb v100-pcie-16gb v100-sxm2-16gb "
        "v100-sxm2-32gb");
}

TEST_CASE("devices have the figures that are published of them") {
  struct Published {
    const char* name;
    double bf16, fp8, fp4;  // TFLOP/s, dense; 0: none
    double gigabytes;       // of memory, as sold
    double bandwidth;       // TB/s
  };
  const Published all[] = {
      {"gb200-186gb", 2500, 5000, 10000, 186, 8.0},
      {"gb300-288gb", 2500, 5000, 15000, 288, 8.0},
      {"b300-sxm-288gb", 2250, 4500, 14000, 288, 8.0},
      {"b200-sxm-180gb", 2250, 4500, 9000, 180, 7.7},
      {"h100-sxm-80gb", 989.4, 1978.9, 0, 80, 3.35},
      {"h800-sxm-80gb", 989.4, 1978.9, 0, 80, 3.35},
      {"h20-sxm-96gb", 148, 296, 0, 96, 4.0},
      {"mi300x-192gb", 1307.4, 2614.9, 0, 192, 5.3},
      {"mi325x-256gb", 1307.4, 2614.9, 0, 256, 6.0},
      {"mi250x-64gb", 191.5, 0, 0, 64, 1.6},
      {"l40s-48gb", 362, 733, 0, 48, 0.864},
      {"l4-24gb", 121, 242.5, 0, 24, 0.3},
      {"rtx3090-24gb", 71.2, 0, 0, 24, 0.936},
      {"rtx4090-24gb", 165.2, 330.3, 0, 24, 1.008},
      {"rtx5090-32gb", 209.5, 419, 0, 32, 1.792},
      {"rtx-pro-6000-96gb", 503.8, 1007.6, 0, 96, 1.597},
      {"a10-24gb", 125, 0, 0, 24, 0.6},
      {"a40-48gb", 149.7, 0, 0, 48, 0.696},
      {"a6000-48gb", 154.8, 0, 0, 48, 0.768},
      {"a30-24gb", 165, 0, 0, 24, 0.933},
      {"h100-pcie-80gb", 756, 1513, 0, 80, 2.0},
      {"h100-nvl-94gb", 835, 1671, 0, 94, 3.9},
      {"gh200-96gb", 989.4, 1978.9, 0, 96, 4.0},
      {"mi350x-288gb", 2306.9, 4613.7, 0, 288, 8.0},
      {"mi355x-288gb", 2516.6, 5033.2, 0, 288, 8.0},
  };
  for (const Published& p : all) {
    CAPTURE(p.name);
    const auto& d = profiles::device_profile(p.name);
    CHECK(d.peak.at(Precision::bf16).value() == test::about(1e12 * p.bf16));
    CHECK(d.peak.contains(Precision::fp8) == (p.fp8 > 0));
    if (p.fp8 > 0) CHECK(d.peak.at(Precision::fp8).value() == test::about(1e12 * p.fp8));
    CHECK(d.peak.contains(Precision::nvfp4) == (p.fp4 > 0));
    if (p.fp4 > 0) CHECK(d.peak.at(Precision::nvfp4).value() == test::about(1e12 * p.fp4));
    CHECK(d.peak.contains(Precision::mxfp8) == (p.fp4 > 0));
    if (p.fp4 > 0) CHECK(d.peak.at(Precision::mxfp8) == d.peak.at(Precision::fp8));
    // What a driver shows is between the gigabytes on the box and as many binary ones, or a little less.
    CHECK(d.memory.value() > 0.96e9 * p.gigabytes);
    CHECK(d.memory.value() <= 1.0738e9 * p.gigabytes);
    CHECK(d.memory_bandwidth.value() == test::about(1e12 * p.bandwidth));
  }
}

TEST_CASE("every one holds together") {
  for (const auto& name : profiles::device_names()) {
    CAPTURE(name);
    const auto& d = profiles::device_profile(name);
    CHECK(d.name == name);
    CHECK(d.memory > d.reserved);
    CHECK(d.peak.contains(Precision::fp32));
    CHECK(d.compute.size() == profiles::kKernelKinds.size());
    CHECK(d.vector_compute.size() == profiles::kKernelKinds.size());
    CHECK(d.traffic.size() == profiles::kKernelKinds.size());
    CHECK(d.overlap_slowdown >= 1);
    for (const auto& [p, rate] : d.peak) CHECK(rate >= d.vector_peak.at(p));
    for (const auto& [p, rate] : d.ceiling) CHECK(rate <= d.peak.at(p));
    CHECK(d.ceiling.contains(Precision::bf16) == !d.ceiling.empty());  // the others are against it
    for (const auto& [kind, e] : d.traffic) CHECK((e.max > 0 && e.max <= 1));
    for (const auto& [kind, e] : d.compute) CHECK((e.max > 0 && e.max <= 1));
  }
}

TEST_CASE("a profile is found once and stays where it is") {
  CHECK(&profiles::device_profile("h100-sxm-80gb") == &profiles::device_profile("h100-sxm-80gb"));
}

TEST_CASE("an unknown device names the nearest") {
  try {
    (void)profiles::device_profile("v100-sxm-16gb");
    FAIL("it was found");
  } catch (const base::InputError& e) {
    REQUIRE(e.diagnostics().size() == 1);
    CHECK(e.diagnostics()[0].message == "no device profile is called \"v100-sxm-16gb\"");
    CHECK(e.diagnostics()[0].hint == "did you mean \"v100-sxm2-16gb\"?");
  }
}

TEST_CASE("a product keeps the share of its own precision, else that of bf16") {
  const auto& gb200 = profiles::device_profile("gb200-186gb");
  CHECK(profiles::sustained_share(gb200, Precision::fp16) == 0.81);
  CHECK(profiles::sustained_share(gb200, Precision::mxfp8) == 0.76);
  CHECK(profiles::sustained_share(gb200, Precision::nvfp4) == 0.82);
  CHECK(profiles::sustained_share(profiles::device_profile("h100-sxm-80gb"), Precision::fp8) == 0.85);
  CHECK_FALSE(profiles::sustained_share(profiles::device_profile("h20-sxm-96gb"), Precision::bf16));
  const auto& l40s = profiles::device_profile("l40s-48gb");
  CHECK(profiles::sustained_share(l40s, Precision::fp8) == 0.85);
  CHECK(l40s.sustained_assumed);
}

TEST_CASE("what a device cannot train in") {
  CHECK(profiles::unsupported(profiles::device_profile("v100-sxm2-16gb"), Precision::bf16) == "v100-sxm2-16gb has no bf16");
  CHECK(profiles::unsupported(profiles::device_profile("a100-sxm-80gb"), Precision::fp8) ==
        "a100-sxm-80gb has no fp8: tensor cores have it from Ada, Hopper and MI300 on");
  for (const Precision p : {Precision::mxfp8, Precision::nvfp4}) {
    CHECK(profiles::unsupported(profiles::device_profile("h100-sxm-80gb"), p) ==
          "h100-sxm-80gb has no " + std::string(pcg::to_text(p)) + ": tensor cores have scales of blocks from Blackwell (SM100) on");
    CHECK_FALSE(profiles::unsupported(profiles::device_profile("gb200-186gb"), p));
  }
  CHECK_FALSE(profiles::unsupported(profiles::device_profile("h100-sxm-80gb"), Precision::fp8));
  CHECK_FALSE(profiles::unsupported(profiles::device_profile("titan-xp-12gb"), Precision::fp16));
}

TEST_CASE("kinds that a table does not name take `other`; fp32 takes the vector peak; other precisions compute in fp32 beside matmuls") {
  const auto d = profiles::load_device_profile(
      base::parse_yaml("foreshard: 1\ndevice:\n  name: d\n  memory: 8 GiB\n  memory_bandwidth: 1 TB/s\n  "
                       "multiprocessors: 4\n  peak: {fp16: 8 TFLOP/s}\n  vector_peak: {fp32: 2 TFLOP/s}\n"
                       "  efficiency:\n    compute: {other: {max: 0.5, half: 3 GFLOP}}\n    vector: {other: "
                       "{max: 1}}\n    traffic: {norm: {max: 0.25, half: 1 MB}, copy: {max: 0.5}, other: {max: 0.75}}\n",
                       "d.yaml"));
  CHECK(d.compute.at(pcg::KernelKind::matmul).half == 3e9);
  CHECK(d.traffic.at(pcg::KernelKind::norm).max == 0.25);
  CHECK(d.traffic.at(pcg::KernelKind::norm).half == 1e6);
  CHECK(d.traffic.at(pcg::KernelKind::elementwise).max == 0.75);
  CHECK(d.traffic.at(pcg::KernelKind::permutation).max == 0.5);                  // as copy
  CHECK(d.traffic.at(pcg::KernelKind::strided).max == test::about(4 * 0.0119));  // four multiprocessors of 11.9 GB/s
  CHECK(d.peak.at(Precision::fp32).value() == 2e12);
  CHECK(d.vector_peak.at(Precision::fp16).value() == 2e12);
}

TEST_CASE("everything that is wrong with a profile, at once") {
  CHECK(errors_of("foreshard: 1\n"
                  "device:\n"
                  "  name: d\n"
                  "  memory: 8 GiB\n"
                  "  reserved: 9 GiB\n"
                  "  memory_bandwith: 1 TB/s\n"
                  "  multiprocessors: 4\n"
                  "  peak: {fp16: 8}\n"
                  "  vector_peak: {fp16: 1 TFLOP/s}\n"
                  "  efficiency:\n"
                  "    compute: {other: {max: 0.5, half: 3 GB}}\n"
                  "    vector: {}\n"
                  "    traffic: {other: {max: 9}, norms: {max: 1}}\n") ==
        "d.yaml:3:3: device: missing key \"memory_bandwidth\"\n"
        "    3 |   name: d\n"
        "      |   ^\n"
        "d.yaml:5:13: device.reserved: more than the device's memory\n"
        "    5 |   reserved: 9 GiB\n"
        "      |             ^\n"
        "d.yaml:6:3: device: unknown key \"memory_bandwith\"\n"
        "    6 |   memory_bandwith: 1 TB/s\n"
        "      |   ^~~ did you mean \"memory_bandwidth\"?\n"
        "d.yaml:8:16: device.peak.fp16: \"8\" has no unit\n"
        "    8 |   peak: {fp16: 8}\n"
        "      |                ^~~ write e.g. \"125 TFLOP/s\"\n"
        "d.yaml:9:16: device.vector_peak: fp32 is missing\n"
        "    9 |   vector_peak: {fp16: 1 TFLOP/s}\n"
        "      |                ^\n"
        "d.yaml:11:39: device.efficiency.compute.other.half: \"3 GB\" is no count of FLOPs\n"
        "   11 |     compute: {other: {max: 0.5, half: 3 GB}}\n"
        "      |                                       ^~~ write e.g. \"1.9 GFLOP\"\n"
        "d.yaml:12:13: device.efficiency.vector: missing key \"other\"\n"
        "   12 |     vector: {}\n"
        "      |             ^\n"
        "d.yaml:13:28: device.efficiency.traffic.other.max: max must be at most 1, found 9\n"
        "   13 |     traffic: {other: {max: 9}, norms: {max: 1}}\n"
        "      |                            ^\n"
        "d.yaml:13:32: device.efficiency.traffic: unknown key \"norms\"\n"
        "   13 |     traffic: {other: {max: 9}, norms: {max: 1}}\n"
        "      |                                ^~~ did you mean \"norm\"?\n");
}

TEST_CASE("of many GPUs the slowest keeps less: 1 - 3 % x 0.589 of two, whose larger deviation is expected there (Blom: q(1.625 / 2.25))") {
  profiles::DeviceProfile d = profiles::device_profile("h100-sxm-80gb");
  d.sustained_spread = {{pcg::Precision::bf16, 0.03}, {pcg::Precision::fp8, 0}};
  CHECK(profiles::slowest_of(d, pcg::Precision::bf16, 1) == 1);
  CHECK(profiles::slowest_of(d, pcg::Precision::mxfp8, 2) == test::about(1 - 0.03 * 0.5894557978497785));
  CHECK(profiles::slowest_of(d, pcg::Precision::bf16, 1024) == test::about(1 - 0.03 * 3.234067712411284));
  CHECK(profiles::slowest_of(d, pcg::Precision::fp8, 1024) == 1);
}

TEST_CASE("under a power limit tensor cores keep the cube root of its share; what no board allows is told") {
  const auto& h100 = profiles::device_profile("h100-sxm-80gb");
  CHECK(h100.clock == 1);
  CHECK(profiles::limited(h100, base::Watts(500)).clock == test::about(std::cbrt(500.0 / 700)));
  CHECK(profiles::limited(h100, h100.power).clock == 1);
  CHECK(profiles::limit_problem(h100, base::Watts(701)) == "h100-sxm-80gb draws 700 W at most");
  CHECK(profiles::limit_problem(h100, base::Watts(100)) == "h100-sxm-80gb cannot be held below 175 W");
  profiles::DeviceProfile unknown = h100;
  unknown.power = base::Watts(0);
  CHECK(profiles::limit_problem(unknown, base::Watts(500)) == "what h100-sxm-80gb draws is not known, so a limit means nothing");
}
