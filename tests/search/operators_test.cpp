// Ways to run single operators, what they cost, and the cheapest of them together.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "problem.hpp"
#include "profiles/framework_profile.hpp"
#include "search/planners/alpa/alpa.hpp"
#include "search/solve/memory_constrained/constrained_operators.hpp"
#include "tests/about.hpp"

namespace {

pcg::Graph mlp() {
  pcg::GraphBuilder g("mlp");
  const pcg::GraphTensorRef x = g.input("x", {{64, 784}, pcg::Element::real});
  const auto hidden = g.add("hidden", pcg::Linear{.out = 512}, {x});
  const auto relu = g.add("relu", pcg::Unary{pcg::Unary::Kind::relu}, {hidden});
  g.add("out", pcg::Linear{.out = 10}, {relu});
  return std::move(g).build();
}

std::vector<search::Strategy> linear_strategies(int devices, int most_cut) {
  const pcg::Graph g = mlp();
  const pcg::GraphNode& hidden = *std::ranges::find(g.nodes(), std::string("hidden"), &pcg::GraphNode::name);
  const pcg::GraphNodeId id(static_cast<std::size_t>(&hidden - g.nodes().data()));
  return search::strategies_of(hidden, g.input_shapes(id), {0, devices}, most_cut);
}

const search::Budget& no_deadline() {
  static const search::SearchContext kContext;  // has no clock
  static const search::Budget kNever(kContext, base::Seconds(1));
  return kNever;
}

}  // namespace

TEST_CASE("the strategies of a layer are the factors of its devices among its loops") {
  // 784 columns, 512 rows and 64 samples all divide by two. Two devices: two copies, or one loop cut in two.
  CHECK(linear_strategies(2, 2).size() == 4);
  // Four: 4 copies; 4 of each of three loops; 2 of a loop and 2 copies, in two orders, 3 x 2; 2 x 2 of two loops, in two orders, 3 x 2.
  CHECK(linear_strategies(4, 2).size() == 1 + 3 + 6 + 6);
  CHECK(linear_strategies(4, 1).size() == 1 + 3 + 6);
  for (const search::Strategy& s : linear_strategies(4, 3)) {
    const auto devices = pcg::devices_of(s.view, s.sharding);
    CHECK(std::set(devices.begin(), devices.end()).size() == 4);  // each once
  }
}

TEST_CASE("what moves costs at least its bound, and what the oracle says of any size") {
  const test::Question q("{transformer: {layers: 2, hidden: 64, heads: 4, ffn: 256, vocab: 96, sequence_length: 16}}", 2, 2, 8);
  const search::Problem problem = q.problem();
  search::MovementCosts costs(problem);
  const auto layout = [&](std::int64_t rows, std::vector<int> degrees, int copy, std::vector<int> devices) {
    sim::Layout l{{{{rows, degrees[0]}, {64, degrees[1]}}, 1, copy}, {}};
    for (const int d : devices) l.devices.emplace_back(static_cast<std::size_t>(d));
    return costs.number(l);
  };
  const search::LayoutNumber rows = layout(64, {4, 1}, 1, {0, 1, 2, 3}), columns = layout(64, {1, 4}, 1, {0, 1, 2, 3}),
                             whole = layout(64, {1, 1}, 4, {0, 1, 2, 3});
  CHECK(costs.number(
            sim::Layout{{{{64, 4}, {64, 1}}, 1, 1}, {base::DeviceId(0), base::DeviceId(1), base::DeviceId(2), base::DeviceId(3)}}) == rows);
  CHECK(costs.seconds(rows, rows) == 0);
  CHECK(costs.at_least(whole, columns) == 0);
  for (const auto& [from, to] : {std::pair(rows, columns), std::pair(rows, whole), std::pair(columns, rows)}) {
    CHECK(costs.seconds(from, to) > 0);
    CHECK(costs.at_least(from, to) > 0);
    CHECK(costs.at_least(from, to) <= costs.seconds(from, to));
  }
  // Numbers of 4 bytes, 64 in a row: the cost is what a round of the all-gather takes, by its busiest links.
  const sim::Oracle bounds(problem.cluster, {}, 0);
  const std::vector<base::DeviceId> all{base::DeviceId(0), base::DeviceId(1), base::DeviceId(2), base::DeviceId(3)};
  for (const int n : {64, 128, 256})
    CHECK(costs.seconds(layout(n, {4, 1}, 1, {0, 1, 2, 3}), layout(n, {1, 1}, 4, {0, 1, 2, 3})) ==
          test::about(bounds.collective(sim::CollectiveKind::all_gather, base::Bytes(n * 64.0 * 4), all).time.value()));
  // Of a movement asked again, and larger. Device 2 is of another node.
  for (const std::size_t to : {1, 2, 1})
    for (const double bytes : {1e8, 5e8}) {
      const sim::Round round{{.bytes = base::Bytes(bytes), .group = {base::DeviceId(0), base::DeviceId(to)}},
                             {.bytes = base::Bytes(bytes / 2), .group = {base::DeviceId(1), base::DeviceId(0)}}};
      CHECK(costs.seconds(sim::Movement{{round}}) == test::about(bounds.round(round).at().time.value()));
    }
}

TEST_CASE("an update takes what its weights take: the host's time is an iteration's, whatever its operators") {
  test::Question q(test::kSmallGpt, 1, 2, 64);
  pcg::GraphBuilder g("wide");
  g.add("wide", pcg::Linear{.out = 4096}, {g.input("x", {{64, 4096}, pcg::Element::real})});
  q.model = std::move(g).build();
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->host.iteration = base::Seconds(1);
  const sim::Oracle oracle(q.cluster, config);
  const search::Problem problem{q.model, q.section, q.cluster, q.training, oracle};
  search::OperatorCatalog catalog(problem, 2);
  const auto& costs = catalog.table(catalog.kinds_of(problem.model).back(), {0, 2}).costs;
  const auto [least, most] = std::ranges::minmax(costs, {}, &search::StrategyCost::update);
  CHECK(least.update < 0.6 * most.update);  // half of the weights, or all
  CHECK(most.update < 1);
}

TEST_CASE("the cheapest strategies together are the cheapest of all combinations") {
  // Three operators on two devices, each priced by what moves between its layouts.
  test::Question q(test::kSmallGpt, 1, 2, 64);
  q.model = mlp();
  const search::Problem problem = q.problem();
  search::OperatorCatalog catalog(problem, 2);
  const std::vector<search::KindNumber> kinds = catalog.kinds_of(problem.model);
  for (const double share : {1.0, 0.3, 0.0}) {
    const search::Objective objective{share, 0};
    search::Shortlists lists(catalog, objective, 100, search::Shortlists::kAnyCuts, {}, true);
    search::ConstrainedOperators space(lists, {0, 2}, objective);
    space.add(problem.model, kinds);
    const search::ConstrainedChoice found = space.cheapest(1e30, no_deadline());
    REQUIRE(found.choice.size() == 3);
    CHECK(found.is_optimal);
    CHECK(found.seconds == test::about(space.seconds(found.choice)));
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::uint32_t> choice(3);
    std::vector<search::KindNumber> of_operator = kinds;
    std::erase(of_operator, search::kSource);
    const auto count = [&](std::size_t o) { return static_cast<std::uint32_t>(catalog.table(of_operator[o], {0, 2}).strategies.size()); };
    for (choice[0] = 0; choice[0] < count(0); ++choice[0])
      for (choice[1] = 0; choice[1] < count(1); ++choice[1])
        for (choice[2] = 0; choice[2] < count(2); ++choice[2]) best = std::min(best, space.seconds(choice));
    CHECK(found.seconds == test::about(best));
  }
}

TEST_CASE("a wide layer on a slow link is cut by what it adds up, not by samples") {
  // Unity's Figure 2 (OSDI'22): two layers, 784 -> 512 -> 10, 64 samples, two GPUs. Data parallelism adds up all 512 x (784 + 10)
  // gradients, 2 x 406,528 numbers in all; cut inside, four times 64 x 512 / 2 numbers and less.
  test::Question q("{builtin: mlp-mnist}", 2, 1, 64);
  q.training.optimizer = pcg::Optimizer::sgd;
  const search::SearchResult r = search::alpa_search(q.problem(), search::AlpaSpace::one_stage, {}, {});
  REQUIRE(r.best);
  REQUIRE(r.simulation);
  CHECK(r.simulation->bytes.total.value() <= 131072 * 4);
  const auto data = search::data_parallel_plan(q.problem(), {});
  CHECK(r.simulation->iteration_time < q.oracle.plan(*data).iteration_time);
}

TEST_CASE("where replicas do not fit, weights are cut until they do") {
  // 307 M numbers of a table, 16 B each with Adam's state in fp32, are 4.9 GB: too much for a GPU of 4 GiB, not for four.
  const std::string table =
      "{transformer: {layers: 1, hidden: 512, heads: 4, ffn: 512, vocab: 600000, sequence_length: 4, dropout: 0, tied_embeddings: false, "
      "head: false}}";
  test::Question q(table, 1, 4, 8);
  q.cluster = test::switched(1, 4, 4);
  const sim::Oracle oracle(q.cluster);
  const search::Problem problem{q.model, q.section, q.cluster, q.training, oracle};
  CHECK_FALSE(oracle.memory(search::data_parallel_plan(problem, {}).value()).fits());
  const search::SearchResult r = search::alpa_search(problem, search::AlpaSpace::one_stage, {}, {});
  REQUIRE(r.best);
  CHECK(oracle.memory(*r.best).fits());
}
