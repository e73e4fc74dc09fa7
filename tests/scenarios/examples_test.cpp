// The scenarios that ship are sound, what-ifs included, and those that are answered within a few seconds have answers.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
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

}  // namespace

TEST_CASE("every example scenario loads, and says in its first line what it asks") {
  CHECK(examples().size() > kSlow.size());
  for (const fs::path& file : examples()) {
    CAPTURE(file.string());
    CHECK(scenarios::check_file(file, 1).summary.starts_with("scenario "));
    CHECK(base::read_text_file(file).starts_with("# "));
  }
}

TEST_CASE("the quick example scenarios have an answer to every question") {
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
    }
  }
}
