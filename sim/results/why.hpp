#pragma once
// Why an iteration takes as long as it does: what is on its critical path, and how its links are used.

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace sim {

// operation: kernels. collective: among more than two devices as a rule. transfer: a message, or a copy between a device and its host.
// host: what a host does. wait: nothing that was waited for ends when the wait does.
enum class PathKind : std::uint8_t { operation, collective, transfer, host, wait };

[[nodiscard]] const char* to_text(PathKind k);  // "operator", "collective", "transfer", "host", "wait"

struct OnPath {
  PathKind kind = PathKind::operation;
  std::string name;  // "linear forward", "all_reduce (gradients)"
  std::string link;  // of what moves: the type of the link that it keeps busy longest, "host" for copies; else empty
  auto operator<=>(const OnPath&) const = default;
};

// The name of what has no row of its own.
inline constexpr const char* kOtherParts = "other";

// All stretches of the critical path that are alike, whichever layer and micro-batch they are of.
struct PathPart {
  OnPath what;
  base::Seconds time;
};

// The links of one type over which something moves.
struct LinkUse {
  std::string type;         // "nvlink"
  std::string name;         // of the busiest; the first among equals
  std::uint32_t count = 0;  // one-way links; a wire has one each way
  base::Bytes bytes;        // of the flows that cross such a link, each flow once: as CommunicationBytes::by_link
  // What keeps the links busy: every link that a flow crosses counts, and what a library leaves unused of it, too.
  base::Bytes carried;
  base::BytesPerSecond bandwidth;  // of all of them together
  double busy = 0;                 // carried / (bandwidth x iteration): the mean over the links
  double busiest = 0;              // the same of the busiest alone
  std::vector<double> over_time;   // `busy` of each of kUseIntervals equal parts of the iteration
};

inline constexpr int kUseIntervals = 100;

}  // namespace sim
