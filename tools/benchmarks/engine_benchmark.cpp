// Activities per second of the engine on a training iteration.

#include <benchmark/benchmark.h>

#include "sim/engine/simgrid_engine.hpp"
#include "tools/benchmarks/iteration_graph.hpp"

namespace {

constexpr int kLayers = 100;

void engine(benchmark::State& state) {
  const sim::TaskGraph graph = benchmarks::iteration_graph(static_cast<int>(state.range(0)), kLayers);
  std::uint64_t activities = 0;
  for ([[maybe_unused]] auto _ : state) activities = simulate(graph).activities;
  state.counters["activities"] = static_cast<double>(activities);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(activities));
}

}  // namespace

BENCHMARK(engine)->Arg(6)->Arg(48)->Arg(192)->Arg(768)->Unit(benchmark::kMillisecond)->Repetitions(5)->ReportAggregatesOnly();
