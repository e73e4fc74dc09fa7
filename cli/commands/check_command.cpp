#include "cli/commands/check_command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "cli/terminal/standard_streams.hpp"
#include "scenarios/check.hpp"

namespace cli {

void add_check(CLI::App& app, Action& action) {
  struct CheckFlags {
    std::string file;
    std::uint64_t seed = 1;
  };
  const auto f = std::make_shared<CheckFlags>();
  CLI::App* c = app.add_subcommand("check", "Report every problem in an input file; show that a plan computes what its model computes");
  c->add_option("file", f->file, "A scenario, plan, cluster, model, rule file, device or framework profile")->required();
  c->add_option("--seed", f->seed, "Seed of the sizes and values that a plan is tried with");
  c->callback([f, &action] {
    action = [f] {
      const scenarios::CheckResult result =
          scenarios::check_file(f->file, f->seed, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
      print(fmt::format("{}\n", result.summary));
      // A problem of the file has been thrown by now; what is left is whether a plan computes what its model computes.
      return static_cast<int>(result.sound ? kAnswered : kNo);
    };
  });
}

}  // namespace cli
