#include "base/yaml/parse.hpp"
#include "scenarios/confidence/fit/framework_fit.hpp"

#include <doctest/doctest.h>

#include "tests/about.hpp"
#include "tests/base/input_error_text.hpp"

namespace {

profiles::FrameworkProfile load(const std::string& text) { return profiles::load_framework_profile(base::parse_yaml(text, "f.yaml")); }

confidence::FrameworkFit fit_of(const std::string& start, std::vector<confidence::FittedConstant> constants) {
  confidence::FrameworkFit fit;
  fit.profile = load(start);
  fit.constants = std::move(constants);
  fit.points = 12;
  fit.error_before = 0.1;
  fit.error = 0.05;
  fit.cross_validated = 0.06;
  fit.groups = {{"ours", 12, 0.05}};
  return fit;
}

const std::string kText =
    "# Ours.\n"
    "foreshard: 1\n"
    "framework:\n"
    "  name: pytorch  # as installed\n"
    "  gradient_bucket: 25 MiB\n"
    "  sustained: {a100: 0.83,\n"
    "    h100: 0.87}  # from a table\n"
    "  host:\n"
    "    basis: assumed\n"
    "    # of a colleague\n"
    "    iteration: 5 ms\n";

}  // namespace

TEST_CASE("fitted numbers take their places, with what they rest on; everything else stays as people wrote it") {
  const auto fit = fit_of(kText, {{"sustained.h100", 0.9, 0.87, true, 0.07, 0.08},
                                  {"attention.a100", 0.3, 0, true, 0.06, 0.06},
                                  {"host.iteration", 1e-3, 5e-3, true, 0.051, 0.052},
                                  {"host.launch_jitter", 0, 0, false, 0.05, 0.05}});
  const std::string text = confidence::with_fitted(kText, fit, "foreshard calibrate --framework pytorch p.csv");
  CHECK(text ==
        "# Ours.\n"
        "foreshard: 1\n"
        "framework:\n"
        "  name: pytorch  # as installed\n"
        "  gradient_bucket: 25 MiB\n"
        "  sustained:  # from a table\n"
        "    a100: 0.83\n"
        "    # foreshard calibrate --framework pytorch p.csv\n"
        "    #   mean error 5.0 % on 12 points (10.0 % before), each half by the other 6.0 %: ours 5.0 % on 12\n"
        "    #   was 0.870; a tenth less: 7.0 %, a tenth more: 8.0 %\n"
        "    h100: 0.900\n"
        "  host:\n"
        "    basis: fitted\n"
        "    # of a colleague\n"
        "    # foreshard calibrate --framework pytorch p.csv\n"
        "    #   mean error 5.0 % on 12 points (10.0 % before), each half by the other 6.0 %: ours 5.0 % on 12\n"
        "    #   was 5 ms; a tenth less: 5.1 %, a tenth more: 5.2 %\n"
        "    iteration: 1 ms\n"
        "  attention:\n"
        "    # foreshard calibrate --framework pytorch p.csv\n"
        "    #   mean error 5.0 % on 12 points (10.0 % before), each half by the other 6.0 %: ours 5.0 % on 12\n"
        "    #   was not set; a tenth less: 6.0 %, a tenth more: 6.0 %\n"
        "    a100: 0.300\n");
  const auto back = load(text);
  CHECK(back.sustained.at("h100") == 0.9);
  CHECK(back.attention.at("a100") == 0.3);
  CHECK(back.host.iteration.value() == test::about(1e-3));
  CHECK(back.host.basis == profiles::HostBasis::fitted);
}

TEST_CASE("a calibration after another replaces its numbers and comments, and leaves those of other keys") {
  const auto first = fit_of(kText, {{"sustained.h100", 0.9, 0.87, true, 0.07, 0.08}, {"host.iteration", 1e-3, 5e-3, true, 0.051, 0.052}});
  const std::string once = confidence::with_fitted(kText, first, "foreshard calibrate one");
  const auto second = fit_of(once, {{"sustained.h100", 0.8, 0.9, true, 0.07, 0.08}});
  const std::string twice = confidence::with_fitted(once, second, "foreshard calibrate two");
  CHECK(twice.find("h100: 0.800") != std::string::npos);
  CHECK(twice.find("was 0.900") != std::string::npos);
  CHECK(twice.find("was 0.870") == std::string::npos);
  CHECK(twice.find("foreshard calibrate one") == twice.rfind("foreshard calibrate one"));
  CHECK(twice.find("foreshard calibrate two") == twice.rfind("foreshard calibrate two"));
  CHECK(twice.find("was 5 ms") != std::string::npos);
}

TEST_CASE("every profile that ships can be written, and reads back with the fitted numbers") {
  for (std::size_t i = 0; i < pcg::names<pcg::Framework>().size(); ++i) {
    const std::string start(profiles::framework_text(static_cast<pcg::Framework>(i)));
    std::vector<confidence::FittedConstant> constants;
    profiles::FrameworkProfile expected = load(start);
    for (const char* name : {"host.collective", "host.forward_kernel"}) constants.push_back({name, 12e-6, 0, true, 0.05, 0.05});
    constants.push_back({"attention.h100", 0.5, 0, true, 0.05, 0.05});
    constants.push_back({"sustained.v100", 0.75, 0, true, 0.05, 0.05});
    expected.host.collective = expected.host.forward_kernel = base::Seconds(12e-6);
    expected.attention["h100"] = 0.5;
    expected.sustained["v100"] = 0.75;
    auto back = load(confidence::with_fitted(start, fit_of(start, constants), "foreshard calibrate"));
    expected.host.basis = back.host.basis;
    expected.host.collective = back.host.collective;
    expected.host.forward_kernel = back.host.forward_kernel;
    CHECK(back.host.collective.value() == test::about(12e-6));
    CHECK(back.host.forward_kernel.value() == test::about(12e-6));
    CHECK(back.host.basis != profiles::HostBasis::assumed);
    CHECK(back == expected);
  }
}

TEST_CASE("a profile in braces has no lines to write to") {
  const std::string text = "foreshard: 1\nframework: {name: pytorch, gradient_bucket: all, host: {}}\n";
  CHECK(input_error_text([&] {
          (void)confidence::with_fitted(text, fit_of(text, {}), "foreshard calibrate");
        }).find("is written in braces") != std::string::npos);
}
