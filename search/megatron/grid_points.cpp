#include "search/megatron/grid_points.hpp"

#include <algorithm>
#include <map>
#include <span>

namespace search {
namespace {

// Megatron-LM's interleaved schedule is reported with few virtual stages per device (arXiv 2104.04473, sections 2.2 and 5.4.2).
constexpr int kChunks[] = {1, 2, 4};

// Ascending. Cost: O(sqrt n).
std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    small.push_back(d);
    if (d * d != n) large.push_back(n / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

int weighty_blocks(const pcg::Graph& g) { return static_cast<int>(std::ranges::count_if(g.blocks(), &pcg::Block::weighty)); }

// The micro-batches and chunks of one choice of degrees.
void add_schedules(const GridConfig& degrees, std::int64_t samples_of_replica, std::span<const std::int64_t> micro_batches,
                   std::vector<GridConfig>& points) {
  for (const std::int64_t micro_batch : micro_batches)
    for (int chunks : kChunks) {
      if (chunks > 1 && (degrees.pipeline == 1 || samples_of_replica / micro_batch % degrees.pipeline != 0)) continue;
      GridConfig c = degrees;
      c.micro_batch = micro_batch;
      c.chunks = chunks;
      c.schedule = chunks > 1 ? pcg::ScheduleKind::interleaved : pcg::ScheduleKind::one_f_one_b;
      points.push_back(c);
    }
}

}  // namespace

std::vector<GridConfig> grid_points(const Problem& problem) {
  const int devices = problem.cluster.device_count(), stages = std::max(1, weighty_blocks(problem.model));
  std::map<std::int64_t, std::vector<std::int64_t>> of_replica;  // divisors of its samples
  std::vector<GridConfig> points;
  for (const std::int64_t tensor : divisors(devices))
    for (const std::int64_t pipeline : divisors(devices / tensor)) {
      if (pipeline > stages) break;
      GridConfig degrees;
      degrees.tensor = static_cast<int>(tensor);
      degrees.pipeline = static_cast<int>(pipeline);
      degrees.data = static_cast<int>(devices / tensor / pipeline);
      if (problem.training.global_batch % degrees.data != 0) continue;
      const std::int64_t samples = problem.training.global_batch / degrees.data;
      const auto [micro_batches, is_new] = of_replica.try_emplace(samples);
      if (is_new) micro_batches->second = divisors(samples);
      add_schedules(degrees, samples, micro_batches->second, points);
    }
  return points;
}

}  // namespace search
