#pragma once
// Kineto / Chrome trace JSON -> ImportedTrace. Private to this folder.

#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports {

// Returns the trace. A kernel belongs to the innermost host operation that was running on the thread that launched it (found by correlation
// id), or to the one with its External id where the launch is not recorded. Throws: base::InputError. Cost: O(n log n) in the number of
// events.
[[nodiscard]] ImportedTrace read_kineto(ByteSource& bytes);

}  // namespace imports
