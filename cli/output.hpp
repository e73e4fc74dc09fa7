#pragma once
// Where text goes and comes from: a file; standard output is "-".

#include <filesystem>
#include <string>

namespace cli {

// Throws: base::InputError when the file is not there, cannot be read, or is larger than 256 MiB.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);
// Throws: base::InputError when the file cannot be written.
void write_text(const std::filesystem::path& file, const std::string& text);
// Before long work whose answer goes there. Throws: base::InputError when the folder is not there or the file cannot be written; says which
// option named it.
void check_writable(const std::filesystem::path& file, const std::string& option);
// A name that is safe as a file's: what is no letter, digit, dot or dash becomes a dash.
[[nodiscard]] std::string file_name(const std::string& name);
// Standard output is a terminal and NO_COLOR is not set.
[[nodiscard]] bool wants_colour();

}  // namespace cli
