#include "search/megatron/grid_points.hpp"

#include <algorithm>

namespace search {
namespace {

// Megatron-LM's interleaved schedule is reported with few virtual stages per device (arXiv 2104.04473, sections 2.2 and 5.4.2).
constexpr int kChunks[] = {1, 2, 4};

std::vector<int> divisors(std::int64_t n, std::int64_t at_most) {
  std::vector<int> result;
  for (std::int64_t d = 1; d <= std::min(n, at_most); ++d)
    if (n % d == 0) result.push_back(static_cast<int>(d));
  return result;
}

int weighty_blocks(const pcg::Graph& g) { return static_cast<int>(std::ranges::count_if(g.blocks(), &pcg::Block::weighty)); }

// The micro-batches and chunks of one choice of degrees.
void add_schedules(const GridConfig& degrees, std::int64_t samples_of_replica, std::vector<GridConfig>& points) {
  for (int micro_batch : divisors(samples_of_replica, samples_of_replica))
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
  const int devices = problem.cluster.device_count();
  std::vector<GridConfig> points;
  for (int tensor : divisors(devices, devices))
    for (int pipeline : divisors(devices / tensor, std::max(1, weighty_blocks(problem.model)))) {
      GridConfig degrees;
      degrees.tensor = tensor;
      degrees.pipeline = pipeline;
      degrees.data = devices / tensor / pipeline;
      if (problem.training.global_batch % degrees.data != 0) continue;
      add_schedules(degrees, problem.training.global_batch / degrees.data, points);
    }
  return points;
}

}  // namespace search
