#include "search/cost/replay.hpp"

#include <algorithm>

#include "pcg/plan/plan.hpp"

namespace search {
namespace {

constexpr auto kUnused = static_cast<std::size_t>(-1);  // a device without kernels

std::vector<std::size_t> ranks_of_devices(const sim::Program& program, const pcg::Plan& plan) {
  std::vector<std::size_t> rank;
  std::vector<bool> seen(program.device_sets.size(), false);
  for (std::size_t s = 0; s < program.forward.size(); ++s)
    for (const sim::Item& item : program.block(program.forward[s]).items) {
      const auto* kernels = std::get_if<sim::Compute>(&item.work);
      // Hundreds of items of a stage share a set.
      if (kernels == nullptr || seen[kernels->devices.value]) continue;
      seen[kernels->devices.value] = true;
      for (const base::DeviceId d : program.device_sets[kernels->devices.value]) {
        if (d.value >= rank.size()) rank.resize(d.value + 1, kUnused);
        if (rank[d.value] == kUnused) rank[d.value] = static_cast<std::size_t>(pcg::rank_of(plan, static_cast<int>(s)));
      }
    }
  return rank;
}

}  // namespace

RankMap::RankMap(const sim::Program& program, const pcg::Plan& plan) : program_(&program), of_device_(ranks_of_devices(program, plan)) {
  extend();
}

void RankMap::extend() {
  for (std::size_t s = of_set_.size(); s < program_->device_sets.size(); ++s)
    of_set_.push_back(of_device_[program_->device_sets[s].front().value]);
  for (std::size_t m = of_movement_.size(); m < program_->movements.size(); ++m) of_movement_.push_back(ranks_of(program_->movements[m]));
}

std::vector<std::size_t> RankMap::ranks_of(const sim::Movement& movement) const {
  std::vector<std::size_t> ranks;
  for (const sim::Round& round : movement.rounds)
    for (const sim::Transfer& t : round)
      for (const base::DeviceId d : t.group) {
        const std::size_t rank = of_device_[d.value];
        const auto at = std::ranges::lower_bound(ranks, rank);
        if (at == ranks.end() || *at != rank) ranks.insert(at, rank);
      }
  return ranks;
}

}  // namespace search
