// Profiles that a trace was fitted to, and the forecast with them.
#include <doctest/doctest.h>

#include <filesystem>

#include "compared.hpp"
#include "scenarios/comparison/calibration.hpp"
#include "tests/about.hpp"

using namespace comparison;

namespace {

const std::string kOne = ", node.gpus.count: 1";
const std::string kPlan = "data-parallel: {}";

Calibration calibrated(const std::string& text, const std::string& trace) {
  const test::File file(trace);
  const scenarios::Scenario asked = test::loaded(text);
  const scenarios::ScenarioResult result = test::answered(text);
  const Comparison c = comparison::compare(asked, result.runs.at(0), {read_trace(file.path())});
  return calibrate(c, result.runs.at(0), asked.base(), "compare");
}

}  // namespace

TEST_CASE("a device whose kernels take longer is forecast as it was measured") {
  const std::string text = test::scenario(kPlan, kOne, 64), slower = test::scenario(kPlan, kOne + ", node.gpus.compute_speed: 0.4", 64);
  const double measured_s = test::answered(slower).runs.at(0).simulation->iteration_time.value();
  const Calibration found = calibrated(text, test::trace_of(slower));
  CHECK(found.device_name == "h100-sxm-80gb");
  CHECK(!found.kernels.empty());
  CHECK(std::ranges::any_of(found.kernels, [](const CalibratedKernel& k) { return k.ratio > 1.1; }));
  CHECK(!found.forward_launch);  // the forecast's trace has no single launches
  const test::File device(found.device, ".yaml");
  const scenarios::ScenarioResult after = test::answered(test::scenario(kPlan, kOne + ", node.gpus.file: " + device.path().string(), 64));
  const double before_s = test::answered(text).runs.at(0).simulation->iteration_time.value();
  CHECK(std::abs(before_s / measured_s - 1) > 0.02);
  // A table has one time for products of one size, though they differ in the bytes that they read.
  CHECK(after.runs.at(0).simulation->iteration_time.value() == test::about(measured_s, 0.01));
}

TEST_CASE("a trace of the scenario itself changes no time") {
  const std::string text = test::scenario(kPlan, kOne);
  for (const CalibratedKernel& k : calibrated(text, test::trace_of(text)).kernels) CHECK(k.ratio == test::about(1, 1e-9));
}

TEST_CASE("a product that the trace lacks changes no rate of products") {
  const std::string text = test::scenario(kPlan, kOne);
  std::string trace = test::trace_of(text);
  const std::size_t at = trace.find("attention.qkv forward");
  REQUIRE(at != std::string::npos);
  const std::size_t begin = trace.rfind('\n', at), end = trace.find('\n', at);
  trace.erase(begin, end - begin);
  std::size_t products = 0;
  for (const CalibratedKernel& k : calibrated(text, trace).kernels) {
    if (k.sizes[1] == 0) continue;
    CHECK(k.ratio == test::about(1, 1e-9));
    ++products;
  }
  CHECK(products > 2);
}
