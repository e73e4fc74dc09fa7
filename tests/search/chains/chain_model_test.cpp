// The mixed-integer model of a chain against dynamic programming and against every answer tried.
#include "tests/oracles/chain_model.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "../problem.hpp"
#include "random_chain.hpp"
#include "search/solve/layers/chain_costs.hpp"

namespace {

const search::SearchContext kNoClockHere;
const search::Budget kNeverOver(kNoClockHere, base::Seconds(60));

oracles::MilpChain by_milp(const search::LayerChain& chain, double to_beat = test::kNever,
                           const std::optional<search::ChainAnswer>& start = std::nullopt) {
  return oracles::cheapest_chain_by_milp(chain, to_beat, start);
}

}  // namespace

TEST_CASE("the model, dynamic programming and every answer tried agree") {
  for (const bool tight : {false, true})
    CHECK(rc::check([&] {
      const search::LayerChain chain = test::random_chain(tight);
      search::ChainAnswer none;
      const double least = test::least_of_all(chain, none);
      const auto exact = search::cheapest_chain(chain, test::kNever, kNeverOver);
      const oracles::MilpChain milp = by_milp(chain, test::kNever, oracles::uniform_chain(chain));
      RC_ASSERT(milp.is_proved);
      RC_ASSERT(exact.has_value() == (least < test::kNever));
      RC_ASSERT(milp.answer.has_value() == exact.has_value());
      if (!exact) return;
      RC_ASSERT(std::abs(milp.answer->seconds - least) <= 1e-9 * least);
      RC_ASSERT(std::abs(milp.answer->seconds - exact->seconds) <= 1e-9 * least);
      RC_ASSERT(milp.answer->seconds == search::chain_seconds(chain, *milp.answer));
      RC_ASSERT(milp.bound <= least * (1 + 1e-6));
      // Any solution of the model is worth the seconds of the answer that it stands for.
      const oracles::ChainModel model(chain, least);
      const std::vector<double> values = model.values(*exact);
      RC_ASSERT(oracles::is_solution(model.model(), values));
      RC_ASSERT(std::abs(model.seconds(oracles::objective_of(model.model(), values)) - exact->seconds) <= 1e-9 * least);
      RC_ASSERT(model.answer(values) == *exact);
    }));
}

TEST_CASE("edges that leave layers out count in the model as in an answer") {
  for (const bool tight : {false, true})
    CHECK(rc::check([&] {
      const search::LayerChain chain = test::random_chain(tight, true);
      search::ChainAnswer none;
      const double least = test::least_of_all(chain, none);
      const oracles::MilpChain milp = by_milp(chain, test::kNever, oracles::uniform_chain(chain));
      RC_ASSERT(milp.is_proved);
      RC_ASSERT(milp.answer.has_value() == (least < test::kNever));
      if (!milp.answer) return;
      RC_ASSERT(std::abs(milp.answer->seconds - least) <= 1e-9 * least);
      const oracles::ChainModel model(chain, least);
      const std::vector<double> values = model.values(*milp.answer);
      RC_ASSERT(oracles::is_solution(model.model(), values));
      RC_ASSERT(std::abs(model.seconds(oracles::objective_of(model.model(), values)) - least) <= 1e-9 * least);
    }));
}

TEST_CASE("a tensor that two layers behind the next one read") {
  // Four layers of a second on two stages; the first one's tensor goes to the last two. On the first stage that takes 0.25 s, over the
  // boundary 2 s, and to the next layer nothing.
  const std::vector<search::LayerCost> table = {{{1, 1}, {1, 1}, {{0, 0}, {0, 0}}}};
  const search::StrategyPairs near = {{0.25, 0.25}, {0.25, 0.25}}, far = {{2, 2}, {2, 2}};
  const search::LayerChain chain{.kinds = {0, 0, 0, 0},
                                 .tables = {table},
                                 .table_of_stage = {0, 0},
                                 .transfers = {{{{0, 0}, {0, 0}}}},
                                 .long_edges = {{.from = 0, .readers = {2, 3}, .next_reads = true, .seconds = {{near, far}, {near, near}}}},
                                 .micro_batches = 3};
  // Both on the second stage in one strategy: once. 2 + 2 + 2, and twice the slowest, 2.
  CHECK(search::chain_seconds(chain, {{0, 2}, {0, 0, 0, 0}, 0}) == 10);
  // In two strategies: twice over one boundary, which is the slowest then: 2 + 4 + 2, and 2 x 4.
  CHECK(search::chain_seconds(chain, {{0, 2}, {0, 0, 0, 1}, 0}) == 16);
  // One on the first stage, where the next layer in the same strategy has brought it: 3 + 2 + 1, and 2 x 3; in another strategy 0.25 s.
  CHECK(search::chain_seconds(chain, {{0, 3}, {0, 0, 0, 0}, 0}) == 12);
  CHECK(search::chain_seconds(chain, {{0, 3}, {0, 0, 1, 0}, 0}) == 12.75);
  // The next layer on the second stage has brought it there: 1 + 0 + 3, and 2 x 3; better still is one in the middle, as above.
  CHECK(search::chain_seconds(chain, {{0, 1}, {0, 0, 0, 0}, 0}) == 10);
  CHECK(by_milp(chain).answer->seconds == 10);
}

TEST_CASE("only what takes less than others counts, and a start that is the best is the answer") {
  CHECK(rc::check([] {
    const search::LayerChain chain = test::random_chain(true);
    const auto exact = search::cheapest_chain(chain, test::kNever, kNeverOver);
    if (!exact) return;
    const oracles::MilpChain none = by_milp(chain, exact->seconds * (1 - 1e-5));
    RC_ASSERT(none.is_proved);
    RC_ASSERT(!none.answer);
    const oracles::MilpChain same = by_milp(chain, exact->seconds * 1.1, exact);
    RC_ASSERT(same.is_proved);
    RC_ASSERT(std::abs(same.answer->seconds - exact->seconds) <= 1e-9 * exact->seconds);
  }));
}

TEST_CASE("a chain that takes long is answered at its limit, no worse than it began, with a bound that holds") {
  // 30 layers on four stages, in strategies each of which is best in something.
  constexpr std::size_t kLayers = 30, kStrategies = 6;
  std::vector<double> seconds, bytes;
  search::StrategyPairs moves(kStrategies, std::vector<double>(kStrategies, 0.0));
  for (std::size_t s = 0; s < kStrategies; ++s) {
    seconds.push_back(1 + 0.13 * static_cast<double>(s));
    bytes.push_back(1 / (1 + 0.3 * static_cast<double>(s)));
    for (std::size_t o = 0; o < kStrategies; ++o) moves[s][o] = s == o ? 0 : 0.02 * static_cast<double>(1 + (s * 5 + o * 3) % 7);
  }
  const std::vector<search::LayerCost> table = {{seconds, bytes, moves}};
  const search::LayerChain chain{.kinds = std::vector<std::size_t>(kLayers, 0),
                                 .tables = {table},
                                 .table_of_stage = {0, 0, 0, 0},
                                 .transfers = {{moves}, {moves}, {moves}},
                                 .micro_batches = 16,
                                 .memory = 4.9};
  const auto exact = search::cheapest_chain(chain, test::kNever, kNeverOver);
  const auto start = oracles::uniform_chain(chain);
  REQUIRE(exact);
  REQUIRE(start);
  const oracles::MilpChain milp = oracles::cheapest_chain_by_milp(chain, test::kNever, start, {.nodes = 20});
  CHECK_FALSE(milp.is_proved);
  REQUIRE(milp.answer);
  CHECK(milp.answer->seconds <= start->seconds);
  CHECK(milp.answer->seconds >= exact->seconds * (1 - 1e-9));
  CHECK(milp.bound <= exact->seconds * (1 + 1e-9));
}

TEST_CASE("CBC finds nothing cheaper on the chains of a model, where memory is plenty and where it is not") {
  std::set<double> objectives;
  bool some_do_not_fit = false;
  const test::Question q(
      "{transformer: {layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 96, sequence_length: 16, causal: true, attention: unfused}}", 1, 4,
      8);
  for (const double gibibytes : {16.0, 1.004, 1.002, 1.001, 1.0007, 1.0003}) {  // 1 is reserved
    const topology::Cluster cluster = test::switched(1, 4, gibibytes);
    const sim::Oracle oracle(cluster);
    const search::Problem problem{q.model, q.section, cluster, q.training, oracle};
    const search::ShortModel model = search::short_model(problem.model);
    search::OperatorCatalog catalog(problem, 2);
    search::ChainCosts costs(problem, model, catalog, 4);
    for (const int stages : {1, 2, 4}) {
      const auto chain = costs.chain({.stages = stages});
      REQUIRE(chain);
      const auto exact = search::cheapest_chain(*chain, test::kNever, kNeverOver);
      const oracles::MilpChain milp = by_milp(*chain);
      CHECK(milp.is_proved);
      REQUIRE(milp.answer.has_value() == exact.has_value());
      some_do_not_fit = some_do_not_fit || !exact;
      if (!exact) continue;
      objectives.insert(exact->seconds);
      CHECK(std::abs(milp.answer->seconds / exact->seconds - 1) < 1e-6);
    }
  }
  CHECK(objectives.size() > 3);
  CHECK(some_do_not_fit);
}
