// A tensor that goes to a stage on other devices (Zheng et al., "Alpa", OSDI'22, sections 6 and 8.5). S bytes are on both devices of a
// stage in one node and wanted whole on both of the next stage's, in another node; NICs and network have B = 10 GB/s and 7 us in all, wires
// inside a node b = 100 GB/s and 2 us between two GPUs:
//   local all-gather  a half to each, then half of it to each other: S / B + 7 us, and S / 2 / b + 2 us
//   send and receive  all of it to each:                             2 S / B + 7 us
//   signals           a byte to each:                                2 / B + 7 us
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "sim/dataflow/movement.hpp"
#include "sim/oracle.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/plan_builder.hpp"
#include "tests/sim/test_clusters.hpp"

using pcg::BetweenStages;
using sim::CollectiveKind;

namespace {

constexpr double kElements = 1 << 20, kSize = 4 * kElements;

sim::Layout rows_on(std::vector<pcg::DeviceId> devices, int parts) {
  const int copies = static_cast<int>(devices.size()) / parts;
  return {{{{1 << 20, parts}}, 1, copies, pcg::Element::real}, std::move(devices)};
}

sim::Movement moved(const sim::Layout& from, const sim::Layout& to, BetweenStages how, const topology::Cluster& cluster) {
  return sim::reshard(from, to, base::Bytes(4), cluster, how);
}

sim::Movement from_pair_to_pair(BetweenStages how, const topology::Cluster& cluster) {
  return moved(rows_on(test::devices(2), 1), rows_on(test::devices(2, 4), 1), how, cluster);
}

double seconds_of(const sim::Movement& m, const topology::Cluster& cluster) {
  const sim::Oracle oracle(cluster);
  double sum = 0;
  for (const sim::Round& r : m.rounds) sum += oracle.round(r).at().time.value();
  return sum;
}

double bytes_of(const sim::Movement& m, CollectiveKind kind) {
  double sum = 0;
  for (const sim::Round& r : m.rounds)
    for (const sim::Transfer& t : r)
      if (t.kind == kind) sum += t.bytes.value();
  return sum;
}

double half_gathered() { return kSize / 2 / test::kInsideBandwidth + test::kInsideLatency; }
double over_the_network(double bytes) { return bytes / test::kBetweenBandwidth + test::kBetweenLatency; }

// Two layers whose work is done twice, the first on devices 0 and 1 and the second on 2 and 3. What is handed on has kSize bytes.
pcg::Plan repeated_work(BetweenStages how, bool in_stages) {
  pcg::Plan p = test::plan_of(test::mlp(2, 1024, 1024), {{"*", {{"copies", 2}}}}, 4);
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = p.pcg.nodes()[n];
    p.stage[n] = node.block >= 2 ? 1 : 0;
    if (node.computes()) p.mapping[n].start = pcg::DeviceId(p.stage[n] == 1 ? 2 : 0);
  }
  for (std::size_t n = p.pcg.nodes().size(); n-- > 0;)
    for (const pcg::TensorRef t : p.pcg.nodes()[n].inputs)
      if (!p.pcg.node(t.node).computes()) p.stage[t.node.value] = p.stage[n];
  if (!in_stages) std::ranges::fill(p.stage, 0);
  p.stages = in_stages ? 2 : 1;
  p.between_stages = how;
  return p;
}

sim::SimulationResult repeated_work_run(BetweenStages how, bool in_stages = true) {
  const pcg::Plan plan = repeated_work(how, in_stages);
  REQUIRE(pcg::violations(plan).empty());
  return sim::simulate_plan(plan, test::plain_cluster(2, 2));
}

}  // namespace

TEST_CASE("copies go once and are gathered, or go to each, or are signals") {
  const topology::Cluster cluster = test::plain_cluster(2, 4);
  const sim::Movement gather = from_pair_to_pair(BetweenStages::local_all_gather, cluster),
                      send = from_pair_to_pair(BetweenStages::send_recv, cluster),
                      signal = from_pair_to_pair(BetweenStages::signal, cluster);
  CHECK(bytes_of(gather, CollectiveKind::send) == kSize);
  CHECK(bytes_of(gather, CollectiveKind::all_gather) == kSize);
  CHECK(bytes_of(send, CollectiveKind::send) == 2 * kSize);
  CHECK(bytes_of(send, CollectiveKind::all_gather) == 0);
  CHECK(bytes_of(signal, CollectiveKind::send) == 2);
  CHECK(seconds_of(gather, cluster) == test::about(over_the_network(kSize) + half_gathered()));
  CHECK(seconds_of(send, cluster) == test::about(over_the_network(2 * kSize)));
  CHECK(seconds_of(signal, cluster) == test::about(over_the_network(2)));
}

TEST_CASE("an iteration is as much longer as what is handed on, there and back") {
  const auto gather = repeated_work_run(BetweenStages::local_all_gather), send = repeated_work_run(BetweenStages::send_recv),
             signal = repeated_work_run(BetweenStages::signal);
  CHECK((send.iteration_time - signal.iteration_time).value() == test::about(2 * (over_the_network(2 * kSize) - over_the_network(2))));
  CHECK((gather.iteration_time - signal.iteration_time).value() ==
        test::about(2 * (over_the_network(kSize) + half_gathered() - over_the_network(2))));
  CHECK(signal.bytes.total.value() == 2 * 2);
  CHECK(send.bytes.total.value() == 2 * 2 * kSize);
}

TEST_CASE("signals are a bound, and the result says so; with one stage nothing changes") {
  const auto says = [](const sim::SimulationResult& r) {
    return std::ranges::count(r.notes, base::Fact("no-traffic-between-stages")) == 1;
  };
  CHECK(says(repeated_work_run(BetweenStages::signal)));
  CHECK_FALSE(says(repeated_work_run(BetweenStages::send_recv)));
  // Devices of one stage that hand on to others of it are not concerned.
  const auto plain = repeated_work_run(BetweenStages::local_all_gather, false), signal = repeated_work_run(BetweenStages::signal, false);
  CHECK(plain.iteration_time == signal.iteration_time);
  CHECK(plain.bytes.total == signal.bytes.total);
  CHECK_FALSE(says(signal));
}

TEST_CASE("partial sums are added up in their own stage in any case") {
  const topology::Cluster cluster = test::plain_cluster(2, 4);
  sim::Layout sums = rows_on(test::devices(2), 1);
  std::swap(sums.shape.sum, sums.shape.copy);
  for (const BetweenStages how : {BetweenStages::local_all_gather, BetweenStages::send_recv, BetweenStages::signal}) {
    const sim::Movement m = moved(sums, rows_on(test::devices(2, 4), 1), how, cluster);
    CHECK(m.rounds.size() == (how == BetweenStages::local_all_gather ? 3 : 2));
    CHECK(bytes_of(m, CollectiveKind::all_reduce) == kSize);
  }
}

TEST_CASE("with send and receive every device gets what it wants, in one round; signals have the same ends; gathered blocks come once") {
  const topology::Cluster cluster = test::plain_cluster(4, 4);
  CHECK(rc::check([&] {
    const auto power = [](int most) { return 1 << *rc::gen::inRange(0, most + 1); };
    const int first = power(3), second = power(3), held = std::min(first, power(3)), wanted = std::min(second, power(3));
    const sim::Layout from = rows_on(test::devices(first), held), to = rows_on(test::devices(second, 8), wanted);
    const sim::Movement send = moved(from, to, BetweenStages::send_recv, cluster), signal = moved(from, to, BetweenStages::signal, cluster),
                        gather = moved(from, to, BetweenStages::local_all_gather, cluster);
    RC_ASSERT(send.rounds.size() == 1U);
    RC_ASSERT(signal.rounds.size() == 1U);
    RC_ASSERT(send.rounds[0].size() == signal.rounds[0].size());
    std::map<pcg::DeviceId, double> got;
    for (std::size_t k = 0; k < send.rounds[0].size(); ++k) {
      const sim::Transfer &all = send.rounds[0][k], &byte = signal.rounds[0][k];
      RC_ASSERT(all.kind == CollectiveKind::send);
      RC_ASSERT(all.group == byte.group);
      RC_ASSERT(byte.bytes == base::Bytes(1));
      got[all.group[1]] += all.bytes.value();
    }
    RC_ASSERT(got.size() == to.devices.size());
    for (const auto& [device, bytes] : got) RC_ASSERT(bytes == kSize / wanted);
    // A block once for each node that wants it.
    std::set<std::pair<int, int>> once;
    for (int p = 0; p < second; ++p)
      once.emplace(cluster.device(to.devices[static_cast<std::size_t>(p)]).domain, pcg::shard_index(to.shape, p).block[0]);
    RC_ASSERT(bytes_of(gather, CollectiveKind::send) == kSize / wanted * static_cast<double>(once.size()));
    // Within a number of messages for each device: all of it, or nothing.
    std::map<pcg::DeviceId, std::size_t> sent;
    for (const sim::Round& r : gather.rounds)
      for (const sim::Transfer& t : r)
        if (t.kind == CollectiveKind::send) ++sent[t.group[0]];
    const std::size_t most = std::ranges::max(sent | std::views::values);
    RC_ASSERT(sim::reshard_within(from, to, base::Bytes(4), cluster, most) == gather);
    RC_ASSERT(!sim::reshard_within(from, to, base::Bytes(4), cluster, most - 1));
  }));
}
