#pragma once
// The commands of the program. Start here: each add_NAME adds one command to the command line and, when the words name it, puts its work
// into `action`, which returns an ExitCode. cli/main.cpp calls them in this order and maps exceptions to exit codes; each is one source of
// this folder. cli/terminal reads and writes files and the two standard streams; cli/ranks shares work out among MPI ranks.

#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/progress.hpp"

namespace cli {

// 0 answered; 1 a healthy answer that is "no"; 2 bad input, or the system refused a file, memory or processes; 3 our own bug; 4 worker
// processes were ended from outside, or a search by a limit, and with them part of the answer. What a signal has cut short ends with 128
// and the signal.
enum ExitCode { kAnswered = 0, kNo = 1, kBadInput = 2, kBug = 3, kIncomplete = 4, kSignalled = 128 };

constexpr const char* kBugText = "This is a bug of ours. Please report it with the input that led here.\n";

using Action = std::function<int()>;

void add_run(CLI::App& app, Action& action);
void add_ask(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_diff(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_rules(CLI::App& app, Action& action);
void add_init(CLI::App& app, Action& action);
void add_schema(CLI::App& app, Action& action);
// completion, help and man; packages install what the first and the last print. All print what `app` has when they run.
void add_help_commands(CLI::App& app, Action& action);

// Has a command do `work` where the words name it.
void set_action(CLI::App& command, Action& action, Action work);

// Adds --quiet, which sets `verbosity`. `help` says what a quiet command leaves out. Requires: `verbosity` outlives the command line.
void add_seed(CLI::App& command, std::uint64_t& seed, const std::string& help);
void add_quiet(CLI::App& command, base::Verbosity& verbosity, const std::string& help);

// Returns the first word that names no command, or no option of its command, with the nearest that does; a command that wants another
// after it. A word after an option that takes a value, or after "--", is none of these. Nullopt: all words are known. `words`: the
// command line without the program.
[[nodiscard]] std::optional<base::Diagnostic> mistyped(const CLI::App& app, std::span<char* const> words);

// Returns what a command line lacks or has wrong, in our words. Requires: no word of it is mistyped.
[[nodiscard]] base::Diagnostic misused(const CLI::App& app, const CLI::ParseError& error);

// Returns a file of cli/commands/templates with its marks, "@FILE@", replaced.
[[nodiscard]] std::string filled(std::string_view name, const std::vector<std::pair<std::string, std::string>>& values);

// All are written at build time by cmake/version.cmake.
// Returns the release: "0.2.0".
[[nodiscard]] const char* program_version();
// Returns "1a2b3c4d", as the text of --version has it; empty where the build had no git checkout.
[[nodiscard]] const char* program_commit();
// Returns the text of --version: "foreshard 0.2.0 (1a2b3c4d, 2026-11-27)". The commit ends in -dirty where tracked files differed from it;
// it is not there where the build had no git checkout.
[[nodiscard]] const char* version_text();

}  // namespace cli
