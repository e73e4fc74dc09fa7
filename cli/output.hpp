#pragma once
// Where text goes and comes from: a file; standard output is "-". What the file system refuses is bad input.

#include <filesystem>
#include <initializer_list>
#include <string>

namespace cli {

// Throws: base::InputError when the file is not there, cannot be read, or is larger than 256 MiB.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);
// Throws: base::InputError when the file cannot be written.
void write_text(const std::filesystem::path& file, const std::string& text);
// An option and the file that it names: empty: none, "-": standard output.
struct Output {
  std::string option, file;
};
// Before long work whose answers go there. Throws: base::InputError when a folder is not there, a file cannot be written, or two options
// name the same one; says which option.
void check_outputs(std::initializer_list<Output> outputs);
// The same of a folder that will be made where it is not there. Empty: none.
void check_output_folder(const std::filesystem::path& folder, const std::string& option);
// Makes it, with those around it. Throws: base::InputError when it cannot be made.
void make_folder(const std::filesystem::path& folder);
// A name that is safe as a file's: what is no letter, digit, dot or dash becomes a dash.
[[nodiscard]] std::string file_name(const std::string& name);
// Standard output is a terminal and NO_COLOR is not set.
[[nodiscard]] bool wants_colour();

}  // namespace cli
