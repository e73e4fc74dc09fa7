// The engine against numbers that can be derived by hand. Times in comments are seconds, links are in bytes per second.

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/check.hpp"
#include "sim/engine/phases_alone.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "tests/about.hpp"

namespace {

using sim::Flow;
using sim::Phase;
using sim::TaskGraph;
using sim::Timeline;

// A graph in the making: links and streams by number.
struct Graph {
  TaskGraph g;

  std::uint32_t link(double bandwidth) {
    g.links.emplace_back(bandwidth);
    return static_cast<std::uint32_t>(g.links.size() - 1);
  }
  std::uint32_t route(std::vector<sim::WeightedLink> links) {
    g.routes.push_back(std::move(links));
    return static_cast<std::uint32_t>(g.routes.size() - 1);
  }
  std::uint32_t stream(std::uint32_t device = 0, double slowdown = 1) {
    if (g.slowdown.size() <= device) g.slowdown.resize(device + 1, 1);
    g.slowdown[device] = std::max(g.slowdown[device], slowdown);
    g.streams.push_back({device});
    return static_cast<std::uint32_t>(g.streams.size() - 1);
  }
  std::uint32_t task(std::vector<Phase> phases, sim::StepKind kind, const std::vector<std::uint32_t>& streams,
                     const std::vector<std::uint32_t>& after = {}) {
    g.steps.push_back({std::move(phases), kind});
    return g.add(static_cast<std::uint32_t>(g.steps.size() - 1), streams, after);
  }
  std::uint32_t compute(double seconds, const std::vector<std::uint32_t>& streams, const std::vector<std::uint32_t>& after = {}) {
    return task({{base::Seconds(seconds), {}}}, sim::StepKind::kernels, streams, after);
  }
  std::uint32_t flow(double latency, std::uint32_t over, double bytes, const std::vector<std::uint32_t>& streams = {},
                     const std::vector<std::uint32_t>& after = {}) {
    return task({{base::Seconds(latency), {{over, base::Bytes(bytes)}}}}, sim::StepKind::transfer, streams, after);
  }
  Timeline run() const { return simulate(g); }
};

double start(const Timeline& t, std::uint32_t task) { return t.start[task].value(); }
double end(const Timeline& t, std::uint32_t task) { return t.end[task].value(); }
test::About to_twelve_digits(double value) { return test::about(value, 1e-12); }

bool same_bytes(const std::vector<base::Seconds>& a, const std::vector<base::Seconds>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(base::Seconds)) == 0;
}
bool same_bytes(const Timeline& a, const Timeline& b) {
  return same_bytes(a.start, b.start) && same_bytes(a.end, b.end) && a.activities == b.activities;
}

// A random graph: layered dependencies, delays, flows over shared links, slowdown.
Graph random_graph() {
  Graph g;
  const auto pick = [](int below) { return static_cast<std::uint32_t>(*rc::gen::inRange(0, below)); };
  for (int l = 0; l < 6; ++l) g.link(1e9 * (1 + pick(10)));
  for (int r = 0; r < 12; ++r) {
    std::vector<sim::WeightedLink> links;
    for (std::uint32_t l = pick(3); l < 6; l += 1 + pick(3)) links.push_back({l, static_cast<double>(1 + pick(3))});
    g.route(links);
  }
  for (std::uint32_t s = 0; s < 8; ++s) g.stream(s / 2, 1 + 0.125 * pick(4));
  for (std::uint32_t t = 0; t < 60; ++t) {
    std::vector<std::uint32_t> after;
    for (std::uint32_t k = pick(3); k > 0 && t > 0; --k) after.push_back(pick(static_cast<int>(t)));
    if (pick(2) == 0) g.compute(1e-6 * (1 + pick(1000)), {2 * pick(4)}, after);
    else g.flow(1e-7 * pick(50), pick(12), 1.0 * pick(1000000), {2 * pick(4) + 1}, after);
  }
  return g;
}

}  // namespace

TEST_CASE("a flow takes latency plus bytes over bandwidth") {
  Graph g;
  const std::uint32_t nvlink = g.route({{g.link(50e9)}});
  const std::uint32_t a = g.flow(1.3e-6, nvlink, 1e6);
  const std::uint32_t b = g.flow(0, nvlink, 1e9, {}, {a});
  const Timeline t = g.run();
  CHECK(end(t, a) == to_twelve_digits(1.3e-6 + 1e6 / 50e9));
  CHECK(end(t, b) - start(t, b) == to_twelve_digits(1e9 / 50e9));
  CHECK(t.makespan == t.end[b]);
  CHECK(t.activities == 3);  // one delay, two flows
}

TEST_CASE("the narrowest link of a route counts, and fractions of a byte are kept") {
  Graph g;
  const std::uint32_t r = g.route({{g.link(50e9)}, {g.link(12.5e9)}, {g.link(64e9)}});
  const std::uint32_t a = g.flow(0, r, 1e9 / 3);
  CHECK(end(g.run(), a) == to_twelve_digits(1e9 / 3 / 12.5e9));
}

TEST_CASE("latencies are no sharing weights: flows with different latencies share a link fairly") {
  // 10 MB each over 100 GB/s. Latencies 2 us and 8 us. Until 8 us the first is alone: 0.6 MB; then both at 50 GB/s. The first needs
  // 9.4 MB more: until 8 + 188 = 196 us. The second then has 0.6 MB left, alone: 6 us more, 202 us.
  Graph g;
  const std::uint32_t r = g.route({{g.link(100e9)}});
  const std::uint32_t a = g.flow(2e-6, r, 10e6), b = g.flow(8e-6, r, 10e6);
  const Timeline t = g.run();
  CHECK(end(t, a) == to_twelve_digits(196e-6));
  CHECK(end(t, b) == to_twelve_digits(202e-6));
}

TEST_CASE("two flows on a shared link take twice as long") {
  Graph g;
  const std::uint32_t nic = g.link(12.5e9);
  const std::uint32_t a = g.flow(0, g.route({{g.link(50e9)}, {nic}}), 1e8), b = g.flow(0, g.route({{g.link(50e9)}, {nic}}), 1e8);
  const Timeline t = g.run();
  CHECK(end(t, a) == to_twelve_digits(2 * 1e8 / 12.5e9));
  CHECK(end(t, b) == to_twelve_digits(2 * 1e8 / 12.5e9));
}

TEST_CASE("three flows over two links get max-min fair rates") {
  // Links of 1 and 3 GB/s. f0 crosses both, f1 the narrow one, f2 the wide one. All rates grow together until the narrow link is
  // full at 0.5 each; f0 and f1 stop, f2 takes what is left of the wide one, 2.5. 1 GB each: f2 ends at 0.4 s, f0 and f1 at 2 s.
  Graph g;
  const std::uint32_t narrow = g.link(1e9), wide = g.link(3e9);
  const std::uint32_t f0 = g.flow(0, g.route({{narrow}, {wide}}), 1e9), f1 = g.flow(0, g.route({{narrow}}), 1e9),
                      f2 = g.flow(0, g.route({{wide}}), 1e9);
  const Timeline t = g.run();
  CHECK(end(t, f0) == to_twelve_digits(2));
  CHECK(end(t, f1) == to_twelve_digits(2));
  CHECK(end(t, f2) == to_twelve_digits(0.4));
}

TEST_CASE("a flow of weight k takes k shares of a link") {
  // 1 GB/s. A flow of weight 3 beside one of weight 1: rates grow together until 3 r + r = 1, r = 1/4 GB/s. 1 GB and 0.25 GB: the
  // light one ends at 1 s; the heavy one then has 0.75 GB left and runs at 1/3 GB/s: 2.25 s more.
  Graph g;
  const std::uint32_t l = g.link(1e9);
  const std::uint32_t heavy = g.flow(0, g.route({{l, 3}}), 1e9), light = g.flow(0, g.route({{l, 1}}), 0.25e9);
  const Timeline t = g.run();
  CHECK(end(t, light) == to_twelve_digits(1));
  CHECK(end(t, heavy) == to_twelve_digits(3.25));
}

TEST_CASE("what a phase takes alone: flows that end together where they share links") {
  // Links of 1 and 4 GB/s. Two flows of 1 GB over the narrow one: 2 s each. A third over the wide one alone: 0.25 s.
  Graph g;
  const std::uint32_t narrow = g.link(1e9), wide = g.link(4e9), other = g.link(2e9);
  const std::uint32_t over_narrow = g.route({{narrow}}), over_wide = g.route({{wide}}), over_both = g.route({{narrow}, {other}});
  const auto alone = [&](std::vector<Flow> flows) { return sim::phase_alone(g.g, {base::Seconds(0), std::move(flows)}); };
  const base::Bytes gb(1e9);
  CHECK(alone({{over_narrow, gb}, {over_both, gb}, {over_wide, gb}}).flow_s == std::vector<double>{2, 2, 0.25});
  CHECK(alone({{over_narrow, gb}, {over_both, gb}, {over_wide, gb}}).seconds == 2);
  CHECK(alone({{over_narrow, gb}, {over_narrow, base::Bytes(0)}}).flow_s == std::vector<double>{1, 0});
  // The smaller one ends first and leaves the link to the other, so that rates change: a solver's business.
  CHECK(alone({{over_narrow, gb}, {over_both, 2 * gb}}).flow_s.empty());
  CHECK(sim::phase_alone(g.g, {base::Seconds(0), {}}).links.empty());
}

TEST_CASE("a phase takes what its flows take as tasks of their own") {
  // Tasks that start at one moment come to links that are taken, so that the solver shares these; the phase is alone where it can be.
  CHECK(rc::check("alone or shared", [] {
    Graph together = random_graph(), apart = together;
    for (Graph* g : {&together, &apart}) {
      g->g.tasks.clear();
      g->g.task_streams.clear();
      g->g.task_dependencies.clear();
    }
    const bool equal = *rc::gen::arbitrary<bool>();
    std::vector<Flow> flows;
    for (int f = *rc::gen::inRange(1, 8); f > 0; --f)
      flows.push_back(
          {static_cast<std::uint32_t>(*rc::gen::inRange(0, 12)), base::Bytes(equal ? 1e6 : 1.0 * *rc::gen::inRange(1, 1000000))});
    const std::uint32_t phase = together.task({{base::Seconds(1e-6), flows}}, sim::StepKind::transfer, {});
    double longest = 1e-6;
    std::vector<std::uint32_t> tasks;
    for (const Flow& f : flows) tasks.push_back(apart.flow(1e-6, f.route, f.bytes.value()));
    const Timeline t = apart.run();
    for (const std::uint32_t task : tasks) longest = std::max(longest, end(t, task));
    RC_ASSERT(std::abs(end(together.run(), phase) - longest) <= 1e-9 * longest);
  }));
}

TEST_CASE("a folded group and its members one by one take the same time") {
  // 4 equal flows out of 4 NICs (2 GB/s) over one uplink (4 GB/s) against one flow over one NIC with weight 4 on the uplink.
  Graph all, folded;
  const std::uint32_t uplink = all.link(4e9);
  for (int i = 0; i < 4; ++i) all.flow(1e-6, all.route({{all.link(2e9)}, {uplink}}), 1e9);
  folded.flow(1e-6, folded.route({{folded.link(2e9)}, {folded.link(4e9), 4}}), 1e9);
  CHECK(all.run().makespan.value() == to_twelve_digits(folded.run().makespan.value()));
}

TEST_CASE("weights need not be whole, only commensurate") {
  Graph g;
  const std::uint32_t l = g.link(1e9);
  const std::uint32_t a = g.flow(0, g.route({{l, 1.5}}), 1e9), b = g.flow(0, g.route({{l, 2.5}}), 1e9);  // 4 r = 1
  const Timeline t = g.run();
  CHECK(end(t, a) == to_twelve_digits(4));
  CHECK(end(t, b) == to_twelve_digits(4));
  Graph odd;
  const std::uint32_t k = odd.link(1e9);
  odd.flow(0, odd.route({{k, 1}}), 1e9);
  odd.flow(0, odd.route({{k, 1.2345678}}), 1e9);
  CHECK_THROWS_AS(static_cast<void>(odd.run()), base::InternalError);
}

TEST_CASE("a phase ends with its last flow, and the next follows") {
  Graph g;
  const std::uint32_t fast = g.route({{g.link(2e9)}}), slow = g.route({{g.link(1e9)}});
  const std::uint32_t a = g.task(
      {{base::Seconds(0.5), {{fast, base::Bytes(1e9)}, {slow, base::Bytes(1e9)}}}, {base::Seconds(0.25), {{fast, base::Bytes(1e9)}}}},
      sim::StepKind::transfer, {});
  CHECK(end(g.run(), a) == to_twelve_digits(0.5 + 1 + 0.25 + 0.5));
}

TEST_CASE("flows of no bytes or no links, empty phases and empty tasks take no time") {
  Graph g;
  const std::uint32_t r = g.route({{g.link(1e9)}}), nowhere = g.route({});
  const std::uint32_t a = g.task({{base::Seconds(0), {{r, base::Bytes(0)}, {nowhere, base::Bytes(1e9)}}}, {}}, sim::StepKind::transfer, {});
  const std::uint32_t b = g.task({}, sim::StepKind::kernels, {}, {a});
  const Timeline t = g.run();
  CHECK(end(t, b) == 0);
  CHECK(t.activities == 0);
  CHECK(simulate(TaskGraph{}).makespan == base::Seconds(0));
}

TEST_CASE("a stream runs its tasks one at a time in the order listed") {
  // The second task of stream 0 waits for a dependency until 5; the third, ready at 0, must wait behind it.
  Graph g;
  const std::uint32_t s0 = g.stream(0), s1 = g.stream(0);
  const std::uint32_t other = g.compute(5, {s1});
  const std::uint32_t first = g.compute(1, {s0}), second = g.compute(1, {s0}, {other}), third = g.compute(1, {s0});
  const Timeline t = g.run();
  CHECK(start(t, first) == 0);
  CHECK(start(t, second) == to_twelve_digits(5));
  CHECK(start(t, third) == to_twelve_digits(6));
}

TEST_CASE("a task on several streams starts when it heads all of them") {
  Graph g;
  const std::uint32_t s0 = g.stream(0), s1 = g.stream(1);
  g.compute(1, {s0});
  g.compute(2, {s1});
  const std::uint32_t both = g.compute(1, {s0, s1}), after = g.compute(1, {s0});
  const Timeline t = g.run();
  CHECK(start(t, both) == to_twelve_digits(2));
  CHECK(start(t, after) == to_twelve_digits(3));
}

TEST_CASE("a compute task is slowed exactly while a communicating task runs on its device") {
  // Slowdown 1.25. Compute of 10 from 0. A transfer from 2 to 6 (1 latency, 3 of flow): while it runs, 4 s do 3.2 s of work. So the
  // kernel ends at 10.8. A kernel on another device is not slowed; nor is one on the same device after the transfer.
  Graph g;
  const std::uint32_t compute = g.stream(0, 1.25), comm = g.stream(0), other = g.stream(1, 1.25);
  const std::uint32_t r = g.route({{g.link(1e9)}});
  const std::uint32_t before = g.compute(2, {other});
  const std::uint32_t slowed = g.compute(10, {compute}), later = g.compute(1, {compute}), free = g.compute(10, {other});
  const std::uint32_t transfer = g.flow(1, r, 3e9, {comm}, {before});
  const Timeline t = g.run();
  CHECK(end(t, transfer) == to_twelve_digits(6));
  CHECK(end(t, slowed) == to_twelve_digits(10.8));
  CHECK(end(t, later) == to_twelve_digits(11.8));
  CHECK(end(t, free) == to_twelve_digits(12));
}

TEST_CASE("two communicating tasks slow a kernel no more than one, from the first's start to the last's end") {
  // Slowdown 2. Transfers 0..3 and 2..5 (delays only, each on its stream): 5 s do 2.5 s of work of 4; the rest ends at 6.5.
  Graph g;
  const std::uint32_t compute = g.stream(0, 2), a = g.stream(0), b = g.stream(0), timer = g.stream(1);
  const std::uint32_t kernel = g.compute(4, {compute}), wait = g.compute(2, {timer});
  g.task({{base::Seconds(3), {}}}, sim::StepKind::transfer, {a});
  g.task({{base::Seconds(3), {}}}, sim::StepKind::transfer, {b}, {wait});
  CHECK(end(g.run(), kernel) == to_twelve_digits(6.5));
}

TEST_CASE("a kernel that starts inside a transfer is slowed from its start") {
  // Slowdown 1.5, transfer 0..3; the kernel of 2 starts at 1: 2 s do 4/3, the rest 2/3: ends at 3.667.
  Graph g;
  const std::uint32_t compute = g.stream(0, 1.5), comm = g.stream(0);
  g.task({{base::Seconds(3), {}}}, sim::StepKind::transfer, {comm});
  const std::uint32_t wait = g.compute(1, {g.stream(1)});
  const std::uint32_t kernel = g.compute(2, {compute}, {wait});
  CHECK(end(g.run(), kernel) == to_twelve_digits(3 + 2.0 / 3));
}

TEST_CASE("tasks that wait for each other are named") {
  Graph g;
  const std::uint32_t s0 = g.stream(0);
  g.compute(1, {s0}, {1});  // waits for the task behind it on its stream
  g.compute(1, {s0});
  try {
    static_cast<void>(g.run());
    FAIL("no exception");
  } catch (const base::InternalError& e) {
    CHECK(std::string(e.what()).find("2 of 2 never ended, task 0 still waits for 1") != std::string::npos);
  }
  Graph bad;
  bad.compute(1, {7});
  CHECK_THROWS_AS(static_cast<void>(bad.run()), base::InternalError);
  sim::TaskGraph lost;
  lost.routes = {{{0, 1}}};  // over a link that is not there
  CHECK_THROWS_AS(static_cast<void>(sim::simulate(lost)), base::InternalError);
}

TEST_CASE("flows of any size that a link carries keep their times") {
  // Two flows of equal bytes share 100 GB/s: 2 x bytes / 100 GB/s.
  for (const double bytes : {1e3, 1e9, 1e14, 1e15, 1e19, 1e21}) {
    CAPTURE(bytes);
    Graph g;
    const std::uint32_t r = g.route({{g.link(100e9)}});
    const std::uint32_t a = g.flow(0, r, bytes), b = g.flow(0, r, bytes);
    const Timeline t = g.run();
    CHECK(end(t, a) == test::about(2 * bytes / 100e9));
    CHECK(end(t, b) == test::about(2 * bytes / 100e9));
  }
}

// The clock keeps 2^-39 s where the short task ends, at 3 * 2^-39 s behind the second, and 2^-38 s, 3.6 ps, where the flows end. A step
// from the one to the other rounds twice, both times to even, and is 2^-38 s too long: flows that it passes by more than the precision
// stay.
TEST_CASE("flows end though one step to their end would round beyond it") {
  Graph g;
  const std::uint32_t r = g.route({{g.link(0x1p23)}});
  const double shortly = 1 + 3 * 0x1p-39, late = 16390 + 0x1p-38;
  const std::uint32_t a = g.flow(0, r, late * 0x1p22), b = g.flow(0, r, late * 0x1p22), c = g.compute(shortly, {g.stream()});
  REQUIRE(shortly + (late - shortly) == late + 0x1p-38);
  const Timeline t = g.run();
  CHECK(end(t, a) == to_twelve_digits(late));
  CHECK(end(t, b) == to_twelve_digits(late));
  CHECK(end(t, c) == shortly);
}

// On a link of 1 B/s the clock's last bit is soon far above SimGrid's precision. Two flows start together; the short one ends after twice
// its bytes, the long one when all bytes have passed.
TEST_CASE("flows that take days end when their bytes have passed") {
  CHECK(rc::check("a long flow behind a short one", [] {
    Graph g;
    const std::uint32_t r = g.route({{g.link(1)}});
    const auto units_below = [](int bits) {
      return std::ldexp(static_cast<double>(*rc::gen::resize(100, rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << bits))), -16);
    };
    const double little = units_below(36), much = little + units_below(*rc::gen::inRange(36, 53));
    const std::uint32_t a = g.flow(0, r, little), b = g.flow(0, r, much);
    const Timeline t = g.run();
    RC_ASSERT(std::abs(end(t, a) - 2 * little) <= 1e-9 * little);
    RC_ASSERT(std::abs(end(t, b) - (little + much)) <= 1e-9 * much);
  }));
}

TEST_CASE("what lasts 2^k times as long ends 2^k times as late") {
  CHECK(rc::check("scaled times", [] {
    const Graph quick = random_graph();
    const double factor = std::exp2(*rc::gen::inRange(10, 60));
    Graph slow = quick;
    for (base::BytesPerSecond& l : slow.g.links) l = base::BytesPerSecond(l.value() / factor);
    for (sim::Step& s : slow.g.steps)
      for (Phase& p : s.phases) p.delay = base::Seconds(p.delay.value() * factor);
    const Timeline a = quick.run(), b = slow.run();
    for (std::size_t i = 0; i < a.end.size(); ++i) {
      const double expected = a.end[i].value() * factor;
      RC_ASSERT(std::abs(b.end[i].value() - expected) <= 1e-9 * expected);
    }
  }));
}

TEST_CASE("an exception while flows run leaves the engine fit for the next graph") {
  // Each time two flows share the link when a flow of infinite bytes is refused: behind a third flow's end (SimGrid's callback), behind a
  // delay (SimGrid's timer), and beside them at the start.
  const auto failing = [](bool after_flow, double delay) {
    Graph g;
    const std::uint32_t r = g.route({{g.link(100e9)}});
    g.flow(0, r, 1e9);
    g.flow(0, r, 2e9);
    std::vector<std::uint32_t> after;
    if (after_flow) after.push_back(g.flow(0, r, 1e6));
    g.flow(delay, r, std::numeric_limits<double>::infinity(), {}, after);
    return g;
  };
  for (int round = 0; round < 3; ++round) {
    CHECK_THROWS_AS(static_cast<void>(failing(true, 0).run()), base::InternalError);
    CHECK_THROWS_AS(static_cast<void>(failing(false, 1e-6).run()), base::InternalError);
    CHECK_THROWS_AS(static_cast<void>(failing(false, 0).run()), base::InternalError);
    Graph g;
    const std::uint32_t r = g.route({{g.link(100e9)}});
    const std::uint32_t a = g.flow(0, r, 1e9), b = g.flow(0, r, 1e9);
    const Timeline t = g.run();
    CHECK(end(t, a) == to_twelve_digits(2e9 / 100e9));
    CHECK(end(t, b) == to_twelve_digits(2e9 / 100e9));
  }
}

TEST_CASE("equal graphs give equal bytes, however often and whatever ran between") {
  CHECK(rc::check("twice the same", [] {
    const Graph g = random_graph(), other = random_graph();
    const Timeline first = g.run();
    static_cast<void>(other.run());
    RC_ASSERT(same_bytes(first, g.run()));
  }));
}

TEST_CASE("the makespan is at least each stream's and each link's work") {
  CHECK(rc::check("bounds", [] {
    const Graph made = random_graph();
    const TaskGraph& g = made.g;
    const Timeline t = made.run();
    std::vector<double> stream_s(g.streams.size()), link_bytes(g.links.size());
    for (const sim::Task& task : g.tasks)
      for (const Phase& p : g.steps[task.step].phases) {
        for (std::uint32_t s = task.streams_begin; s < task.streams_end; ++s) stream_s[g.task_streams[s]] += p.delay.value();
        for (const Flow& f : p.flows)
          for (const sim::WeightedLink& l : g.routes[f.route]) link_bytes[l.link] += l.weight * f.bytes.value();
      }
    const double makespan = t.makespan.value() * (1 + 1e-9);
    for (const double s : stream_s) RC_ASSERT(makespan >= s);
    for (std::size_t l = 0; l < g.links.size(); ++l) RC_ASSERT(makespan >= link_bytes[l] / g.links[l].value());
    for (std::uint32_t i = 0; i < g.tasks.size(); ++i)
      for (std::uint32_t d = g.tasks[i].dependencies_begin; d < g.tasks[i].dependencies_end; ++d)
        RC_ASSERT(t.start[i] >= t.end[g.task_dependencies[d]]);
  }));
}

TEST_CASE("many graphs in one process") {
  Graph g;
  const std::uint32_t r = g.route({{g.link(12.5e9)}});
  g.flow(1.5e-6, r, 1e6);
  const Timeline first = g.run();
  for (int i = 0; i < 500; ++i) REQUIRE(same_bytes(first, g.run()));
}

TEST_CASE("a chain of 100,000 tasks is no problem") {
  Graph g;
  const std::uint32_t s = g.stream(0), r = g.route({{g.link(1e9)}});
  std::uint32_t last = g.compute(1e-6, {s});
  for (int i = 0; i < 50000; ++i) {
    last = g.flow(0, r, 1000, {}, {last});
    last = g.compute(i % 2 == 0 ? 1e-6 : 0, {s}, {last});
  }
  const Timeline t = g.run();
  CHECK(t.makespan.value() == test::about(1e-6 + 50000 * 1e-6 + 25000 * 1e-6));
}
