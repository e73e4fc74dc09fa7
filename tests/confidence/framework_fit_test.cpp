#include "scenarios/confidence/fit/framework_fit.hpp"

#include <doctest/doctest.h>

#include "scenarios/confidence/forecasts.hpp"
#include "tests/about.hpp"
#include "tests/base/input_error_text.hpp"
#include "tests/measured/made_points.hpp"

using measured::Point;

namespace {

// Points whose "measured" times are the forecasts of the profile that ships: what a fit should find again.
std::vector<Point> forecast_as_measured(int count, const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) {
    Point p = measured::read_points(test::kHeader + test::kRow, "p.csv").at(0);
    p.id = std::to_string(i);
    p.framework = "deepspeed";
    for (const auto& [path, value] : settings) p.settings.push_back({path, base::Yaml::make_scalar(value)});
    p.global_batch = p.micro_batch * p.data * (1 + i % 5);
    points.push_back(std::move(p));
  }
  const auto forecasts = confidence::forecast(points, {});
  for (std::size_t i = 0; i < points.size(); ++i) {
    REQUIRE(forecasts[i].failure.empty());
    points[i].measured = forecasts[i].predicted;
  }
  return points;
}

}  // namespace

TEST_CASE("a host time that was changed is found again from the iterations that it explains") {
  const auto& truth = profiles::framework_profile(pcg::Framework::deepspeed);
  profiles::FrameworkProfile start = truth;
  start.host.forward_kernel = truth.host.forward_kernel * 0.4;
  const auto fit = confidence::fit_framework(start, forecast_as_measured(10), {.constants = {"host.forward_kernel"}, .evaluations = 30});
  CHECK(fit.points == 10);
  CHECK(fit.error_before > 0.1);
  CHECK(fit.error < 0.01);
  CHECK(fit.cross_validated < 0.02);
  REQUIRE(fit.groups.size() == 1);
  CHECK(fit.groups[0].points == 10);
  CHECK(fit.groups[0].error == test::about(fit.error));
  REQUIRE(fit.constants.size() == 1);
  CHECK(fit.constants[0].identifiable);
  CHECK(fit.constants[0].error_less > fit.error + 0.01);
  CHECK(fit.constants[0].error_more > fit.error + 0.01);
  CHECK(fit.profile.host.forward_kernel.value() == test::about(truth.host.forward_kernel.value(), 0.03));
}

TEST_CASE("what points say of the framework themselves holds while a constant is fitted") {
  // Hosts of the points lose 80 ms an iteration, which the profile does not know: its launch is right only where that is kept.
  const auto& truth = profiles::framework_profile(pcg::Framework::deepspeed);
  const auto fit = confidence::fit_framework(truth, forecast_as_measured(10, {{"training.framework.host.iteration", "80 ms"}}),
                                             {.constants = {"host.forward_kernel"}, .evaluations = 30});
  CHECK(fit.error_before < 1e-6);
  CHECK(fit.profile.host.forward_kernel.value() == test::about(truth.host.forward_kernel.value(), 0.01));
}

TEST_CASE("what no point depends on is left as it was, and said") {
  const auto& start = profiles::framework_profile(pcg::Framework::deepspeed);
  const auto fit =
      confidence::fit_framework(start, forecast_as_measured(20), {.constants = {"sustained.h100", "attention.v100"}, .evaluations = 5});
  for (const auto& c : fit.constants) CHECK(!c.identifiable);
  CHECK(fit.profile == start);
}

TEST_CASE("too few points, unknown constants: refused") {
  const auto& start = profiles::framework_profile(pcg::Framework::deepspeed);
  CHECK(input_error_text([&] {
          (void)confidence::fit_framework(start, {}, {.constants = {"host.forward_kernel"}});
        }).find("0 points for 1") != std::string::npos);
  CHECK(input_error_text([&] {
          (void)confidence::fit_framework(start, {}, {.constants = {"host.forward_kernels"}});
        }).find("host.forward_kernel") != std::string::npos);
}
