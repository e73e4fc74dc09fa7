// Planning one collective of a large group: what each size, group and choice of algorithm of a search costs once.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/yaml/parse.hpp"
#include "sim/collectives/plan_collective.hpp"
#include "topology/load.hpp"

namespace {

void all_reduce(benchmark::State& state) {
  const auto nodes = state.range(0);
  const topology::Cluster cluster = topology::load_cluster(
      topology::expand_cluster(base::parse_yaml("{preset: dgx-a100-80gb, nodes: " + std::to_string(nodes) + "}", "benchmark"), "cluster"),
      "cluster");
  std::vector<topology::DeviceId> group;
  for (std::size_t d = 0; d < static_cast<std::size_t>(8 * nodes); ++d) group.emplace_back(d);
  std::size_t flows = 0;
  for ([[maybe_unused]] auto _ : state) {
    flows = 0;
    for (const sim::CollectivePhase& p : sim::plan_collective(sim::CollectiveKind::all_reduce, base::Bytes(1e9), group, cluster, {}).phases)
      flows += p.flows.size();
  }
  state.counters["flows"] = static_cast<double>(flows);
}

}  // namespace

BENCHMARK(all_reduce)->Arg(8)->Arg(128)->Unit(benchmark::kMillisecond);
