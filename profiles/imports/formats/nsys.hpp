#pragma once
// Nsight Systems' SQLite export (nsys export --type sqlite) -> ImportedTrace. Private to this folder.

#include <filesystem>

#include "profiles/imports/traces/trace.hpp"

namespace imports {

// Tables and columns differ between versions, so what is there is read: kernels, copies, fills, NVTX ranges that number iterations, GPUs.
// The export has no shapes, and no sizes of collectives. The file is opened read-only and as it lies there (no journal is replayed).
// Throws: base::InputError: no database, cut short, damaged, none of the tables of an export, an event that ends before it starts.
[[nodiscard]] ImportedTrace read_nsys(const std::filesystem::path& file);

}  // namespace imports
