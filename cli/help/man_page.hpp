#pragma once
// The manual page, made from the commands themselves.

#include <CLI/CLI.hpp>

#include <string>

namespace cli {

// Returns the page foreshard(1) for man: what the program is, every command with its arguments and options, exit codes, files.
[[nodiscard]] std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace cli
