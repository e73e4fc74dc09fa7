#pragma once
// The last step of every importer, when all events are read. Private to this folder.

#include <string_view>

#include "profiles/imports/traces/trace.hpp"

namespace imports {

// Sorts kernels, collectives and iterations by start (stable, those without a start stay in front), computes the span and the busy time of
// iterations, names the device profiles, and notes what a reader must know: no device events, unknown kernels, sizes that are missing,
// that times of collectives hold waiting. Cost: O(n log n).
void finish_trace(ImportedTrace& trace);

}  // namespace imports
