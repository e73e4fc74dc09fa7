#include "cli/commands/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "cli/terminal/standard_streams.hpp"
#include "scenarios/answer/check.hpp"

namespace cli {
namespace {

// Every file is looked at, whatever is wrong with those before it.
int check_all(const std::vector<std::string>& files, std::uint64_t seed) {
  const int processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  base::Diagnostics problems;
  bool sound = true;
  for (const std::string& file : files) try {
      const scenarios::CheckResult result = scenarios::check_file(file, seed, processes);
      print(fmt::format("{}{}\n", files.size() > 1 ? file + ": " : "", result.summary));
      sound = sound && result.sound;  // a plan that does not compute what its model computes is no problem of the file
    } catch (const base::InputError& e) { problems.add_all(e); }
  problems.throw_if_any();
  return sound ? kAnswered : kNo;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  struct CheckFlags {
    std::vector<std::string> files;
    std::uint64_t seed = 1;
  };
  const auto f = std::make_shared<CheckFlags>();
  CLI::App* c = app.add_subcommand("check", "Report every problem in input files; show that a plan computes what its model computes");
  c->add_option("file", f->files, "Scenarios, plans, clusters, models, rule files, device or framework profiles; - is standard input")
      ->required();
  add_seed(*c, f->seed, "Seed of the sizes and values that a plan is tried with");
  set_action(*c, action, [f] { return check_all(f->files, f->seed); });
}

}  // namespace cli
