#pragma once
// The spans of a run in the form that the page draws: columns of integers, names in a table.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "scenarios/answer/result.hpp"

namespace reports {

// Returns null where there are no spans, else
//   {"unit_s": U, "end": E, "names": [...], "kinds": [...], "stages": [...], "bytes": [...], "devices": [...], "left_out": TEXT}
// Times are whole multiples of U, a power of ten of at most a four-millionth of the iteration, which ends at E. A name has a kind (an index
// into kSpanKinds), the virtual stage of its operator or -1, and the bytes of its transfer or 0. A device is {"device", "stands_for",
// "lanes"}, stands_for all that do the same as [[first, last], ...]; a lane {"stream", "name", "micro_batch", "start", "duration"}: one
// entry per span in order, micro_batch -1 without one, start counted from the start before it.
//
// `most_bytes`: of the JSON text. Where more would be needed, spans of one stream that belong to one layer, pass and micro-batch and lie
// closer than a few thousandths of the iteration become one; where that does not do, the last devices are left out. `left_out` says both;
// it is absent where all is there.
[[nodiscard]] nlohmann::ordered_json timeline_data(const scenarios::Run& run, std::size_t most_bytes);

}  // namespace reports
