#pragma once
// What changed between two results of `foreshard run --json`.

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace reports {

// A key of the question whose value differs; empty: it is not there.
struct ChangedKey {
  std::string path, before, after;
};

// An answer to the same plan and variant in both results, or in one of them.
struct ChangedRun {
  struct Side {
    std::string status;  // empty: there is no such run
    std::optional<double> seconds;
    std::string plan;  // in words
  };
  std::string plan, variant;
  Side before, after;
};

struct ResultDiff {
  std::string scenario;
  std::vector<ChangedKey> question;
  std::vector<ChangedRun> runs;                      // all that either has, in the order of the second; those of the first alone at the end
  [[nodiscard]] bool is_beyond(double limit) const;  // a time differs by a larger share, or a run's status, or a run is missing
};

// Whether it is a result of format 2, or a list of them.
[[nodiscard]] bool is_result(const nlohmann::ordered_json& j);
// Requires: is_result() of both. Throws: base::InputError where they are not of the same number of scenarios.
[[nodiscard]] std::vector<ResultDiff> diff_of(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after);

// Returns the changed keys and a table of the runs; "nothing changed" where that is so. `width`: of the screen.
[[nodiscard]] std::string diff_text(const ResultDiff& diff, std::size_t width);

}  // namespace reports
