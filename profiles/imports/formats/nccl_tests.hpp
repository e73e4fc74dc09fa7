#pragma once
// Output of nccl-tests, text and JSON -> ImportedTrace. Private to this folder.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "profiles/imports/traces/trace.hpp"

namespace imports {

// Columns are found by their names in the header. Each row gives one collective out of place and one in place. The collective is the one
// that the output names ("# Collective test starting: all_reduce_perf", a command line), else the one that follows from the columns: with a
// reduction the ratio of busbw to algbw separates all-reduce from reduce-scatter; an all-gather looks like an all-to-all.
// Throws: base::InputError with the line: no header, no rows, a row that does not fit the header, algbw that is not size / time, busbw that
// is not algbw times the factor of the collective and its ranks, results that nccl-tests itself found wrong, a collective that cannot be
// identified.
[[nodiscard]] ImportedTrace read_nccl_tests(std::string_view text, const std::string& file);
// The JSON of -J, versions 1 and 2. Throws: as above.
[[nodiscard]] ImportedTrace read_nccl_tests_json(const nlohmann::json& document, const std::string& file);

// Returns whether a text is such output: it has the header line.
[[nodiscard]] bool looks_like_nccl_tests(std::string_view text);

}  // namespace imports
