// Profiles that a trace was fitted to, and the forecast with them.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <filesystem>
#include <fstream>

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
  CHECK(after.runs.at(0).simulation->iteration_time.value() == test::about(measured_s, 1e-6));
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

namespace {

// A comparison of one GPU, whose forecast takes a second.
Comparison of_iterations(const std::vector<double>& measured_s) {
  Comparison c;
  c.devices.resize(1);
  c.predicted.push_back({.end_s = 1});
  for (const double s : measured_s) c.held_out.push_back({0, s});
  return c;
}

std::string with_profiles(std::string text, const std::string& device, const std::string& framework) {
  text.replace(text.find("framework: megatron-core"), 24, "framework: {file: " + framework + "}");
  return text.insert(text.find("node.gpus.count"), "node.gpus.file: " + device + ", ");
}

double width(const scenarios::Run& r) { return std::log(r.interval_high / r.interval_low); }

}  // namespace

TEST_CASE("what was held out says how far forecasts are from it") {
  CHECK(!misses_of(of_iterations({}), 1));
  const Misses m = *misses_of(of_iterations({2 * std::exp(0.02), 2 * std::exp(-0.02)}), 2);
  CHECK(m.count == 2);
  CHECK(m.measured_s == test::about(2 * std::cosh(0.02), 1e-9));
  CHECK(m.before == test::about(1 - std::cosh(0.02) / 2, 1e-9));
  CHECK(m.after == test::about(std::sinh(0.02), 1e-9));
  CHECK(m.spread == test::about(2.91999 * 0.02, 1e-5));  // Student's t of two degrees of freedom at 0.95
  CHECK(misses_of(of_iterations({1.01}), 1)->spread == test::about(6.31375 * std::log(1.01), 1e-5));  // of one
  CHECK(misses_of(of_iterations({1, 1, 1}), 1)->spread == 0.01);  // below a percent nothing repeats itself
}

TEST_CASE("calibrated by one of two GPUs, the forecast of the other is nearer, and its interval narrower and holds it") {
  CHECK(rc::check([] {
    const int speed = *rc::gen::inRange(35, 50), scatter = *rc::gen::inRange(1, 9);  // percent, and thousandths
    const auto slower = [&](double times) {
      return test::scenario(kPlan, kOne + ", node.gpus.compute_speed: " + std::to_string(speed * times / 100), 64);
    };
    const std::string text = test::scenario(kPlan, kOne, 64), other = slower(1 + scatter * 1e-3);
    const test::File first(test::trace_of(slower(1))), second(test::trace_of(other));
    const scenarios::Scenario asked = test::loaded(text);
    const scenarios::ScenarioResult answer = test::answered(text);
    const scenarios::Run& before = answer.runs.at(0);
    const Comparison c = comparison::compare(asked, before, {read_trace(first.path()), read_trace(second.path())});
    RC_ASSERT(c.holds_out_devices);
    RC_ASSERT(c.held_out.size() == 1U);
    const Calibration found = calibrate(c, before, asked.base(), "compare");
    const test::File device(found.device, ".yaml"), framework(found.framework, ".yaml");
    const auto answered = [&] { return test::answered(with_profiles(text, device.path().string(), framework.path().string())).runs.at(0); };
    const scenarios::Run once = answered();
    const Misses m = *misses_of(c, once.simulation->iteration_time / before.simulation->iteration_time);
    RC_ASSERT(m.after < m.before);
    std::ofstream(framework.path()) << with_spread(found.framework, m, "compare");
    const scenarios::Run after = answered();
    RC_ASSERT(width(after) < width(before));
    RC_ASSERT(width(after) < width(once));  // by what was held out, and not by what was fitted
    RC_ASSERT(after.interval_low.value() <= m.measured_s);
    RC_ASSERT(after.interval_high.value() >= m.measured_s);
  }));
}
