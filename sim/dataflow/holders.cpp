#include "sim/dataflow/holders.hpp"

#include <algorithm>

namespace sim {
namespace {

std::map<Box, std::vector<base::DeviceId>> blocks_of(const Layout& l) {
  std::map<Box, std::vector<base::DeviceId>> blocks;
  for (int p = 0; p < l.shape.shards(); ++p)
    blocks[box_of(l.shape, pcg::shard_index(l.shape, p))].push_back(l.devices[static_cast<std::size_t>(p)]);
  return blocks;
}

}  // namespace

double Box::volume() const {
  double v = 1;
  for (const Extent& e : dims) v *= static_cast<double>(std::max<std::int64_t>(0, e.end - e.begin));
  return v;
}

bool Box::contains(const Box& other) const {
  return std::ranges::equal(dims, other.dims,
                            [](const Extent& mine, const Extent& its) { return mine.begin <= its.begin && its.end <= mine.end; });
}

Box intersect(const Box& a, const Box& b) {
  Box r = a;
  for (std::size_t d = 0; d < r.dims.size(); ++d) {
    r.dims[d].begin = std::max(a.dims[d].begin, b.dims[d].begin);
    r.dims[d].end = std::max(r.dims[d].begin, std::min(a.dims[d].end, b.dims[d].end));
  }
  return r;
}

double overlap(const Box& a, const Box& b) {
  double v = 1;
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    const std::int64_t length = std::min(a.dims[d].end, b.dims[d].end) - std::max(a.dims[d].begin, b.dims[d].begin);
    if (length <= 0) return 0;
    v *= static_cast<double>(length);
  }
  return v;
}

Box box_of(const pcg::ParallelShape& shape, const pcg::ShardIndex& shard) {
  Box b;
  b.dims.reserve(shape.dims.size());
  for (std::size_t d = 0; d < shape.dims.size(); ++d) {
    const std::int64_t length = shape.dims[d].size / shape.dims[d].degree;
    b.dims.push_back({shard.block[d] * length, (shard.block[d] + 1) * length});
  }
  return b;
}

Holders::Holders(const Layout& l) : Holders(blocks_of(l)) {}

Holders::Holders(const std::map<Box, std::vector<base::DeviceId>>& blocks) {
  for (const auto& [box, devices] : blocks) {
    all_.push_back({box, devices});
    make_ascending(all_.back().devices);
  }
  if (all_.empty()) return;
  cuts_.resize(all_.front().box.dims.size());
  std::size_t cells = 1;
  for (std::size_t d = 0; d < cuts_.size(); ++d) {
    for (const Held& h : all_) cuts_[d].push_back(h.box.dims[d].begin);
    make_ascending(cuts_[d]);
    cells *= cuts_[d].size();
  }
  in_cell_.resize(cells);
  for (std::size_t k = 0; k < all_.size(); ++k)
    for (const std::size_t cell : cells_of(all_[k].box)) in_cell_[cell].push_back(static_cast<std::uint32_t>(k));
}

std::vector<std::size_t> Holders::cells_of(const Box& box) const {
  std::vector<std::size_t> cells{0};
  for (std::size_t d = 0; d < cuts_.size(); ++d) {
    const std::vector<std::int64_t>& cuts = cuts_[d];
    const auto after = std::ranges::upper_bound(cuts, box.dims[d].begin), end = std::ranges::lower_bound(cuts, box.dims[d].end);
    const auto begin = after == cuts.begin() ? after : std::prev(after);  // the cut in front of the box, or the first
    std::vector<std::size_t> finer;
    for (const std::size_t cell : cells)
      for (auto cut = begin; cut < end; ++cut) finer.push_back(cell * cuts.size() + static_cast<std::size_t>(cut - cuts.begin()));
    cells = std::move(finer);
  }
  return cells;
}

std::vector<std::uint32_t> Holders::touching(const Box& box) const {
  std::vector<std::uint32_t> found;
  if (all_.empty()) return found;
  for (const std::size_t cell : cells_of(box)) found.insert(found.end(), in_cell_[cell].begin(), in_cell_[cell].end());
  make_ascending(found);
  return found;
}

}  // namespace sim
