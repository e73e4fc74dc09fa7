#pragma once
// A chain of parts cut into the stages of a pipeline, each on a block of devices of its own: the dynamic program of Alpa (Zheng et al.,
// OSDI'22, section 5.2) over every block that devices are cut into, instead of submeshes of powers of two.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "search/problem/budget.hpp"
#include "search/solve/operators/strategies.hpp"

namespace search {

// Parts begin .. end - 1 of a chain as a stage.
struct StageRun {
  std::size_t begin = 0, end = 0;
  DeviceBlock block;
  bool operator==(const StageRun&) const = default;
};

struct StageCuts {
  std::vector<StageRun> stages;
  double seconds = 0;  // of an iteration
  double sum = 0;      // seconds of a micro-batch in all stages
};

// Stages as they are asked for, in order; an empty list: as is best.
struct GivenStages {
  std::vector<int> devices, parts;
  [[nodiscard]] std::size_t count() const { return std::max(devices.size(), parts.size()); }
};

struct StageQuestion {
  std::size_t parts = 1;
  int devices = 1, machine = 1;  // all, and those of a machine
  std::vector<int> sizes;        // of blocks; those inside a machine do not reach into the next, larger ones are whole machines
  std::size_t fewest_stages = 1, most_stages = 1;
  GivenStages given;          // as many as fewest_stages and most_stages, where it is not empty
  bool equally_many = false;  // every stage has as many parts: "equal layer" of Alpa's section 8.3
  int micro_batches = 1;
  // The pipeline stays full from one iteration to the next (PipeDream-2BW): an iteration takes micro_batches times the slowest stage. Else
  // it is emptied (1F1B): all stages once, and the slowest micro_batches - 1 times more.
  bool stays_full = false;
  // Both are asked about runs that may be a stage: those that begin with the first part, and no others, begin with the first device, and
  // those that end with the last part, and no others, end with the last device.
  std::function<double(const StageRun&)> seconds;  // of a micro-batch, forward and backward; infinity: not so
  std::function<int(const StageRun&)>
      most_after;  // how many stages may come after it, as many micro-batches as are kept; -1: it never fits
};

// Blocks of the sizes asked for at every place where they may begin.
[[nodiscard]] std::vector<DeviceBlock> stage_blocks(const StageQuestion& q);

// Returns: the cheapest stages that use all devices in order; the slowest stage is a hundredth slower than it need be, at most. nullopt: no
// stages are possible.
// Cost: O(parts^2 x blocks) for each of the slowest stages that are tried, which grow by a hundredth; times stages where their number or
// most_after binds.
[[nodiscard]] std::optional<StageCuts> cheapest_stages(const StageQuestion& q, const Budget& budget);

}  // namespace search
