#pragma once
// Which files this process reads and which it will write, so that no answer takes the place of a question. This is a fact of the process
// and not of a value that is handed on: files name other files, and each is read where it is named.

#include <filesystem>
#include <string>
#include <vector>

namespace base {

// Whoever opens a file for reading says so first. Devices and pipes, and what is not there, are no files.
// Throws: InputError when an option writes to this file, under any name: device and inode identify a file.
void note_input(const std::filesystem::path& file);
// The same of a file that `option` writes to.
// Throws: InputError when it has been read.
void note_output(const std::filesystem::path& file, const std::string& option);

// Returns: what answers of this program depend on besides a question: the program itself, and the inputs that were read so far but for
// some, in the order of their names, each by a hash of its bytes; as text.
// Throws: InputError when one cannot be read.
// Cost: some 30 ms for 30 MB.
[[nodiscard]] std::string fingerprint_of_inputs(const std::vector<std::string>& without);

}  // namespace base
