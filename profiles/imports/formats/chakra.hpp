#pragma once
// Chakra execution traces (MLCommons; protobuf, one file per rank) -> ImportedTrace. Private to this folder.

#include <string>
#include <string_view>

#include "profiles/imports/sources/byte_source.hpp"
#include "profiles/imports/traces/trace.hpp"

namespace imports {

// Returns the trace: nodes that run on the device become kernels, collectives become collectives; host operations are counted only.
// comm_size is what one rank puts in (converters write the size of the inputs). Nodes carry the shapes of an outer operation, not of the
// kernel's own, so kernels get a precision but no shape. Throws: base::InputError: cut short, damaged, of a schema before 0.0.4, no node at
// all, a negative size. Cost: one node at a time; a node of more than 64 MiB is refused.
[[nodiscard]] ImportedTrace read_chakra(ByteSource& bytes);

// Returns whether the first bytes of a file are a length and a GlobalMetadata.
[[nodiscard]] bool looks_like_chakra(std::string_view head);

}  // namespace imports
