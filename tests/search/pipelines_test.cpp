// Stages of pipelines: how a chain is cut, and plans whose stages are mapped each by itself.
#include "search/solve/stages/pipelines.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <limits>

#include "pcg/evaluator/equivalence.hpp"
#include "problem.hpp"
#include "search/solve/stages/stage_cuts.hpp"
#include "tests/about.hpp"

namespace {

const std::array kAnyShape{search::StageShape{}};
constexpr double kNever = std::numeric_limits<double>::infinity();

// Parts of a second of work each, shared out evenly; each further device of a block costs so much.
search::StageQuestion even(std::size_t parts, int devices, std::vector<int> sizes, double each_further) {
  return {.parts = parts,
          .devices = devices,
          .machine = 8,
          .sizes = std::move(sizes),
          .most_stages = 16,
          .micro_batches = 8,
          .stays_full = false,
          .seconds =
              [=](const search::StageRun& r) {
                return static_cast<double>(r.end - r.begin) / r.block.size + each_further * (r.block.size - 1);
              },
          .most_after = [](const search::StageRun&) { return 16; }};
}

std::optional<search::StageCuts> cheapest_stages(const search::StageQuestion& q) {
  const search::SearchContext no_clock;
  return search::cheapest_stages(q, search::Budget(no_clock, base::Seconds(1)));
}

// With so many stages done and so many left.
double brute_force(const search::StageQuestion& q, std::size_t begin, int device, std::size_t left, double sum, double slowest,
                   std::size_t done = 0) {
  if (begin == q.parts && device == q.devices) return q.stays_full ? slowest * q.micro_batches : sum + slowest * (q.micro_batches - 1);
  double best = kNever;
  if (left == 0) return best;
  for (const search::DeviceBlock b : search::stage_blocks(q))
    for (std::size_t end = begin + 1; b.start == device && end <= q.parts; ++end) {
      const search::StageRun run{begin, end, b};
      if ((end == q.parts) != (b.start + b.size == q.devices)) continue;
      if (q.most_after(run) < static_cast<int>(left) - 1) continue;
      if (q.equally_many && (end - begin) * (left + done) != q.parts) continue;
      const double s = q.seconds(run);
      best = std::min(best, brute_force(q, end, device + b.size, left - 1, sum + s, std::max(slowest, s), done + 1));
    }
  return best;
}

// A layer's weights weigh much, what goes from layer to layer little: replicas are slow, stages quick.
pcg::Graph heavy_layers(int count) {
  pcg::GraphBuilder g("heavy");
  auto x = g.input("x", {{64, 1024}, pcg::Element::real});
  for (int l = 0; l < count; ++l) x = g.add(fmt::format("layer{}", l), pcg::Linear{.out = 1024}, {x});
  return std::move(g).build();
}

search::PipelineSetting of_micro_batches(int count) {
  search::PipelineSetting setting;
  setting.micro_batches = count;
  return setting;
}

pcg::Plan pipeline(const test::Question& q, const search::PipelineSetting& setting) {
  const search::Problem problem = q.problem();
  static const search::SearchContext kContext;
  search::OperatorCatalog catalog(problem, 2);
  search::BranchShapes shapes;
  const pcg::Graph graph = pcg::with_batch(q.model, q.training.global_batch / setting.micro_batches);
  return search::pipeline_plans(problem, graph, setting, kAnyShape, {.parts = {.fewest = 1}}, catalog, shapes,
                                search::Budget(kContext, base::Seconds(1)))
      .at(0)
      .plan;
}

}  // namespace

TEST_CASE("a pipeline takes all stages once and the slowest once more for each further micro-batch") {
  // Four stages of a second: 4 + 7. All devices on every part: 8 x (1 + 3 x 0.5). Two stages: 2 x 1.5 + 7 x 1.5.
  const auto cuts = cheapest_stages(even(4, 4, {1, 2, 4}, 0.5));
  REQUIRE(cuts);
  CHECK(cuts->seconds == test::about(11));
  CHECK(cuts->stages.size() == 4);
  // One that stays full does not pay for the stages before: 8 x 1.
  search::StageQuestion full = even(4, 4, {1, 2, 4}, 0.5);
  full.stays_full = true;
  CHECK(cheapest_stages(full)->seconds == test::about(8));
  // Where blocks cost nothing, the best is one stage: 8 x 1, as no one waits.
  const auto whole = cheapest_stages(even(4, 4, {1, 2, 4}, 0));
  CHECK(whole->stages.size() == 1);
  CHECK(whole->seconds == test::about(8));
}

TEST_CASE("a stage that keeps too many micro-batches is no stage") {
  search::StageQuestion q = even(4, 4, {1, 2, 4}, 0.5);
  q.most_after = [](const search::StageRun& r) { return r.block.size == 1 ? 1 : 16; };  // single devices hold two micro-batches
  const auto cuts = cheapest_stages(q);
  REQUIRE(cuts);
  // 2 devices, 1, 1: 1 second each and 1.5 for the pair with two parts.
  CHECK(cuts->stages.front().block.size == 2);
  q.most_after = [](const search::StageRun&) { return -1; };
  CHECK(!cheapest_stages(q));
}

TEST_CASE("blocks inside a machine do not reach into the next") {
  search::StageQuestion q = even(4, 12, {2, 3, 6, 12}, 0);
  q.machine = 6;
  for (const search::DeviceBlock b : search::stage_blocks(q)) {
    CAPTURE(b.start);
    CAPTURE(b.size);
    CHECK((b.start / 6 == (b.start + b.size - 1) / 6 || (b.start == 0 && b.size == 12)));
  }
}

TEST_CASE("stages are within a hundredth of the best of all") {
  const bool ok = rc::check([] {
    const auto parts = *rc::gen::inRange<std::size_t>(1, 5);
    const auto numbers = *rc::gen::container<std::vector<int>>(200, rc::gen::inRange(1, 100));
    const auto holds = *rc::gen::container<std::vector<int>>(50, rc::gen::inRange(-1, 4));
    search::StageQuestion q = even(parts, 4, {1, 2, 4}, 0);
    q.machine = *rc::gen::element(2, 4);
    q.micro_batches = *rc::gen::inRange(1, 10);
    q.stays_full = *rc::gen::arbitrary<bool>();
    q.equally_many = *rc::gen::arbitrary<bool>();
    const auto number = [](const search::StageRun& r) {
      return r.begin * 40 + r.end * 8 + static_cast<std::size_t>(r.block.start * 2 + r.block.size);
    };
    q.seconds = [&](const search::StageRun& r) { return static_cast<double>(numbers[number(r) % numbers.size()]); };
    q.most_after = [&](const search::StageRun& r) { return holds[number(r) % holds.size()]; };
    double best = kNever;
    for (std::size_t stages = 1; stages <= parts; ++stages) best = std::min(best, brute_force(q, 0, 0, stages, 0, 0));
    const auto cuts = cheapest_stages(q);
    RC_ASSERT(cuts.has_value() == (best < kNever));
    if (cuts) RC_ASSERT(cuts->seconds >= best - 1e-9 && cuts->seconds <= best * 1.01 + 1e-9);
  });
  CHECK(ok);
}

TEST_CASE("layers with much weight and little to hand on become stages") {
  test::Question q("{builtin: mlp-mnist}", 4, 1, 64);
  q.model = heavy_layers(8);
  const pcg::Plan plan = pipeline(q, of_micro_batches(8));
  CHECK(plan.stages == 4);
  CHECK(plan.micro_batches == 8);
  CHECK(pcg::violations(plan).empty());
  // No device holds another stage's weights: nothing is added up, and 7 hand-overs of 8 x 1,024 numbers go each way in 3 places.
  const sim::SimulationResult r = q.oracle.plan(plan);
  CHECK(r.bytes.total.value() == test::about(2 * 3 * 64 * 1024 * 4));
  const search::Attempt<pcg::Plan> replicas = search::data_parallel_plan(q.problem(), {});
  REQUIRE(replicas);
  CHECK(r.iteration_time < q.oracle.plan(*replicas).iteration_time);
}

TEST_CASE("a pipeline of cut operators computes what its model computes") {
  test::Question q(test::kSmallGpt, 2, 4, 16);
  const pcg::Plan plan = pipeline(q, of_micro_batches(4));
  CHECK(pcg::violations(plan).empty());
  CHECK(plan.micro_batches == 4);
  CHECK(pcg::check_equivalence(plan, q.model, 3, 1).equivalent);
}

TEST_CASE("where no stages fit, those that come closest are given") {
  test::Question q("{builtin: mlp-mnist}", 4, 1, 64);
  q.model = heavy_layers(8);
  const sim::MemoryUse free = q.oracle.memory(pipeline(q, of_micro_batches(8)));
  // Less than the state of two layers (16 bytes a parameter) beside the workspace: nothing fits, and what comes closest is given.
  const double gib = (free.workspace.value() + 20e6) / (1 << 30);
  const topology::Cluster small = test::switched(4, 1, gib);
  const sim::Oracle oracle(small);
  const search::Problem tight{q.model, q.section, small, q.training, oracle};
  static const search::SearchContext kContext;
  search::OperatorCatalog catalog(tight, 2);
  search::BranchShapes shapes;
  const auto plans = search::pipeline_plans(tight, pcg::with_batch(q.model, 8), of_micro_batches(8), kAnyShape, {.parts = {.fewest = 1}},
                                            catalog, shapes, search::Budget(kContext, base::Seconds(1)));
  REQUIRE(plans.size() == 1);
  CHECK(!oracle.memory(plans[0].plan).fits());
}

TEST_CASE("numbers of micro-batches divide the batch") {
  CHECK(search::candidate_micro_batches(96) == std::vector<int>{2, 4, 8, 16, 32, 48, 96});
  CHECK(search::candidate_micro_batches(1).empty());
  CHECK(search::candidate_micro_batches(7) == std::vector<int>{7});
}
