// Bounds of plans from sketches of their layers, and the ranking that they make, against what the plans take and need.
#include "search/planners/megatron/plan_bound.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "problem.hpp"
#include "search/cost/estimate.hpp"
#include "search/planners/megatron/ranking.hpp"
#include "sim/memory/model_states.hpp"
#include "tests/about.hpp"

namespace {

// Kernels of wide layers count; a gap of 10 between the links of a node and the network.
const std::string kWideGpt =
    "{transformer: {layers: 4, hidden: 1024, heads: 4, ffn: 4096, vocab: 4096, sequence_length: 512, causal: true, attention: flash}}";
// Dense layers and layers of experts take turns.
const std::string kTurns =
    "{transformer: {layers: 4, hidden: 512, heads: 4, ffn: 2048, vocab: 4096, sequence_length: 256, causal: true, attention: flash, "
    "experts: 4, expert_every: 2}}";
const std::string kWideMoe =
    "{transformer: {layers: 4, hidden: 1024, heads: 4, ffn: 2048, vocab: 4096, sequence_length: 512, causal: true, attention: flash, "
    "experts: 4, top_k: 2}}";

struct Grid {
  std::string model;
  int nodes, gpus;
  std::int64_t batch;
  std::string faults;
};
const std::vector<Grid> kGrids = {{test::kSmallGpt, 1, 4, 8}, {test::kSmallMoe, 2, 2, 4},
                                  {kWideGpt, 2, 2, 16},       {kWideMoe, 2, 4, 16},
                                  {kTurns, 2, 2, 8},          {kWideGpt, 2, 2, 16, "{node: 1, gpu: gpu0, slowdown: 1.5}"}};

struct Asked {
  test::Question question;
  topology::Cluster cluster;
  sim::Oracle oracle;
  search::Problem problem;
  search::PlanBounds bounds;

  explicit Asked(const Grid& g)
      : question(g.model, g.nodes, g.gpus, g.batch),
        cluster(test::switched(g.nodes, g.gpus, 64, g.faults)),
        oracle(cluster),
        problem{question.model, question.section, cluster, question.training, oracle},
        bounds(problem, search::recomputations_of(question.model)) {}
};

using Look = std::function<void(const search::GridConfig&, const pcg::Plan&, double estimate)>;

// Every plan of the grid that can be built, with its recomputation and its ZeRO stage.
void for_each_plan(Asked& asked, const Look& look) {
  search::GridPlanner planner(asked.problem);
  for (search::GridConfig c : search::grid_points(asked.problem)) {
    const auto built = search::megatron_plan(planner, c);
    if (!built) continue;
    search::Estimator estimator(*built, asked.oracle);
    for (const pcg::Recompute r : search::recomputations_of(asked.problem.model))
      for (int zero = 0; zero < (c.data * c.context > 1 ? 4 : 1); ++zero) {
        c.recompute = r;
        c.zero = zero;
        pcg::Plan plan = *built;
        plan.recompute = r;
        plan.zero = zero;
        look(c, plan, estimator.time({r, zero}).value());
      }
  }
}

search::Ranking ranking_of(Asked& asked) {
  const search::SearchContext context;
  search::Budget budget(context, base::Seconds(1e9));
  return search::rank(asked.problem, {}, asked.bounds, budget, context);
}

}  // namespace

TEST_CASE("no plan is estimated below its bound, and none needs less memory") {
  for (const Grid& g : kGrids) {
    Asked asked(g);
    for_each_plan(asked, [&](const search::GridConfig& c, const pcg::Plan& plan, double estimate) {
      REQUIRE(asked.bounds.refusal(c) == nullptr);
      const search::PlanBound bound = asked.bounds.bound(c);
      CHECK_MESSAGE(bound.seconds <= 1.000001 * estimate, plan.summary);
      const base::Bytes room = asked.oracle.memory(plan).peak - asked.oracle.device(base::DeviceId(0)).reserved;
      CHECK_MESSAGE(bound.bytes <= 1.000001 * room.value(), plan.summary);
    });
  }
}

TEST_CASE("a pipeline's bound is the slowest stage's work and the way through the others") {
  // One device per stage and nothing to share: m micro-batches at the slowest stage, and all / p x (p - 1) to fill and drain, less with
  // more chunks (arXiv 2104.04473, section 2.2). Layers and the rest of the model share out as evenly as can be in the first bound. It is
  // the first micro-batch that fills the pipeline, which adds its gradients to no others.
  Asked asked({kWideGpt, 1, 2, 8}), asked_one({kWideGpt, 1, 2, 1});
  search::GridConfig whole;
  whole.micro_batch = 1;
  whole.data = 1;
  const double all = asked.bounds.bound(whole).seconds, first = asked_one.bounds.bound(whole).seconds;
  CHECK(all > 8 * first);
  search::GridConfig c = whole;
  c.pipeline = 2;
  CHECK(asked.bounds.bound(c).seconds == test::about(all / 2 + first / 2));
  c.chunks = 2;
  c.schedule = pcg::ScheduleKind::interleaved;
  CHECK(asked.bounds.bound(c).seconds == test::about(all / 2 + first / 2 / 2));
}

TEST_CASE("a plan is likely to wait for its messages, which bounds take as free") {
  // Two stages of two chunks send 512 x 1024 numbers for each chunk and micro-batch, and gradients back.
  Asked asked({kWideGpt, 1, 2, 8});
  search::GridConfig c{.pipeline = 2, .data = 1, .chunks = 2, .micro_batch = 1};
  c.schedule = pcg::ScheduleKind::interleaved;
  const search::PlanBound bound = asked.bounds.bound(c);
  const base::Bytes bytes = pcg::bytes_of({{512, 1024}}, asked.problem.training.precision);
  const std::vector pair{base::DeviceId(0), base::DeviceId(1)};
  const double message = asked.oracle.collective(sim::CollectiveKind::send, bytes, pair).time.value();
  CHECK(bound.likely == test::about(bound.seconds + 2 * 8 * 2 * message));
  // Of four layers one of three stages has two.
  const double all = asked.bounds.bound({.data = 1, .micro_batch = 1}).seconds;
  CHECK(asked.bounds.bound({.pipeline = 3, .data = 1, .micro_batch = 1}).likely > 2.0 / 4 * all);
}

TEST_CASE("replicas of experts gather their weights, too") {
  // ZeRO 3 on four replicas that share nothing: all weights are gathered twice for each micro-batch, experts' included. Where four ranks
  // share the experts out, none of these has a replica.
  Asked asked({kWideMoe, 4, 1, 256});
  search::GridConfig c{.data = 4, .expert = 1, .zero = 3};
  c.micro_batch = 1;
  const double whole = asked.bounds.bound(c).seconds;
  c.expert = 4;
  CHECK(asked.bounds.bound(c).seconds < 0.5 * whole);
}

TEST_CASE("a sketch's layer holds a layer's weights, and its share of them under tensor parallelism") {
  // Of hidden size h a layer has 12 h^2 + 13 h parameters: four projections with their biases, an MLP of 4 h, two norms. Tensor degree 2
  // halves matrices and the biases of what is cut by columns, 3 h + 4 h; the others, h + h, and the norms' 4 h are whole on both.
  const double h = 1024;
  Asked asked({kWideGpt, 1, 2, 8});
  const search::LayerSketcher sketcher(asked.problem, search::recomputations_of(asked.problem.model));
  REQUIRE(sketcher.layers().count == 4);
  const auto layer = [&](int tensor) {
    search::GridConfig c;
    c.tensor = tensor;
    c.micro_batch = 1;
    return sketcher.sketch(c, 1)->weights.layer;
  };
  const double bytes = sim::model_state_bytes(asked.problem.training, asked.oracle.framework(asked.problem.training)).weight;
  CHECK(layer(1) == test::about(bytes * (12 * h * h + 13 * h)));
  CHECK(layer(2) == test::about(bytes * (6 * h * h + (13 - 3.5) * h)));
}

TEST_CASE("what the ranking sets aside is no better than what it leaves") {
  for (const Grid& g : kGrids) {
    Asked asked(g);
    const search::Ranking ranking = ranking_of(asked);
    const auto is_left = [&](const search::GridConfig& c) {
      return std::ranges::any_of(ranking.families, [&](const search::Family& f) {
        search::GridConfig of_family = f.config;
        return std::ranges::any_of(f.variants, [&](const search::RankedVariant& v) {
          of_family.recompute = v.variant.recompute;
          of_family.zero = v.variant.zero;
          return of_family == c;
        });
      });
    };
    double left = std::numeric_limits<double>::infinity(), pruned = left;
    for_each_plan(asked, [&](const search::GridConfig& c, const pcg::Plan&, double estimate) {
      double& best = is_left(c) ? left : pruned;
      best = std::min(best, estimate);
    });
    CHECK(left <= pruned);
    // Each plan of the grid is in a family, or was set aside.
    std::size_t all = ranking.pruned.refused + ranking.pruned.too_big + ranking.pruned.dominated;
    for (const search::Family& f : ranking.families) all += f.variants.size();
    CHECK(all == ranking.plans);
  }
}
