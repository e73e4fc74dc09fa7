#include "search/estimates/movements.hpp"

#include <algorithm>

namespace search {
namespace {

// How many neighbouring blocks of each dim become one.
std::vector<int> merged(const pcg::ParallelShape& from, const pcg::ParallelShape& to) {
  std::vector<int> ratios;
  for (std::size_t d = 0; d < from.dims.size(); ++d) ratios.push_back(std::max(1, from.dims[d].degree / to.dims[d].degree));
  return ratios;
}

bool is_cut_finer(const pcg::ParallelShape& from, const pcg::ParallelShape& to) {
  for (std::size_t d = 0; d < from.dims.size(); ++d)
    if (to.dims[d].degree > from.dims[d].degree) return true;
  return false;
}

}  // namespace

std::optional<Movement> movement(const pcg::ParallelShape& from, const pcg::ParallelShape& to, pcg::Precision precision,
                                 const std::vector<base::DeviceId>& devices, const std::function<int(int)>& shard) {
  const bool sums = from.sum > to.sum;
  const std::vector<int> ratios = merged(from, to);
  const bool gathers = std::ranges::any_of(ratios, [](int r) { return r > 1; });
  if (!sums && !gathers) return std::nullopt;

  Movement m;
  m.bytes = pcg::bytes_of(from.shard(), precision);
  if (sums) {
    m.kind = is_cut_finer(from, to) ? sim::CollectiveKind::reduce_scatter : sim::CollectiveKind::all_reduce;
  } else if (is_cut_finer(from, to)) {
    m.kind = sim::CollectiveKind::all_to_all;
  } else {
    m.kind = sim::CollectiveKind::all_gather;
    for (int r : ratios) m.bytes = m.bytes * r;
  }
  // The group of the first shard: those that hold the other summands, or the blocks that merge with its own.
  for (std::size_t point = 0; point < devices.size(); ++point) {
    const int number = shard(static_cast<int>(point));
    if (number < 0) continue;  // no shard of this tensor
    const pcg::ShardIndex i = pcg::shard_index(from, number);
    bool inside = i.copy == 0 && (sums || i.sum == 0);
    for (std::size_t d = 0; d < ratios.size(); ++d) inside = inside && i.block[d] < (sums ? 1 : ratios[d]);
    if (inside && std::ranges::find(m.group, devices[point]) == m.group.end()) m.group.push_back(devices[point]);
  }
  if (m.group.size() < 2) return std::nullopt;
  return m;
}

}  // namespace search
