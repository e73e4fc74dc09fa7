// Layers with strategies, shared out among stages: numbers by hand, and every answer tried.
#include "search/solve/layers/layer_chain.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "random_chain.hpp"
#include "search/solve/layers/chain_costs.hpp"

namespace {

const search::SearchContext kNoClock;
const search::Budget kNoDeadline(kNoClock, base::Seconds(1));

std::optional<search::ChainAnswer> solved(const search::LayerChain& chain, double to_beat = test::kNever) {
  return search::cheapest_chain(chain, to_beat, kNoDeadline);
}

// Two layers, on two stages of a device or on one of both; layers of 3 and 5 seconds, 1 second between the stages.
search::LayerChain two_layers(int micro_batches) {
  const std::vector<search::LayerCost> table = {{{3}, {10}, {{0}}}, {{5}, {20}, {{0}}}};
  return {.kinds = {0, 1}, .tables = {table}, .table_of_stage = {0, 0}, .transfers = {{{{0}}, {{1}}}}, .micro_batches = micro_batches};
}

}  // namespace

TEST_CASE("two layers on two devices") {
  // A micro-batch: 3 + 1 + 5 = 9; of four, the slower stage three times more: 9 + 3 x 5 = 24.
  CHECK(solved(two_layers(1))->seconds == 9);
  const auto four = solved(two_layers(4));
  REQUIRE(four);
  CHECK(four->seconds == 24);
  CHECK(four->begins == std::vector<std::size_t>{0, 1});
  // Where it takes longer to go over than to compute, that is the slowest: 3 + 9 + 5 + 3 x 9 = 44.
  search::LayerChain far = two_layers(4);
  far.transfers[0][1] = {{9}};
  CHECK(solved(far)->seconds == 44);
  // One stage of both devices, a second each way: 4 micro-batches of 8, and 2 once.
  search::LayerChain one = two_layers(4);
  one.table_of_stage = {0};
  one.transfers.clear();
  one.once = 2;
  CHECK(solved(one)->seconds == 34);
  // 20 bytes for the larger layer, and 30 for both.
  one.memory = 29;
  CHECK_FALSE(solved(one));
  one.memory = 30;
  CHECK(solved(one)->seconds == 34);
  search::LayerChain small = two_layers(4);
  small.memory = 19;
  CHECK_FALSE(solved(small));
}

TEST_CASE("memory makes layers take slower strategies, as few as are enough") {
  // Three layers alike: 1 s with 10 bytes, or 2 s with 4; to change between layers takes 0.25 s. In 20 bytes one layer can be quick:
  // at an end of the row, 1 + 0.25 + 2 + 2.
  const std::vector<search::LayerCost> table = {{{1, 2}, {10, 4}, {{0, 0.25}, {0.25, 0}}}};
  search::LayerChain chain{.kinds = {0, 0, 0}, .tables = {table}, .table_of_stage = {0}, .transfers = {}, .memory = 20};
  CHECK(solved(chain)->seconds == 5.25);
  chain.memory = 30;
  CHECK(solved(chain)->strategies == std::vector<std::uint32_t>{0, 0, 0});
  chain.memory = 12;
  CHECK(solved(chain)->seconds == 6);
  chain.memory = 11;
  CHECK_FALSE(solved(chain));
}

TEST_CASE("a sum is given up for a quicker slowest stage where there are many micro-batches") {
  // Four layers of 2, 2, 2 and 5 seconds; to cut behind the third takes 4 s, behind the second none: 7 + 4 and 6 | 4 | 5, or 4 | 7.
  const std::vector<search::LayerCost> table = {{{2}, {0}, {{0}}}, {{2}, {0}, {{0}}}, {{2}, {0}, {{0}}}, {{5}, {0}, {{0}}}};
  search::LayerChain chain{
      .kinds = {0, 1, 2, 3}, .tables = {table}, .table_of_stage = {0, 0}, .transfers = {{{{9}}, {{9}}, {{0}}, {{4}}}}, .micro_batches = 2};
  CHECK(solved(chain)->begins == std::vector<std::size_t>{0, 2});  // 11 + 7, not 15 + 6
  chain.micro_batches = 6;
  CHECK(solved(chain)->begins == std::vector<std::size_t>{0, 3});  // 15 + 5 x 6, not 11 + 5 x 7
  CHECK(solved(chain)->seconds == 45);
}

TEST_CASE("the answer takes no longer than PipeDream's or ZeRO's in the same chain") {
  CHECK(rc::check("parts of the space", [] {
    const search::LayerChain chain = test::random_chain(*rc::gen::arbitrary<bool>());
    const auto best = solved(chain);
    const double least = best ? best->seconds : test::kNever;
    // One strategy for all layers: replicas, as PipeDream's stages are, cut anywhere; or shards on one stage, ZeRO's.
    for (std::size_t s = 0; s < chain.tables[0][0].seconds.size(); ++s) {
      search::LayerChain alike = chain;
      for (std::vector<search::LayerCost>& table : alike.tables)
        for (search::LayerCost& cost : table)
          for (std::size_t other = 0; other < cost.seconds.size(); ++other)
            if (other != s) cost.seconds[other] = test::kNever;
      search::ChainAnswer none;
      RC_ASSERT(least <= test::least_of_all(alike, none));
    }
  }));
}

TEST_CASE("the answer takes as little as any") {
  for (const bool tight : {false, true})
    CHECK(rc::check([&] {
      const search::LayerChain chain = test::random_chain(tight);
      search::ChainAnswer none;
      const double least = test::least_of_all(chain, none);
      const auto found = solved(chain);
      RC_ASSERT(found.has_value() == (least < test::kNever));
      if (!found) return;
      RC_ASSERT(std::abs(found->seconds - least) <= 1e-9 * least);
      RC_ASSERT(std::abs(search::chain_seconds(chain, *found) - least) <= 1e-9 * least);
      RC_ASSERT(search::chain_at_least(chain) <= least * (1 + 1e-9));
      RC_ASSERT(!solved(chain, least));
      RC_ASSERT(solved(chain, least * 1.01 + 0.01)->seconds <= least * (1 + 1e-9));
      // Galvatron's answer is one of them.
      if (const auto even = search::even_chain(chain, kNoDeadline)) {
        RC_ASSERT(even->seconds == search::chain_seconds(chain, *even));
        RC_ASSERT(even->seconds >= found->seconds * (1 - 1e-9));
      }
    }));
}

TEST_CASE("layers of a model, and a model of fewer") {
  const auto block = [](const char* name, bool weighty) { return pcg::Block{.name = name, .weighty = weighty}; };
  const std::vector<pcg::Block> blocks = {block("embedding", false), block("a", true),     block("pool", false),
                                          block("b", true),          block("head", false), block("loss", false)};
  const search::LayerSplit split = search::split_into_layers(blocks);
  CHECK(split.of_block == std::vector<int>{0, 1, 1, 2, 3, 3});
  CHECK(split.layers == 4);
  CHECK(search::split_into_layers(std::vector{block("a", true), block("b", true)}).of_block == std::vector<int>{0, 1});
  CHECK(search::split_into_layers(std::vector{block("a", false), block("b", false)}).layers == 1);
}
