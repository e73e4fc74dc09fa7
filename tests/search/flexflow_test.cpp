// FlexFlow's random walk, and the schedule that it goes by.
#include "search/planners/flexflow/flexflow.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "problem.hpp"
#include "search/planners/flexflow/walk.hpp"
#include "tests/about.hpp"

namespace {

using Edges = std::vector<search::Schedule::Edge>;

double scheduled(int devices, const std::vector<search::ScheduledOperator>& operators, const Edges& edges,
                 const std::vector<search::MovementTimes>& movements) {
  return search::Schedule(devices, operators.size(), edges).seconds(operators, movements);
}

// One operator, two that read it, one that reads both.
const Edges kDiamond = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};

}  // namespace

TEST_CASE("a chain takes the sum of its passes and movements") {
  const std::vector<search::ScheduledOperator> chain = {{0, 2, 1, 2}, {0, 2, 4, 8}, {0, 2, 16, 32}};
  CHECK(scheduled(2, chain, {{0, 1}, {1, 2}}, {{}, {}}) == 63);
  CHECK(scheduled(2, chain, {{0, 1}, {1, 2}}, {{64, 128}, {256, 512}}) == 63 + 960);
  // From device to device nothing is done at once either.
  const std::vector<search::ScheduledOperator> apart = {{0, 1, 1, 2}, {1, 1, 4, 8}, {0, 1, 16, 32}};
  CHECK(scheduled(2, apart, {{0, 1}, {1, 2}}, {{64, 128}, {256, 512}}) == 63 + 960);
}

TEST_CASE("branches on devices of their own take as long as the longer one, on the same devices their sum") {
  // Forward 1 + max(2, 3) + 4, backward 10 + max(20, 30) + 40.
  const std::vector<search::ScheduledOperator> apart = {{0, 4, 1, 10}, {0, 2, 2, 20}, {2, 2, 3, 30}, {0, 4, 4, 40}};
  CHECK(scheduled(4, apart, kDiamond, std::vector<search::MovementTimes>(4)) == 8 + 80);
  const std::vector<search::ScheduledOperator> together = {{0, 4, 1, 10}, {0, 4, 2, 20}, {0, 4, 3, 30}, {0, 4, 4, 40}};
  CHECK(scheduled(4, together, kDiamond, std::vector<search::MovementTimes>(4)) == 10 + 100);
  // They share device 1: as on the same devices.
  const std::vector<search::ScheduledOperator> overlapping = {{0, 4, 1, 10}, {0, 2, 2, 20}, {1, 3, 3, 30}, {0, 4, 4, 40}};
  CHECK(scheduled(4, overlapping, kDiamond, std::vector<search::MovementTimes>(4)) == 10 + 100);
}

TEST_CASE("movements of the same devices follow each other, beside the kernels") {
  // Both readers wait on the movements of what they read; the first runs while the second's input comes: 1 + 5 + max(2, 5) + 3.
  const std::vector<search::ScheduledOperator> operators = {{0, 2, 1, 0}, {0, 2, 2, 0}, {0, 2, 3, 0}};
  CHECK(scheduled(2, operators, {{0, 1}, {0, 2}}, {{5, 0}, {5, 0}}) == 14);
  // To devices of their own they follow each other too, as the same devices send: 1 + 5 + 5 + 3.
  const std::vector<search::ScheduledOperator> apart = {{0, 2, 1, 0}, {2, 1, 2, 0}, {3, 1, 3, 0}};
  CHECK(scheduled(4, apart, {{0, 1}, {0, 2}}, {{5, 0}, {5, 0}}) == 14);
}

TEST_CASE("gradients are added up beside the backward pass, updates come behind") {
  // Backward: the last operator's gradients (7) beside the first's kernels (4), then the first's (3): 1 + 2 + 2 + max(4, 7) + 3.
  const std::vector<search::ScheduledOperator> operators = {{0, 2, 1, 4, 3, 10}, {0, 2, 2, 2, 7, 20}};
  CHECK(scheduled(2, operators, {{0, 1}}, {{}}) == 1 + 2 + 2 + 7 + 3 + 30);
  // Hidden but for the first operator's, where kernels take longer.
  const std::vector<search::ScheduledOperator> hidden = {{0, 2, 1, 9, 3, 10}, {0, 2, 2, 2, 7, 20}};
  CHECK(scheduled(2, hidden, {{0, 1}}, {{}}) == 1 + 2 + 2 + 9 + 3 + 30);
  // The backward pass begins when the forward pass has ended everywhere: 1 + 5, beside 1 + 1 + 1 + 1.
  const std::vector<search::ScheduledOperator> one = {{0, 1, 1, 1, 1, 1}, {1, 1, 0, 0, 0, 5}};
  CHECK(scheduled(2, one, {}, {}) == 6);
}

TEST_CASE("gradients and movements that meet share the network") {
  // The last operator's gradients (4 s) and those on their way to the first (6 s) begin together: for 8 s each has half, the 2 s that are
  // left end at 10. The first has 1 s to do.
  const std::vector<search::ScheduledOperator> operators = {{0, 2, 0, 1, 0, 0}, {0, 2, 0, 0, 4, 0}};
  CHECK(scheduled(2, operators, {{0, 1}}, {{0, 6}}) == 11);
  // The gradients of the last (9 s) end behind the movement (6 s, in 12): 12 + 3.
  const std::vector<search::ScheduledOperator> longer = {{0, 2, 0, 1, 0, 0}, {0, 2, 0, 0, 9, 0}};
  CHECK(scheduled(2, longer, {{0, 1}}, {{0, 6}}) == 15);
}

TEST_CASE("what a device has most of is summed over its operators") {
  const std::vector<search::ScheduledOperator> operators = {{0, 4}, {0, 2}, {1, 3}};
  search::Schedule schedule(5, 3, {});
  CHECK(schedule.most_on_a_device(operators, std::vector<double>{1, 2, 4}) == 7);  // device 1 has all
}

TEST_CASE("no schedule is shorter than what one device does, nor longer than all that is done") {
  CHECK(rc::check([] {
    const int devices = *rc::gen::inRange(1, 9);
    const auto count = static_cast<std::size_t>(*rc::gen::inRange(1, 12));
    std::vector<search::ScheduledOperator> operators;
    std::vector<double> work;
    Edges edges;
    std::vector<search::MovementTimes> movements;
    for (std::uint32_t o = 0; o < count; ++o) {
      const int start = *rc::gen::inRange(0, devices);
      operators.push_back({start, *rc::gen::inRange(1, devices - start + 1), 1.0 * *rc::gen::inRange(0, 9), 1.0 * *rc::gen::inRange(0, 9),
                           1.0 * *rc::gen::inRange(0, 9), 1.0 * *rc::gen::inRange(0, 9)});
      work.push_back(operators.back().forward + operators.back().backward + operators.back().update);
      for (std::uint32_t from = 0; from < o; ++from) {
        if (*rc::gen::inRange(0, 3) != 0) continue;
        edges.push_back({from, o});
        movements.push_back({1.0 * *rc::gen::inRange(0, 9), 1.0 * *rc::gen::inRange(0, 9)});
      }
    }
    search::Schedule schedule(devices, count, edges);
    double all = 0;
    for (const search::ScheduledOperator& o : operators) all += o.forward + o.backward + 2 * o.synchronisation + o.update;
    for (const search::MovementTimes& m : movements) all += m.forward + 2 * m.backward;
    const double seconds = schedule.seconds(operators, movements);
    RC_ASSERT(seconds >= schedule.most_on_a_device(operators, work));
    RC_ASSERT(seconds <= all);
  }));
}

TEST_CASE("operators run on blocks that they can use") {
  // 12 samples and 12 columns on 2 machines of 4: 8 divides neither by a single cut but 4 x 2 does; 3 lies at either end of a machine.
  test::Question q(test::kSmallGpt, 2, 4, 12);
  pcg::GraphBuilder g("layer");
  g.add("layer", pcg::Linear{.out = 12}, {g.input("x", {{12, 7}, pcg::Element::real})});
  q.model = std::move(g).build();
  const search::Problem problem = q.problem();
  search::OperatorCatalog catalog(problem, 2);
  const std::vector<search::KindNumber> kinds = catalog.kinds_of(q.model);
  search::Placements placements(problem.cluster, catalog);
  const auto& blocks = placements.blocks(kinds.back());
  REQUIRE(blocks.size() == 5);
  CHECK(blocks[0] == std::vector<search::DeviceBlock>{{0, 8}});
  CHECK(blocks[1] == std::vector<search::DeviceBlock>{{0, 4}, {4, 4}});
  CHECK(blocks[2] == std::vector<search::DeviceBlock>{{0, 3}, {1, 3}, {4, 3}, {5, 3}});
  CHECK(blocks[3] == std::vector<search::DeviceBlock>{{0, 2}, {2, 2}, {4, 2}, {6, 2}});
  CHECK(blocks[4].size() == 8);
  base::Random random(1);
  std::set<int> sizes;
  for (int i = 0; i < 200; ++i) {
    const search::Placement p = placements.any(kinds.back(), random);
    CHECK(p.block.start + placements.devices(kinds.back(), p) <= 8);
    sizes.insert(p.block.size);
  }
  CHECK(sizes == std::set<int>{1, 2, 3, 4, 8});
}

TEST_CASE("pairs of blocks that lie alike are asked about once") {
  const test::Question q(test::kSmallGpt, 4, 4, 16);
  const search::Problem problem = q.problem();
  search::OperatorCatalog catalog(problem, 2);
  const search::Placements placements(problem.cluster, catalog);
  using Pair = std::pair<search::DeviceBlock, search::DeviceBlock>;
  // The same block; one inside another; in one machine.
  CHECK(placements.standing_for({8, 4}, {8, 4}) == Pair{{0, 4}, {0, 4}});
  CHECK(placements.standing_for({0, 16}, {12, 4}) == Pair{{0, 16}, {0, 4}});
  CHECK(placements.standing_for({13, 1}, {8, 8}) == Pair{{1, 1}, {0, 8}});
  CHECK(placements.standing_for({10, 2}, {8, 2}) == Pair{{2, 2}, {0, 2}});
  // Without common devices: in the first machines and in the last ones.
  CHECK(placements.standing_for({8, 8}, {0, 8}) == Pair{{0, 8}, {8, 8}});
  CHECK(placements.standing_for({4, 4}, {0, 4}) == Pair{{0, 4}, {12, 4}});
  CHECK(placements.standing_for({6, 1}, {8, 8}) == Pair{{14, 1}, {0, 8}});
}

TEST_CASE("a walk on two devices finds the cheapest of all positions") {
  // Three operators: every combination of their placements is tried.
  test::Question q("{builtin: mlp-mnist}", 2, 1, 64);
  const search::Problem problem = q.problem();
  const search::SearchContext context;
  search::Budget never(context, base::Seconds(1));
  const pcg::Graph graph = pcg::with_batch(q.model, 64);
  search::OperatorCatalog catalog(problem, 1);
  const search::OperatorGraph operators = search::operator_graph(graph, catalog.kinds_of(graph), catalog);
  search::Placements placements(problem.cluster, catalog);
  search::Walk walk(operators, placements, 2, never);
  walk.set_room(1e12);
  std::vector<std::vector<search::Placement>> all;
  std::size_t combinations = 1;
  for (const search::KindNumber k : operators.kinds) {
    std::vector<search::Placement>& of_kind = all.emplace_back();
    for (const auto& of_size : placements.blocks(k))
      for (const search::DeviceBlock b : of_size)
        for (std::uint32_t w = 0; w < catalog.table(k, b).costs.size(); ++w) of_kind.push_back({b, w});
    combinations *= of_kind.size();
  }
  REQUIRE(combinations < 100000);
  double least = 1e9;
  for (std::size_t c = 0; c < combinations; ++c) {
    std::vector<search::Placement> at;
    std::size_t rest = c;
    for (const auto& of_kind : all) {
      at.push_back(of_kind[rest % of_kind.size()]);
      rest /= of_kind.size();
    }
    least = std::min(least, walk.position(at).seconds);
  }
  base::Random random(1);
  std::vector<search::Placement> start;
  for (const auto& of_kind : all) start.push_back(of_kind.front());
  CHECK(walk.run(walk.position(start), 5000, 1, 20, random).seconds == test::about(least));
  CHECK(walk.proposals() == 5000);
}

TEST_CASE("the same seed finds the same plan, and no plan is slower than data parallelism") {
  test::Question q("{builtin: mlp-mnist}", 2, 2, 64);
  q.training.optimizer = pcg::Optimizer::sgd;
  const search::FlexFlowConfig config{.proposals = 2000};
  const search::SearchResult a = search::flexflow_search(q.problem(), pcg::with_batch(q.model, 64), config, {.seed = 7});
  const search::SearchResult b = search::flexflow_search(q.problem(), pcg::with_batch(q.model, 64), config, {.seed = 7});
  REQUIRE(a.best);
  CHECK(*a.best == *b.best);
  CHECK(a.notes == b.notes);
  CHECK(*a.objective <= q.oracle.plan(search::data_parallel_plan(q.problem()).value()).iteration_time);
}

TEST_CASE("a walk finds plans that fit where replicas do not") {
  // 307 M numbers of a table, 8 B each with their gradients, are 2.5 GB: too much for a GPU of 2 GiB, not for four.
  const std::string table =
      "{transformer: {layers: 1, hidden: 512, heads: 4, ffn: 512, vocab: 600000, sequence_length: 4, dropout: 0, tied_embeddings: false, "
      "head: false}}";
  test::Question q(table, 1, 4, 8);
  q.training.optimizer = pcg::Optimizer::sgd;
  q.cluster = test::switched(1, 4, 2);
  const sim::Oracle oracle(q.cluster);
  const search::Problem problem{q.model, q.section, q.cluster, q.training, oracle};
  CHECK_FALSE(oracle.memory(search::data_parallel_plan(problem, {}).value()).fits());
  const search::SearchResult r = search::flexflow_search(problem, pcg::with_batch(q.model, 8), {.proposals = 5000}, {});
  REQUIRE(r.best);
  CHECK(oracle.memory(*r.best).fits());
}
