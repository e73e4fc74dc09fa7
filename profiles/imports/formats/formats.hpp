#pragma once
// Chakra execution traces (MLCommons; protobuf, one file per rank) -> ImportedTrace. Private to this folder.

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports {

// Returns the trace: nodes that run on the device become kernels, collectives become collectives; host operations are counted only.
// comm_size is what one rank puts in (converters write the size of the inputs). Nodes carry the shapes of an outer operation, not of the
// kernel's own, so kernels get a precision but no shape.
// Throws: base::InputError: cut short, damaged, of a schema before 0.0.4, no node at all, a negative size.
// Cost: one node at a time; a node of more than 64 MiB is refused.
[[nodiscard]] ImportedTrace read_chakra(ByteSource& bytes);

// Returns whether the first bytes of a file are a length and a GlobalMetadata.
[[nodiscard]] bool looks_like_chakra(std::string_view head);

// Kineto / Chrome trace JSON -> ImportedTrace. Private to this folder.
// Returns the trace. A kernel belongs to the innermost host operation that was running on the thread that launched it (found by correlation
// id), or to the one with its External id where the launch is not recorded.
// Throws: base::InputError.
// Cost: O(n log n) in the number of events.
[[nodiscard]] ImportedTrace read_kineto(ByteSource& bytes);

// Output of nccl-tests, text and JSON -> ImportedTrace. Private to this folder.
// Columns are found by their names in the header. Each row gives one collective out of place and one in place. The collective is the one
// that the output names ("# Collective test starting: all_reduce_perf", a command line), else the one that follows from the columns: with a
// reduction the ratio of busbw to algbw separates all-reduce from reduce-scatter; an all-gather looks like an all-to-all.
// Throws: base::InputError with the line: no header, no rows, a row that does not fit the header, algbw that is not size / time, busbw that
// is not algbw times the factor of the collective and its ranks, results that nccl-tests itself found wrong, a collective that cannot be
// identified.
[[nodiscard]] ImportedTrace read_nccl_tests(std::string_view text, const std::string& file);
// The JSON of -J, versions 1 and 2.
// Throws: as above.
[[nodiscard]] ImportedTrace read_nccl_tests_json(const nlohmann::json& document, const std::string& file);

// Returns whether a text is such output: it has the header line.
[[nodiscard]] bool looks_like_nccl_tests(std::string_view text);

// Nsight Systems' SQLite export (nsys export --type sqlite) -> ImportedTrace. Private to this folder.
// Tables and columns differ between versions, so what is there is read: kernels, copies, fills, NVTX ranges that number iterations, GPUs.
// The export has no shapes, and no sizes of collectives. The file is opened read-only and as it lies there (no journal is replayed).
// Throws: base::InputError: no database, cut short, damaged, none of the tables of an export, an event that ends before it starts.
[[nodiscard]] ImportedTrace read_nsys(const std::filesystem::path& file);

}  // namespace imports
