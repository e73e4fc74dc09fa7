#pragma once
// Command line of the collector, and its dry run.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "tools/collector/device.hpp"

namespace collector {

struct Options {
  std::string out = "collect.json";
  double budget_s = 240;
  std::uint64_t seed = 0;
  bool cold = true;  // operands come from memory, not from L2
  int device = 0;
  bool dry_run = false;
  bool list = false;  // with dry_run: every case
  bool help = false;
};
// Arguments without the program's name. nullopt: `problem` is one sentence with what to write.
[[nodiscard]] std::optional<Options> parse_options(const std::vector<std::string>& arguments, std::string& problem);
[[nodiscard]] std::string usage();

// Prints what a run would measure and for how long: one line per group (cases within the budget, cases in all, predicted seconds), with
// --list one line per case.
void print_dry_run(const Options& options, const Device& d, std::ostream& out);

}  // namespace collector
