#pragma once
// A command line that cannot be understood because a word of it is misspelt or missing.

#include <CLI/CLI.hpp>

#include <optional>
#include <span>

#include "base/diagnostics.hpp"

namespace cli {

// Returns the first word that names no command, or no option of its command, with the nearest that does; a command that wants another
// behind it. A word behind an option that takes a value, or behind "--", is none of these. Nullopt: all words are known. `words`: the
// command line without the program.
[[nodiscard]] std::optional<base::Diagnostic> mistyped(const CLI::App& app, std::span<char* const> words);

}  // namespace cli
