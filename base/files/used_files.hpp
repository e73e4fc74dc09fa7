#pragma once
// Which files this process reads and which it will write, so that no answer takes the place of a question. This is a fact of the process
// and not of a value that is handed on: files name other files, and each is read where it is named.

#include <cstdint>
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

// Returns: the names of the inputs so far, in ascending order.
[[nodiscard]] std::vector<std::string> noted_inputs();

// Returns: a hash of a file's bytes (base/hash.hpp).
// Throws: InputError when it cannot be read.
// Cost: some 30 ms for 30 MB.
[[nodiscard]] std::uint64_t fingerprint(const std::filesystem::path& file);

// Returns: what answers of this program depend on besides a question: the program itself, and the inputs that were read so far but for
// some, each by its contents; as text.
// Throws: as fingerprint.
[[nodiscard]] std::string fingerprint_of_inputs(const std::vector<std::string>& without);

}  // namespace base
