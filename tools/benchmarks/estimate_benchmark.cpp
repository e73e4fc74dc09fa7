// The estimates by which planners rank candidates: time for each, and how planners' costs and these rank plans of each planner's space
// against the simulator.

#include <benchmark/benchmark.h>

#include <string>

#include "tests/search/random_plans.hpp"

namespace {

struct Grid {
  const char* model;
  const char* cluster;
  std::int64_t batch;
  pcg::Precision precision;
};

constexpr Grid kGrids[] = {
    {"{builtin: gpt3-350m}", "{preset: dgx-a100-80gb, nodes: 2}", 64, pcg::Precision::fp16},
    {"{builtin: bert-large}", "{preset: summit, nodes: 2}", 48, pcg::Precision::fp32},
    {"{builtin: moe-380m}", "{preset: aws-p3.16xlarge, nodes: 1}", 32, pcg::Precision::fp16},
    {"{builtin: resnext-50}", "{preset: summit, nodes: 2}", 48, pcg::Precision::fp32},
};

// One iteration estimates the grid once, with an oracle that has seen nothing; plans are built beside the clock.
void estimate_grid(benchmark::State& state) {
  const Grid& g = kGrids[state.range(0)];
  test::GridQuestion q(g.model, g.cluster, g.batch);
  q.training.precision = g.precision;
  std::int64_t estimates = 0;
  for ([[maybe_unused]] auto _ : state) {
    const sim::Oracle fresh(q.cluster);
    const search::Problem problem{q.model, q.section, q.cluster, q.training, fresh};
    state.PauseTiming();
    test::each_plan(problem, [&](const pcg::Plan& plan, search::Estimator& estimator) {
      state.ResumeTiming();
      benchmark::DoNotOptimize(estimator.time(sim::variant_of(plan)));
      state.PauseTiming();
      ++estimates;
    });
    state.ResumeTiming();
  }
  state.SetLabel(g.model);
  state.counters["estimates"] = static_cast<double>(estimates) / static_cast<double>(state.iterations());
  state.counters["time_per_estimate"] =
      benchmark::Counter(static_cast<double>(estimates), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Arguments: a model of kGrids, and a space. Own costs and replays: Spearman's correlation, and the mean of cost / simulated time - 1.
void rank_space(benchmark::State& state) {
  const Grid& g = kGrids[state.range(0)];
  const auto space = static_cast<test::Space>(state.range(1));
  test::GridQuestion q(g.model, g.cluster, g.batch);
  q.training.precision = g.precision;
  test::Judgements judged;
  for ([[maybe_unused]] auto _ : state) judged = test::judge(q.problem(), test::draw(space, q.problem(), 100));
  state.SetLabel(std::string(g.model) + " " + test::to_text(space));
  state.counters["own_rank"] = judged.own.rank;
  state.counters["own_error"] = judged.own.error;
  state.counters["own_above_least"] = judged.own.above_least;
  state.counters["own_above_simulated"] = judged.own.above_simulated;
  state.counters["replay_above_least"] = judged.replay.above_least;
  state.counters["replay_above_simulated"] = judged.replay.above_simulated;
  state.counters["replay_rank"] = judged.replay.rank;
  state.counters["replay_error"] = judged.replay.error;
}

// How much quicker a pipeline of the grid is with the best split of its layers than with a rough one, at most: by estimates, simulated.
void balance_stages(benchmark::State& state) {
  const Grid& g = kGrids[state.range(0)];
  test::GridQuestion q(g.model, g.cluster, g.batch);
  q.training.precision = g.precision;
  const search::Problem problem = q.problem();
  double estimated = 1, simulated = 1;
  for ([[maybe_unused]] auto _ : state) {
    for (int pipeline = 2; pipeline <= q.cluster.device_count(); ++pipeline)
      for (const int chunks : {1, 2}) {
        search::GridConfig c{.pipeline = pipeline, .data = q.cluster.device_count() / pipeline, .chunks = chunks, .balanced_stages = true};
        c.micro_batch = 1;
        if (chunks > 1) c.schedule = pcg::ScheduleKind::interleaved;
        search::GridPlanner planner(problem);
        const auto rough = search::megatron_plan(planner, c, search::Balance::rough), whole = search::megatron_plan(planner, c);
        if (!rough || !whole) continue;
        estimated = std::max(estimated, search::estimate(*rough, q.oracle) / search::estimate(*whole, q.oracle));
        simulated = std::max(simulated, q.oracle.plan(*rough).iteration_time / q.oracle.plan(*whole).iteration_time);
      }
  }
  state.SetLabel(g.model);
  state.counters["estimated"] = estimated;
  state.counters["simulated"] = simulated;
}

}  // namespace

BENCHMARK(balance_stages)->DenseRange(0, 3)->Unit(benchmark::kSecond)->Iterations(1);
BENCHMARK(estimate_grid)->DenseRange(0, 3)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(rank_space)->ArgsProduct({{0, 1, 2, 3}, {0, 1, 2, 3}})->Unit(benchmark::kSecond)->Iterations(1);
