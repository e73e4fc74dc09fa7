#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "base/divisors.hpp"
#include "search/solve/stages/pipelines.hpp"

namespace search {
namespace {

// Logarithm of the number of micro-batches that is tried first: 16 for each of 16 stages, so that a sixteenth of the time is a bubble.
constexpr double kLikelyGood = 8;

// Seconds of `rounds` micro-batches one after another on equally long stages of this size, if every operator runs in its quickest
// plain strategy and nothing moves; with the update once, or without it.
double seconds_of_even_rounds(int rounds, bool with_update, int size, const pcg::Graph& graph, const PipelineSetting& setting,
                              OperatorCatalog& catalog) {
  double seconds = 0;
  for (const KindNumber k : catalog.kinds_of(graph))
    if (k != kSource)
      seconds += catalog.plain_seconds(k, size,
                                       {.synchronisation = 0,
                                        .per_micro_batch = with_update ? 1.0 / rounds : 0.0,
                                        .recomputes = setting.recompute == pcg::Recompute::full});
  return seconds * rounds * size / catalog.devices();
}

// Stages of ZeRO, and whether whole gradients are added up over the micro-batches.
std::vector<std::pair<int, bool>> updates(const SettingsConfig& config) {
  if (config.zero.value_or(config.update_sharding ? 2 : 0) == 0) return {{0, false}};
  if (config.zero) return {{*config.zero, true}, {*config.zero, false}};
  return {{0, false}, {2, true}};
}

}  // namespace

std::vector<int> stage_sizes(const topology::Cluster& cluster, Submeshes submeshes, std::size_t most_stages) {
  const int devices = cluster.device_count(), machine = static_cast<int>(cluster.domain_devices(0).size());
  std::vector<int> sizes;
  for (const std::int64_t divisor : base::divisors(devices)) {
    const auto size = static_cast<int>(divisor);
    const bool is_in_shape = submeshes == Submeshes::all || size % machine == 0 || std::has_single_bit(static_cast<unsigned>(size));
    if (is_in_shape && static_cast<std::size_t>(devices / size) < 2 * most_stages && (machine % size == 0 || size % machine == 0))
      sizes.push_back(size);
  }
  return sizes;
}

double least_of_stages(int size, const pcg::Graph& graph, const PipelineSetting& setting, OperatorCatalog& catalog) {
  const int filling = setting.schedule == pcg::ScheduleKind::two_bw ? 0 : catalog.devices() / size - 1;
  return std::max(seconds_of_even_rounds(setting.micro_batches + filling, false, size, graph, setting, catalog),
                  seconds_of_even_rounds(setting.micro_batches, true, size, graph, setting, catalog));
}

std::vector<int> candidate_micro_batches(std::int64_t global_batch) {
  constexpr int kMost = 10;  // power of two
  std::vector<std::int64_t> all = base::divisors(global_batch);
  std::erase_if(all, [](std::int64_t m) { return m > 2 << kMost; });
  std::set<int> found;
  for (int power = 1; power <= kMost; ++power)
    found.insert(static_cast<int>(*std::ranges::min_element(all, {}, [&](std::int64_t m) { return std::abs(std::log2(m) - power); })));
  found.erase(1);
  return {found.begin(), found.end()};
}

std::vector<PipelineSetting> candidate_settings(std::int64_t global_batch, const SettingsConfig& config) {
  std::vector<int> counts{config.micro_batches};
  if (config.micro_batches == 0) {
    counts = candidate_micro_batches(global_batch);
    counts.push_back(1);
    std::ranges::stable_sort(counts, {}, [](int m) { return std::abs(std::log2(m) - kLikelyGood); });
  }
  std::vector<PipelineSetting> settings;
  for (const int count : counts)
    for (const pcg::Recompute again : {pcg::Recompute::none, pcg::Recompute::full})
      for (const auto& [zero, accumulates] : updates(config)) {
        if (again == pcg::Recompute::full && !config.recompute) continue;
        PipelineSetting setting{.micro_batches = count, .recompute = again, .zero = zero};
        setting.memory.zero.accumulates = accumulates;
        settings.push_back(std::move(setting));
      }
  return settings;
}

double least_seconds(const Problem& problem, const pcg::Graph& graph, const PipelineSetting& setting, OperatorCatalog& catalog) {
  double least = std::numeric_limits<double>::infinity();
  for (const int size : stage_sizes(problem.cluster, Submeshes::all, kMostStages))
    least = std::min(least, seconds_of_even_rounds(setting.micro_batches, true, size, graph, setting, catalog));
  return least;
}

}  // namespace search
