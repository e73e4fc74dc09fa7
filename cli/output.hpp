#pragma once
// Where text goes: a file, or standard output for "-".

#include <filesystem>
#include <string>

namespace cli {

// Throws: base::InputError when the file cannot be written.
void write_text(const std::filesystem::path& file, const std::string& text);
// A name that is safe as a file's: what is no letter, digit, dot or dash becomes a dash.
[[nodiscard]] std::string file_name(const std::string& name);
// Standard output is a terminal and NO_COLOR is not set.
[[nodiscard]] bool wants_colour();

}  // namespace cli
