// Whole plans through the simulator: lowering, folding, engine, accounting. Building the plan is not timed.

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <string>

#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "search/grid/grid_plan.hpp"
#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "sim/simulation.hpp"
#include "topology/load.hpp"

namespace {

topology::Cluster cluster_of(const std::string& preset, int nodes) {
  const base::Yaml section = base::parse_yaml(fmt::format("{{preset: {}, nodes: {}}}", preset, nodes), "benchmark");
  return topology::load_cluster(topology::expand_cluster(section, "cluster"), "cluster");
}

void run(benchmark::State& state, const pcg::Plan& plan, const topology::Cluster& cluster, bool fold) {
  sim::SimulationConfig config;
  config.fold = fold;
  sim::SimulationResult result;
  for ([[maybe_unused]] auto _ : state) result = simulate_plan(plan, cluster, config);
  state.counters["activities"] = static_cast<double>(result.activities);
  state.counters["devices"] = result.devices;
  state.counters["simulated"] = result.simulated_devices;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(result.activities));
}

// BERT-Large, 4 samples per GPU, fp32, Adam, data parallel on Summit. Second argument: whether equal devices are folded.
void bert_large_data_parallel(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  const topology::Cluster cluster = cluster_of("summit", gpus / 6);
  const base::Yaml section = base::parse_yaml("{builtin: bert-large}", "benchmark");
  const pcg::Graph model = pcg::models::builtin("bert-large", 1);
  pcg::TrainingConfig training;
  training.global_batch = 4 * gpus;
  training.optimizer = pcg::Optimizer::adam;
  const sim::Oracle oracle(cluster);
  const pcg::Plan plan = search::data_parallel_plan({model, section, cluster, training, oracle}).value();
  run(state, plan, cluster, state.range(1) != 0);
}

// GPT-3 175B on 1,024 A100: tensor 8, pipeline 16, data 8, 96 micro-batches of one sample, as in Narayanan et al. (SC'21), folded.
void gpt3_175b_1024_gpus(benchmark::State& state) {
  const topology::Cluster cluster = cluster_of("dgx-a100-80gb", 128);
  const std::string text = "{transformer: {layers: 96, hidden: 12288, heads: 96, vocab: 51200, sequence_length: 2048}}";
  const base::Yaml section = base::parse_yaml(text, "benchmark");
  const pcg::Graph model = pcg::models::load_model(section, "model", ".", 1);
  pcg::TrainingConfig training;
  training.global_batch = 96 * 8;
  training.precision = pcg::Precision::fp16;
  training.optimizer = pcg::Optimizer::adam;
  training.framework = pcg::Framework::megatron;
  const sim::Oracle oracle(cluster);
  search::GridConfig grid;
  grid.tensor = 8;
  grid.pipeline = 16;
  grid.data = 8;
  grid.micro_batch = 1;
  const pcg::Plan plan = search::megatron_plan({model, section, cluster, training, oracle}, grid).value();
  run(state, plan, cluster, true);
}

}  // namespace

BENCHMARK(bert_large_data_parallel)
    ->ArgsProduct({{6, 48, 192, 768}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(5)
    ->ReportAggregatesOnly();
BENCHMARK(gpt3_175b_1024_gpus)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(3)->ReportAggregatesOnly();
