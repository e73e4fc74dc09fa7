// Foreshard: how long one training iteration takes on a cluster that you describe. Flags in, exit code out.
#include <fmt/core.h>

#include <new>
#include <sstream>
#include <system_error>

#include "base/diagnostics.hpp"
#include "base/processes/worker_pool.hpp"
#include "cli/commands/command.hpp"
#include "cli/terminal/standard_streams.hpp"

namespace {

int parse_and_act(int argc, char** argv) {
  CLI::App app("How long one training iteration takes on a cluster that you describe, how to parallelise it best, and what if.");
  app.name("foreshard");
  app.set_version_flag("-V,--version", cli::version_text());
  app.require_subcommand(1);
  cli::Action action;
  for (const auto add : {cli::add_run, cli::add_ask, cli::add_diff, cli::add_compare, cli::add_show, cli::add_check, cli::add_validate,
                         cli::add_import, cli::add_calibrate, cli::add_rules, cli::add_init, cli::add_schema, cli::add_help_commands})
    add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // CLI11 says that something was not expected; we say which word was meant.
    if (e.get_exit_code() != 0) {
      const auto mistyped = cli::mistyped(app, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
      throw base::InputError(std::vector<base::Diagnostic>{mistyped ? *mistyped : cli::misused(app, e)});
    }
    std::ostringstream out, err;
    (void)app.exit(e, out, err);  // --help and --version come this way too
    cli::print(out.str());
    return cli::kAnswered;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    cli::prepare_standard_streams();
    const int code = parse_and_act(argc, argv);
    cli::finish_standard_output();
    return code;
  } catch (const base::InputError& e) {
    for (const base::Diagnostic& d : e.diagnostics()) cli::tell(base::render(d) + "\n");
    return cli::kBadInput;
  } catch (const base::LostWorker& e) {
    cli::tell(fmt::format("foreshard: {}\n", e.what()));
    return cli::kIncomplete;
  } catch (const std::system_error& e) {  // of files, pipes and processes: the system's refusal
    cli::tell(fmt::format("foreshard: {}\n", e.what()));
    return cli::kBadInput;
  } catch (const std::bad_alloc&) {
    cli::tell("foreshard: no memory is left for this\n       ask for less at a time (--jobs, plans, GPUs, rows of a table)\n");
    return cli::kBadInput;
  } catch (const std::exception& e) {
    cli::tell(fmt::format("foreshard: internal error: {}\n{}", e.what(), cli::kBugText));
    return cli::kBug;
  }
}
