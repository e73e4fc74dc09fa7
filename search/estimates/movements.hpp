#pragma once
// Which collective turns one layout of a tensor into another, among which devices: a rough classification for estimates; the simulator
// moves the tiles themselves. Private to this folder.

#include <functional>
#include <optional>
#include <vector>

#include "pcg/operators/tensor.hpp"
#include "pcg/sharding/parallel_shape.hpp"
#include "sim/collectives/collective.hpp"

namespace search {

struct Movement {
  sim::CollectiveKind kind = sim::CollectiveKind::all_reduce;
  base::Bytes bytes;                  // S of nccl-tests
  std::vector<base::DeviceId> group;  // of one of the groups that move at once
};

// `devices[point]` holds shard `shard(point)` of `from`. Nothing when each device has what it needs.
[[nodiscard]] std::optional<Movement> movement(const pcg::ParallelShape& from, const pcg::ParallelShape& to, pcg::Precision precision,
                                               const std::vector<base::DeviceId>& devices, const std::function<int(int)>& shard);

}  // namespace search
