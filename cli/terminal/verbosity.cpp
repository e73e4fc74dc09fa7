#include "cli/terminal/verbosity.hpp"

namespace cli {

void add_quiet(CLI::App& command, base::Verbosity& verbosity, const std::string& help) {
  command.add_flag_callback(
      "--quiet", [&verbosity] { verbosity = base::Verbosity::quiet; }, help);
}

}  // namespace cli
