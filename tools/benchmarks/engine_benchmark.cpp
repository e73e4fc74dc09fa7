// Activities per second of the engine on a training iteration, and of the same iteration as one SimGrid DAG built up front.

#include <benchmark/benchmark.h>

#include <cmath>

#include "base/check.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "tools/benchmarks/dag_up_front.hpp"
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

void dag_up_front(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  benchmarks::DagRun run;
  for ([[maybe_unused]] auto _ : state) run = benchmarks::run_dag_up_front(gpus, kLayers);
  const double ours = simulate(benchmarks::iteration_graph(gpus, kLayers)).makespan.value();
  BASE_CHECK(std::abs(run.makespan.value() / ours - 1) < 1e-6, "up front {} s, engine {} s", run.makespan.value(), ours);
  state.counters["activities"] = static_cast<double>(run.activities);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(run.activities));
}

}  // namespace

BENCHMARK(engine)->Arg(6)->Arg(48)->Arg(192)->Arg(768)->Unit(benchmark::kMillisecond)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK(dag_up_front)->Arg(6)->Arg(48)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK(dag_up_front)->Arg(192)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(3)->ReportAggregatesOnly();
