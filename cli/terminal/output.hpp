#pragma once
// Text goes to files and comes from them; "-" is standard output. A refusal of the file system is bad input.

#include <filesystem>
#include <string>
#include <vector>

#include "reports/answer.hpp"

namespace cli {

// Returns the content of a file. Throws: base::InputError when the file is not there, cannot be read, is larger than 256 MiB, or is one
// that an option writes to.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);
// The same for a file that is an output, too, and is written anew with what it holds now: a profile that is fitted further, a page with a
// place for tables.
[[nodiscard]] std::string read_to_renew(const std::filesystem::path& file);
// Returns the content of a file that a fit starts from, which may be the one that it writes to.
[[nodiscard]] std::string read_start(const std::filesystem::path& file, const std::filesystem::path& output);
// Writes a file anew, whole or not at all (base/files/output_file.hpp), compressed where its name ends in .gz, or prints. Throws:
// base::InputError when the file cannot be written; standard output's errors come at the end (cli/terminal/standard_streams.hpp).
void write_text(const std::filesystem::path& file, const std::string& text);
// An option and the file that it names: none when empty, standard output when "-".
struct Output {
  std::string option, file;
};
// Checks the files before long work whose answers go there. Throws: base::InputError when a folder is not there, a file cannot be written,
// two options name the same one, or one names a file that has been read; says which option. From then on none of them can be read
// (base/files/used_files.hpp).
void check_outputs(const std::vector<Output>& outputs);
// The same for a folder that will be made where it is not there. An empty name is no folder.
void check_output_folder(const std::filesystem::path& folder, const std::string& option);
// Makes a folder and those around it. Throws: base::InputError when it cannot be made.
void make_folder(const std::filesystem::path& folder);
// Returns a name that is safe as a file's, visible and not too long: any run of other characters than letters, digits, dots and dashes
// becomes one dash, or nothing at the start, where dots are left out, too; "plan" where nothing is left. Different names may give the same.
[[nodiscard]] std::string file_name(const std::string& name);
// Returns the columns of standard output: COLUMNS, else the terminal's, else 120.
[[nodiscard]] std::size_t wanted_width();
// Returns Colour::terminal where standard output is a terminal and NO_COLOR (no-color.org) is not set.
[[nodiscard]] reports::Colour wanted_colour();

}  // namespace cli
