#include "search/megatron/megatron_search.hpp"

#include <doctest/doctest.h>

#include "problem.hpp"
#include "search/megatron/grid_points.hpp"

namespace {

search::SearchResult search_all(const test::Question& q) { return search::megatron_search(q.problem(), {.simulate_best = 1000}, {}); }

}  // namespace

TEST_CASE("the search answers with what it simulated, and it is not worse than plain data parallelism on the same terms") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const search::SearchResult r = search_all(q);
  REQUIRE(r.best);
  CHECK(r.termination.is_optimal());  // of the whole grid
  CHECK(search::stop_reason(r.termination) == "complete");
  CHECK(pcg::violations(*r.best).empty());
  CHECK(*r.objective == q.oracle.plan(*r.best).iteration_time);
  REQUIRE(r.simulation);
  CHECK(r.simulation->iteration_time == *r.objective);
  CHECK(*r.objective <= q.oracle.plan(search::megatron_plan(q.problem(), {}).value()).iteration_time);
  CHECK(*r.objective <= q.oracle.plan(search::megatron_plan(q.problem(), {.tensor = 2}).value()).iteration_time);
  CHECK(r.lost.size() == 10);
  for (const search::LostCandidate& l : r.lost) CHECK(std::get<search::Slower>(l.why).time >= *r.objective);
}

TEST_CASE("a search that simulates only some of what fits claims no optimum, and is complete all the same") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const search::SearchResult r = search::megatron_search(q.problem(), {.simulate_best = 3}, {});
  CHECK_FALSE(r.termination.is_optimal());
  CHECK(r.termination.limit() == search::Limit::candidates);
  CHECK(r.termination.has_plan());
  CHECK(search::stop_reason(r.termination) == "complete");
  CHECK(*r.objective >= *search_all(q).objective);
}

TEST_CASE("a model that keeps no scores is not searched with selective recomputation, which would be a twin of none") {
  std::string flash = test::kSmallGpt;
  flash.replace(flash.find("unfused"), 7, "flash");
  const auto candidates = [](const std::string& model) {
    const search::SearchResult r = search_all(test::Question(model, 1, 4, 8));
    REQUIRE(r.notes.size() == 1);
    return std::stoi(r.notes[0].substr(std::string("best of ").size()));
  };
  CHECK(candidates(flash) * 3 == candidates(test::kSmallGpt) * 2);
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
  CHECK(miss.candidate == "one device, recompute none, zero 0 (model states alone)");
  CHECK(miss.memory.needed.value() == doctest::Approx(16 * static_cast<double>(q.model.parameters())));
  CHECK(miss.memory.available < miss.memory.needed);
}

TEST_CASE("a grid of which nothing can be built is infeasible, with the last reason") {
  const test::Question q(test::kSmallGpt, 1, 3, 4);  // 3 devices divide neither a batch of 4 nor 4 heads nor 2 layers
  const search::SearchResult r = search::megatron_search(q.problem(), {}, {});
  REQUIRE(r.termination.is_infeasible());
  const auto& refusal = std::get<search::Refusal>(*r.termination.binding());
  CHECK(refusal.constraint == search::Constraint::heads);
  CHECK(refusal.why == "no point of the grid can be built: layer0.attention.core: 4 attention heads do not divide by tensor 3");
}

TEST_CASE("a search without time says so") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  double ticks = 0;
  search::SearchContext context;
  context.clock = [&] { return base::Seconds(ticks += 1); };
  // The start takes the first tick: three points of the grid are looked at.
  const search::SearchResult r = search::megatron_search(q.problem(), {.budget = base::Seconds(3.5)}, context);
  CHECK_FALSE(r.termination.has_plan());
  CHECK(r.termination.limit() == search::Limit::time);
  CHECK(search::stop_reason(r.termination) == "time_limit");
  REQUIRE_FALSE(r.notes.empty());
  CHECK(r.notes[0].starts_with("time was up after 3 of "));
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
  CHECK(std::get<search::ClosestMiss>(*none.termination.binding()).memory.available == base::Bytes(0));
}

TEST_CASE("a batch of a trillion samples has few divisors, which are found at once") {
  const test::Question q(test::kSmallGpt, 1, 4, std::int64_t{1} << 40);
  const std::vector<search::GridConfig> points = search::grid_points(q.problem());
  CHECK(points.size() > 100);
  CHECK(points.size() < 2000);
  for (const search::GridConfig& c : points) CHECK(q.training.global_batch % (c.data * c.micro_batch) == 0);
}
