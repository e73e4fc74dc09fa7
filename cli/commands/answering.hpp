#pragma once
// What `run` and `ask` do with a question: answer it, and write the answer in every form that was asked for. Private to this folder.

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "scenarios/question/scenario.hpp"

namespace cli {

struct RunFlags {
  std::vector<std::string> scenarios;
  std::string json, csv, trace, save_plans, report, resume;
  bool explain = false;
  std::string notes = "few", format = "table";
  int jobs = 1;
  std::uint64_t seed = 1;
  base::Verbosity verbosity = base::Verbosity::usual;
};

// Adds the options that say how an answer is given. Requires: `flags` outlive the command line.
void add_answer_options(CLI::App& command, RunFlags& flags);

// Loads the scenarios, once the outputs are known to be writable, and answers them. Returns an exit code.
using LoadScenarios = std::function<std::vector<scenarios::Scenario>()>;
[[nodiscard]] int answer_all(const RunFlags& flags, const LoadScenarios& load);

}  // namespace cli
