#include "sim/dataflow/movement.hpp"

#include <doctest/doctest.h>

#include "plan_builder.hpp"

using sim::CollectiveKind;
using sim::Layout;

namespace {

Layout layout(std::vector<pcg::ParallelDim> dims, int sum, int copy, std::vector<std::size_t> devices) {
  Layout l{{std::move(dims), sum, copy, pcg::Element::real}, {}};
  for (std::size_t d : devices) l.devices.emplace_back(d);
  return l;
}

const topology::Cluster& cluster() {
  static const topology::Cluster c = test::star(2, 4);
  return c;
}

sim::Movement move(const Layout& from, const Layout& to) { return sim::reshard(from, to, base::Bytes(4), cluster()); }

}  // namespace

TEST_CASE("equal layouts, and slices of what is at hand, move nothing") {
  const auto copies = layout({{8, 1}, {4, 1}}, 1, 4, {0, 1, 2, 3});
  CHECK(move(copies, copies).empty());
  CHECK(move(copies, layout({{8, 4}, {4, 1}}, 1, 1, {0, 1, 2, 3})).empty());
}

TEST_CASE("partial sums wanted whole are an all-reduce, wanted in shares a reduce-scatter") {
  const auto sums = layout({{8, 1}, {4, 1}}, 4, 1, {0, 1, 2, 3});
  const auto whole = move(sums, layout({{8, 1}, {4, 1}}, 1, 4, {0, 1, 2, 3}));
  REQUIRE(whole.rounds.size() == 1);
  REQUIRE(whole.rounds[0].size() == 1);
  CHECK(whole.rounds[0][0].kind == CollectiveKind::all_reduce);
  CHECK(whole.rounds[0][0].bytes == base::Bytes(8 * 4 * 4));
  const auto shares = move(sums, layout({{8, 4}, {4, 1}}, 1, 1, {0, 1, 2, 3}));
  REQUIRE(shares.rounds.size() == 1);
  CHECK(shares.rounds[0][0].kind == CollectiveKind::reduce_scatter);
  CHECK(shares.rounds[0][0].bytes == base::Bytes(8 * 4 * 4));
}

TEST_CASE("groups of a two-dimensional cut reduce side by side") {
  // batch in two halves on {0,1} and {2,3}, partial sums within each
  const auto sums = layout({{8, 2}, {4, 1}}, 2, 1, {0, 2, 1, 3});  // shards: (sum, block)
  const auto m = move(sums, layout({{8, 2}, {4, 1}}, 1, 2, {0, 2, 1, 3}));
  REQUIRE(m.rounds.size() == 1);
  REQUIRE(m.rounds[0].size() == 2);
  CHECK(m.rounds[0][0].group == std::vector<base::DeviceId>{base::DeviceId(0), base::DeviceId(1)});
  CHECK(m.rounds[0][1].group == std::vector<base::DeviceId>{base::DeviceId(2), base::DeviceId(3)});
  CHECK(m.rounds[0][0].bytes == base::Bytes(4 * 4 * 4));
}

TEST_CASE("blocks wanted by all their holders are an all-gather, cut along another dim an all-to-all") {
  const auto rows = layout({{8, 4}, {4, 1}}, 1, 1, {0, 1, 2, 3});
  const auto gather = move(rows, layout({{8, 1}, {4, 1}}, 1, 4, {0, 1, 2, 3}));
  REQUIRE(gather.rounds.size() == 1);
  CHECK(gather.rounds[0][0].kind == CollectiveKind::all_gather);
  CHECK(gather.rounds[0][0].bytes == base::Bytes(8 * 4 * 4));
  const auto turn = move(rows, layout({{8, 1}, {4, 4}}, 1, 1, {0, 1, 2, 3}));
  REQUIRE(turn.rounds.size() == 1);
  CHECK(turn.rounds[0][0].kind == CollectiveKind::all_to_all);
  CHECK(turn.rounds[0][0].bytes == base::Bytes(8 * 4));  // each device's block of 2 x 4 elements of 4 bytes
}

TEST_CASE("between meshes, overlaps go point to point") {
  // rows in two blocks on {0,1} of node 0 -> rows in four blocks on node 1
  const auto m = move(layout({{8, 2}, {4, 1}}, 1, 1, {0, 1}), layout({{8, 4}, {4, 1}}, 1, 1, {4, 5, 6, 7}));
  REQUIRE(m.rounds.size() == 1);
  CHECK(m.rounds[0].size() == 4);
  for (const auto& t : m.rounds[0]) {
    CHECK(t.kind == CollectiveKind::send);
    CHECK(t.bytes == base::Bytes(2 * 4 * 4));
  }
}

TEST_CASE("copies wanted in another node share the load and gather among themselves") {
  const auto m = move(layout({{8, 1}, {4, 1}}, 1, 4, {0, 1, 2, 3}), layout({{8, 1}, {4, 1}}, 1, 4, {4, 5, 6, 7}));
  REQUIRE(m.rounds.size() == 2);
  CHECK(m.rounds[0].size() == 4);
  for (const auto& t : m.rounds[0]) CHECK(t.bytes == base::Bytes(8 * 4));  // a quarter of 128 bytes each, over its own wire
  REQUIRE(m.rounds[1].size() == 1);
  CHECK(m.rounds[1][0].kind == CollectiveKind::all_gather);
  CHECK(m.rounds[1][0].bytes == base::Bytes(8 * 4 * 4));
}

TEST_CASE("blocks wanted in several copies: an all-to-all of shares, then a gather of the copies") {
  // 8 rows in quarters on 0..3 -> 4 columns in halves, each on two devices: {0, 1} and {2, 3}. The first of each pair exchange, and the
  // second; each gets half of its block of 8 x 2 elements of 4 bytes, and the pair gathers it.
  const auto rows = layout({{8, 4}, {4, 1}}, 1, 1, {0, 1, 2, 3});
  const auto m = move(rows, layout({{8, 1}, {4, 2}}, 1, 2, {0, 2, 1, 3}));  // shards: (copy, block)
  REQUIRE(m.rounds.size() == 2);
  REQUIRE(m.rounds[0].size() == 2);
  REQUIRE(m.rounds[1].size() == 2);
  for (const auto& t : m.rounds[0]) {
    CHECK(t.kind == CollectiveKind::all_to_all);
    CHECK(t.bytes == base::Bytes(8 * 2 * 4 / 2));
  }
  CHECK(m.rounds[0][0].group == std::vector<base::DeviceId>{base::DeviceId(0), base::DeviceId(2)});
  CHECK(m.rounds[0][1].group == std::vector<base::DeviceId>{base::DeviceId(1), base::DeviceId(3)});
  for (const auto& t : m.rounds[1]) {
    CHECK(t.kind == CollectiveKind::all_gather);
    CHECK(t.bytes == base::Bytes(8 * 2 * 4));
  }
  CHECK(m.rounds[1][0].group == std::vector<base::DeviceId>{base::DeviceId(0), base::DeviceId(1)});
}

TEST_CASE("partial sums of blocks that others want too: a reduce-scatter, then an all-to-all") {
  // The way back: 4 columns in halves, partial sums on {0, 1} and {2, 3} -> 8 rows in quarters on 0..3. Of its half each member of a pair
  // takes the rows of the first or of the second of each pair, and then they exchange: a row block of 2 x 4 elements of 4 bytes.
  const auto sums = layout({{8, 1}, {4, 2}}, 2, 1, {0, 2, 1, 3});  // shards: (sum, block)
  const auto m = move(sums, layout({{8, 4}, {4, 1}}, 1, 1, {0, 1, 2, 3}));
  REQUIRE(m.rounds.size() == 2);
  REQUIRE(m.rounds[0].size() == 2);
  REQUIRE(m.rounds[1].size() == 2);
  for (const auto& t : m.rounds[0]) {
    CHECK(t.kind == CollectiveKind::reduce_scatter);
    CHECK(t.bytes == base::Bytes(8 * 2 * 4));
  }
  CHECK(m.rounds[0][0].group == std::vector<base::DeviceId>{base::DeviceId(0), base::DeviceId(1)});
  for (const auto& t : m.rounds[1]) {
    CHECK(t.kind == CollectiveKind::all_to_all);
    CHECK(t.bytes == base::Bytes(2 * 4 * 4));
  }
  CHECK(m.rounds[1][0].group == std::vector<base::DeviceId>{base::DeviceId(0), base::DeviceId(2)});
}
