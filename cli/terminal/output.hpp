#pragma once
// Text goes to files and comes from them; "-" is standard output. A refusal of the file system is bad input.

#include <filesystem>
#include <initializer_list>
#include <string>

#include "reports/text_table.hpp"

namespace cli {

// Returns the content of a file. Throws: base::InputError when the file is not there, cannot be read, or is larger than 256 MiB.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);
// Writes a file anew. Throws: base::InputError when the file cannot be written.
void write_text(const std::filesystem::path& file, const std::string& text);
// Writes out what standard output still holds. Throws: base::InputError when it, or something before it, could not be written.
void finish_standard_output();
// An option and the file that it names: none when empty, standard output when "-".
struct Output {
  std::string option, file;
};
// Checks the files before long work whose answers go there. Throws: base::InputError when a folder is not there, a file cannot be written,
// or two options name the same one; says which option.
void check_outputs(std::initializer_list<Output> outputs);
// The same for a folder that will be made where it is not there. An empty name is no folder.
void check_output_folder(const std::filesystem::path& folder, const std::string& option);
// Makes a folder and those around it. Throws: base::InputError when it cannot be made.
void make_folder(const std::filesystem::path& folder);
// Returns a name that is safe as a file's: any run of other characters than letters, digits, dots and dashes becomes one dash, or nothing
// at the start. Different names may give the same.
[[nodiscard]] std::string file_name(const std::string& name);
// Returns the columns of standard output: COLUMNS, else the terminal's, else 120.
[[nodiscard]] std::size_t wanted_width();
// Returns Colour::terminal where standard output is a terminal and NO_COLOR (no-color.org) is not set.
[[nodiscard]] reports::Colour wanted_colour();

}  // namespace cli
