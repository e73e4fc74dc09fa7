#pragma once
// Bytes that are sent, as text: in powers of 1000, as bandwidths are, so that bytes over bandwidth can be done in the head. Memory is in
// GiB, as drivers show it (search/problem/wording.hpp).

#include <string>

#include "base/units.hpp"

namespace reports {

// Returns e.g. "93.7 GB".
[[nodiscard]] std::string traffic_text(base::Bytes b);

}  // namespace reports
