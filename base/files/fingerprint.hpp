#pragma once
// Whether a file holds what it held before.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace base {

// Returns a hash of a file's bytes (base/hash.hpp). Throws: InputError when it cannot be read. Cost: some 30 ms for 30 MB.
[[nodiscard]] std::uint64_t fingerprint(const std::filesystem::path& file);

// Returns what answers of this program depend on besides a question: the program itself, and the inputs that were read so far
// (base/files/used_files.hpp) but for some, each by its contents; as text. Throws: as fingerprint.
[[nodiscard]] std::string fingerprint_of_inputs(const std::vector<std::string>& without);

}  // namespace base
