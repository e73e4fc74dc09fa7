#include "search/planners/megatron/megatron.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "problem.hpp"
#include "search/planners/megatron/ranking.hpp"

namespace {

search::SearchResult search_all(const test::Question& q) { return search::megatron_search(q.problem(), {.simulate_best = 1000}, {}); }

// The least iteration time of all plans of the grid that fit, each simulated.
double best_of_grid(const search::Problem& problem) {
  double best = INFINITY;
  search::GridPlanner planner(problem);
  for (const search::GridConfig& point : search::grid_points(problem))
    for (const pcg::Recompute recompute : {pcg::Recompute::none, pcg::Recompute::selective, pcg::Recompute::full})
      for (int zero = 0; zero <= 3; ++zero) {
        search::GridConfig c = point;
        c.recompute = recompute;
        c.zero = zero;
        const auto plan = search::megatron_plan(planner, c);
        if (plan && problem.oracle.memory(*plan).fits()) best = std::min(best, problem.oracle.plan(*plan).iteration_time.value());
      }
  return best;
}

// The plans of the grid, and how many met which fate.
std::vector<std::int64_t> grid_counts_of(const search::SearchResult& r) {
  const auto note = std::ranges::find(r.notes, "grid-counts", &base::Fact::code);
  REQUIRE(note != r.notes.end());
  std::vector<std::int64_t> counts;
  for (const base::Fact::Value& v : note->values) counts.push_back(std::get<std::int64_t>(v));
  return counts;
}
std::int64_t plans_of(const search::SearchResult& r) { return grid_counts_of(r).at(0); }

}  // namespace

TEST_CASE("the search finds the best of its grid, or what is within a hundredth of it") {
  // Small models, whose hosts are waited for, and one whose kernels count; nodes with a quick switch, alone and on a slow network; memory
  // that all plans fit into, and memory for which the model states of a replica are too much.
  const std::string wide =
      "{transformer: {layers: 3, hidden: 1024, heads: 4, ffn: 4096, vocab: 4096, sequence_length: 512, causal: true, attention: flash}}";
  struct Case {
    std::string model;
    int nodes, gpus;
    std::int64_t batch;
    double memory_gib;
  };
  for (const Case& c : {Case{test::kSmallGpt, 1, 4, 8, 16}, Case{test::kSmallMoe, 1, 4, 4, 16}, Case{test::kSmallMoe, 2, 2, 4, 16},
                        Case{wide, 2, 2, 4, 16}, Case{wide, 4, 1, 4, 2}}) {
    const test::Question q(c.model, c.nodes, c.gpus, c.batch);
    topology::Cluster cluster = test::switched(c.nodes, c.gpus, c.memory_gib);
    const sim::Oracle oracle(cluster);
    const search::Problem problem{q.model, q.section, cluster, q.training, oracle};
    const search::SearchResult r = search::megatron_search(problem, {}, {});
    REQUIRE(r.objective);
    CHECK_MESSAGE(r.objective->value() <= 1.01 * best_of_grid(problem), c.model << " on " << c.nodes << " x " << c.gpus);
  }
}

TEST_CASE("the search answers with what it simulated, and it is not worse than plans by hand") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const search::SearchResult r = search_all(q);
  REQUIRE(r.best);
  CHECK(search::stop_reason(r.termination) == "complete");
  CHECK(pcg::violations(*r.best).empty());
  CHECK(*r.objective == q.oracle.plan(*r.best).iteration_time);
  REQUIRE(r.simulation);
  CHECK(r.simulation->iteration_time == *r.objective);
  CHECK(*r.objective <= q.oracle.plan(search::megatron_plan(q.problem(), {}).value()).iteration_time);
  CHECK(*r.objective <= q.oracle.plan(search::megatron_plan(q.problem(), {.tensor = 2}).value()).iteration_time);
  for (const search::LostCandidate& l : r.lost)
    CHECK(std::get<search::Slower>(l.why).time * 1.01 >= *r.objective);  // of a tie, the plainest is the answer
}

TEST_CASE("what a search did not look at is counted by why, and the counts add up to the grid") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const search::SearchResult r = search::megatron_search(q.problem(), {.simulate_best = 2}, {});
  const std::vector<std::int64_t> counts = grid_counts_of(r);
  REQUIRE(counts.size() == 8);  // the last two are how many were simulated, and steps of the local search
  CHECK(std::accumulate(counts.begin() + 1, counts.end() - 2, std::int64_t{0}) == counts[0]);
}

TEST_CASE("a point of the grid has 12 plans, fewer where nothing is recomputed apart or nobody shares") {
  // One GPU and one sample: one point, and no replicas that share: the three kinds of recomputation.
  CHECK(plans_of(search_all(test::Question(test::kSmallGpt, 1, 1, 1))) == 3);
  // Two GPUs and a batch of 1: tensor 2 with and without sequence parallelism, context 2 and pipeline 2, equal or balanced. Only context's
  // ranks hold the same weights: 3 + 3 + 12 + 3 + 3.
  CHECK(plans_of(search_all(test::Question(test::kSmallGpt, 1, 2, 1))) == 24);
}

TEST_CASE("a search that simulates only some of what fits claims no optimum, and is complete all the same") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const search::SearchResult r = search::megatron_search(q.problem(), {.simulate_best = 3}, {});
  CHECK_FALSE(r.termination.is_optimal());
  CHECK(r.termination.limit() == search::Limit::options);
  CHECK(r.termination.has_plan());
  CHECK(search::stop_reason(r.termination) == "complete");
  CHECK(*r.objective >= *search_all(q).objective);
}

TEST_CASE("a model that keeps no scores is not searched with selective recomputation, which would be a twin of none") {
  std::string flash = test::kSmallGpt;
  flash.replace(flash.find("unfused"), 7, "flash");
  const auto plans = [](const std::string& model) { return plans_of(search_all(test::Question(model, 1, 4, 8))); };
  CHECK(plans(flash) * 3 == plans(test::kSmallGpt) * 2);
}

TEST_CASE("the same search gives the same plan") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const auto a = search::megatron_search(q.problem(), {}, {}), b = search::megatron_search(q.problem(), {}, {});
  CHECK(a.best == b.best);
  CHECK(a.notes == b.notes);
}

TEST_CASE("what fits nowhere is infeasible, and the closest miss is named") {
  // 1.3e9 parameters of 16 bytes are 21 GB of model states on a GPU of 16 GiB.
  test::Question q("{builtin: gpt3-1.3b}", 1, 1, 1);
  q.training.precision = pcg::Precision::fp16;
  const search::SearchResult r = search::megatron_search(q.problem(), {}, {});
  CHECK_FALSE(r.best);
  REQUIRE(r.termination.is_infeasible());
  CHECK(search::stop_reason(r.termination) == "infeasible");
  const auto& miss = std::get<search::ClosestMiss>(*r.termination.binding());
  CHECK(miss.candidate == "one device, recompute full");
  CHECK(miss.memory.needed.value() > 16 * static_cast<double>(q.model.parameters()));
  CHECK(miss.memory.available < miss.memory.needed);
}

TEST_CASE("a grid of which nothing can be built is infeasible, with the last reason") {
  const test::Question q(test::kSmallGpt, 1, 3, 4);  // 3 devices divide neither a batch of 4 nor 4 heads nor 2 layers nor 16 positions
  const search::SearchResult r = search::megatron_search(q.problem(), {}, {});
  REQUIRE(r.termination.is_infeasible());
  const auto& refusal = std::get<search::Refusal>(*r.termination.binding());
  CHECK(refusal.constraint == search::Constraint::sequence);
  CHECK(refusal.why == "no point of the grid can be built: a sequence of 16 does not divide by context 3");
}

TEST_CASE("a search without time has plain data parallelism, and says what ended it") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  double ticks = 0;
  search::SearchContext context;
  context.clock = [&] { return base::Seconds(ticks += 1); };
  const search::SearchResult r = search::megatron_search(q.problem(), {.budget = base::Seconds(3.5)}, context);
  REQUIRE(r.best.has_value());
  CHECK(r.best->summary == "data 4");
  CHECK(r.termination.limit() == search::Limit::effort);
  CHECK(search::stop_reason(r.termination) == "effort_limit");
  CHECK(grid_counts_of(r).at(5) > 0);  // were not evaluated
}

TEST_CASE("a grid that is too large for its time still gives a plan") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  double ticks = 0;
  search::SearchContext context;
  context.clock = [&] { return base::Seconds(ticks += 1); };
  const search::SearchResult r = search::megatron_search(q.problem(), {.budget = base::Seconds(50)}, context);
  CHECK(r.termination.has_plan());
  CHECK(r.termination.limit() == search::Limit::effort);
  CHECK(search::stop_reason(r.termination) == "effort_limit");
}

TEST_CASE("each device is asked for what it has itself: a small one beside a large one does not make the grid infeasible") {
  // The table of positions holds 2^18 x 512 parameters of 16 B, 2.1 GB: only a pipeline leaves it to the large device alone.
  const test::Question q(
      "{transformer: {layers: 2, hidden: 512, heads: 8, ffn: 2048, vocab: 1024, sequence_length: 64, positions: 262144, causal: true}}", 1,
      2, 2);
  const auto answer = [&](double second_gib) {
    const auto node = [](double gib) {
      return fmt::format(
          "{{count: 1, gpus: {{type: v100-sxm2-16gb, count: 1, memory: {} GiB}}, components: [nic0], wires: [{{between: [gpu0, nic0], "
          "link: wire}}]}}",
          gib);
    };
    const topology::Cluster mixed = topology::load_cluster(
        base::parse_yaml(fmt::format("{{name: mixed, links: {{wire: {{bandwidth: 10 GB/s, latency: 1 us}}}}, node_types: [{}, {}], "
                                     "network: {{type: switch, link: wire}}}}",
                                     node(16), node(second_gib)),
                         "<test>"),
        "cluster");
    const sim::Oracle oracle(mixed);
    return search::megatron_search({q.model, q.section, mixed, q.training, oracle}, {.simulate_best = 1000}, {});
  };
  const search::SearchResult r = answer(2);  // of which the context has 1 GiB
  REQUIRE(r.best);
  CHECK(r.best->stages == 2);
  const search::SearchResult none = answer(1);
  REQUIRE(none.termination.is_infeasible());
  CHECK(std::get<search::ClosestMiss>(*none.termination.binding()).memory.available == base::Bytes(1 << 30));
}

TEST_CASE("a batch of a trillion samples has few divisors, which are found at once") {
  const test::Question q(test::kSmallGpt, 1, 4, std::int64_t{1} << 40);
  const std::vector<search::GridConfig> points = search::grid_points(q.problem());
  CHECK(points.size() > 100);
  CHECK(points.size() < 2000);  // 41 divisors, 16 choices of degrees, at most twice with chunks or balanced stages
  for (const search::GridConfig& c : points) CHECK(q.training.global_batch % (c.data * c.micro_batch) == 0);
}
