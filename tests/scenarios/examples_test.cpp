// The scenarios that ship are sound, what-ifs included, and those that are answered within a few seconds have answers.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/text_file.hpp"
#include "base/yaml/parse.hpp"
#include "scenarios/answer/check.hpp"
#include "scenarios/answer/run.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> examples() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(SOURCE_DIRECTORY "/scenarios"))
    if (entry.path().extension() == ".yaml") all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

// They take from ten seconds to a minute, and several times as long under the sanitizers.
constexpr std::array<std::string_view, 3> kSlow{"buy-for-llama3-70b", "llama3-405b-128k", "planners-side-by-side"};

// Forecasts that were stored when they last changed on purpose: a line "SECONDS | SCENARIO | VARIANT | PLAN" per run of a
// plan that was not searched for. They are the same
// with every release of SimGrid, of the compiler and of the system, as far as rounding lets them.
const fs::path kForecasts = SOURCE_DIRECTORY "/tests/scenarios/fixtures/forecasts.txt";
constexpr double kRounding = 1e-9;

struct Forecast {
  double seconds;
  std::string run;  // "SCENARIO | VARIANT | PLAN"
};

std::vector<Forecast> stored_forecasts() {
  std::istringstream lines(base::read_text_file(kForecasts));
  std::vector<Forecast> all;
  for (std::string line; std::getline(lines, line);) all.push_back({std::stod(line), line.substr(line.find('|') + 2)});
  return all;
}

// A search that the clock cuts off may find another plan on another machine.
bool is_searched(const scenarios::ScenarioResult& result, const std::string& plan) {
  return std::ranges::any_of(result.runs, [&](const scenarios::Run& r) { return r.plan == plan && r.planning && r.planning->searched; });
}

void store(const std::vector<Forecast>& forecasts) {
  std::ofstream file(kForecasts);
  for (const Forecast& f : forecasts) file << fmt::format("{:.12e} | {}\n", f.seconds, f.run);
}

void check_same(const std::vector<Forecast>& found, const std::vector<Forecast>& stored) {
  REQUIRE(found.size() == stored.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(found[i].run);
    CHECK(found[i].run == stored[i].run);
    CAPTURE(found[i].seconds);
    CAPTURE(stored[i].seconds);
    CHECK(std::abs(found[i].seconds - stored[i].seconds) <= kRounding * stored[i].seconds);
  }
}

}  // namespace

TEST_CASE("every example scenario loads, and says in its first line what it asks") {
  CHECK(examples().size() > kSlow.size());
  for (const fs::path& file : examples()) {
    CAPTURE(file.string());
    CHECK(scenarios::check_file(file, 1).summary.starts_with("scenario "));
    CHECK(base::read_text_file(file).starts_with("# "));
  }
}

// UPDATE_GOLDEN=1 stores the forecasts; the difference is reviewed.
TEST_CASE("the quick example scenarios have an answer to every question, and forecasts are the stored ones") {
  std::vector<Forecast> forecasts;
  for (const fs::path& file : examples()) {
    if (std::ranges::find(kSlow, file.stem().string()) != kSlow.end()) continue;
    CAPTURE(file.string());
    const scenarios::ScenarioResult result =
        scenarios::run_scenario(scenarios::load_scenario(base::read_yaml(file), file.parent_path()), {});
    CHECK(result.unanswered == 0);
    CHECK(std::ranges::any_of(result.runs, [](const scenarios::Run& r) { return r.is_of_base() && r.status == scenarios::Status::ok; }));
    for (const scenarios::Run& r : result.runs) {
      CAPTURE(r.variant);
      CAPTURE(r.plan);
      REQUIRE(r.simulation);
      CHECK(r.simulation->iteration_time > base::Seconds());
      if (!is_searched(result, r.plan))
        forecasts.push_back({r.simulation->iteration_time.value(), fmt::format("{} | {} | {}", file.stem().string(), r.variant, r.plan)});
    }
  }
  if (std::getenv("UPDATE_GOLDEN") != nullptr) store(forecasts);
  check_same(forecasts, stored_forecasts());
}
