#pragma once
// Which activity of a forecast each activity of a measured trace is.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "scenarios/comparison/timeline.hpp"

namespace comparison {

struct Alignment {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> counterpart;  // one per activity of the measured device: index into the forecast's; kNone: not aligned
  std::vector<std::string_view> why;       // one per activity: why it is not aligned, a literal; empty where it is
};

// Whether a product of these sizes (batch, m, n, k) does the work of one of those: in any order of m, n and k.
[[nodiscard]] bool is_same_size(const std::array<std::int64_t, 4>& a, const std::array<std::int64_t, 4>& b);

// Products and attention are aligned by pass and sizes, in any order of m, n and k, as gradients exchange them; a product whose sizes are
// those of several of the forecast's side by side is these, fused; of one size no more are aligned than the forecast has. Where a trace has
// no sizes, and for all other kinds, pass and kind decide; kinds that read and write element by element stand in for each other.
// Collectives are aligned by kind, by pass where it is known. Of equals the first is the first, and so on in proportion: that is how layers
// repeat. Nothing else is aligned. Cost: O(activities log activities + distinct sizes^2 for each size that the forecast does not have).
[[nodiscard]] Alignment align(const DeviceTimeline& measured, const DeviceTimeline& predicted);

}  // namespace comparison
