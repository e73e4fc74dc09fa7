// Attention whose positions are cut among c devices: keys and values go round in blocks, or are gathered. In each closed form t is the time
// of one of the c pieces of its kernels, and u that of a hop. Messages, unlike collectives, do not slow the kernels beside them.
#include <doctest/doctest.h>

#include <algorithm>

#include "plan_builder.hpp"
#include "profiles/device_profile.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "test_clusters.hpp"
#include "tests/about.hpp"

namespace {

constexpr std::int64_t kRingSequence = 16384, kRingHidden = 1024;

pcg::Plan attention_layer(int devices, pcg::KeyExchange exchange, std::int64_t window = 0) {
  pcg::GraphBuilder b("attention layer");
  b.begin_weightless_block("input");
  pcg::GraphTensorRef x = b.input("x", {{1, kRingSequence, kRingHidden}, pcg::Element::real});
  const pcg::GraphTensorRef y = b.input("target", {{1, kRingSequence, kRingHidden}, pcg::Element::real});
  b.begin_block("layer");
  x = b.add("before", pcg::Linear{.out = 3 * kRingHidden}, {x});
  x = b.add("attention", pcg::Attention{.heads = 8, .kv_heads = 8, .causal = true, .flash = true, .window = window}, {x});
  x = b.add("after", pcg::Linear{.out = kRingHidden}, {x});
  b.begin_weightless_block("loss");
  b.add("loss", pcg::SquaredError{}, {x, y});
  pcg::Plan plan = test::plan_of(std::move(b).build(), {{"*", {{"s", devices}, {"1", devices}}}}, devices);
  plan.key_exchange = exchange;
  return plan;
}

sim::SimulationResult attention_run(const pcg::Plan& plan, const std::string& bandwidth) {
  sim::SimulationConfig config;
  config.trace = true;
  return sim::simulate_plan(plan, test::star(1, plan.gpus, bandwidth, "0 us"), config);
}

struct RingSpans {
  double start = 1e300, end = 0, busy = 0;
  int count = 0;
  [[nodiscard]] double seconds() const { return end - start; }
};
RingSpans spans_named(const sim::SimulationResult& r, const std::string& name) {
  RingSpans t;
  for (const sim::Span& s : r.spans) {
    if (s.name != name || s.device != 0) continue;
    t.start = std::min(t.start, s.start.value());
    t.end = std::max(t.end, (s.start + s.duration).value());
    t.busy += s.duration.value();
    ++t.count;
  }
  REQUIRE_MESSAGE(t.count > 0, name);
  return t;
}

// Of a hop: the keys and values of a block, in fp32.
double block_bytes(int devices) { return static_cast<double>(kRingSequence) / devices * 2 * kRingHidden * 4; }

// Kernels alone are measured beside hops of a network of 1,000 TB/s.
constexpr double kAlone = 1e-6;

const std::string kForward = "attention forward", kBackward = "attention input gradient";
const std::string kHop = "send ring of attention", kGradientHop = "send ring gradient of attention";

}  // namespace

TEST_CASE("a ring hides all hops but those of slow networks: c - 1 times max(t, u), and t") {
  for (const int c : {2, 4}) {
    const auto alone = attention_run(attention_layer(c, pcg::KeyExchange::ring), "1000000 GB/s");
    const double t = spans_named(alone, kForward).busy / c;
    for (const double pace : {0.25, 4.0}) {  // u / t
      const double bandwidth = block_bytes(c) / (pace * t), u = pace * t;
      const auto r = attention_run(attention_layer(c, pcg::KeyExchange::ring), std::to_string(bandwidth) + " B/s");
      CHECK(spans_named(r, kForward).count == c);
      CHECK(spans_named(r, kForward).seconds() == test::about((c - 1) * std::max(t, u) + t, kAlone));
    }
  }
}

TEST_CASE("backward, keys go round again and gradients after them: the last hop is always exposed") {
  const int c = 4;
  const auto alone = attention_run(attention_layer(c, pcg::KeyExchange::ring), "1000000 GB/s");
  const double t = spans_named(alone, kBackward).busy / c, pace = 0.1, u = pace * t;
  const auto r = attention_run(attention_layer(c, pcg::KeyExchange::ring), std::to_string(block_bytes(c) / u) + " B/s");
  // Steps 0 and 1 run beside one hop of keys, step 2 beside one of keys and one of gradients, which share the link, and step 3 beside one
  // of gradients: each is done before its step.
  CHECK(spans_named(r, kBackward).seconds() == test::about(c * t, kAlone));
  CHECK(spans_named(r, kGradientHop).end - spans_named(r, kBackward).start == test::about(c * t + u, kAlone));
}

TEST_CASE("rings and gathers move the same bytes: c - 1 blocks a device forward, twice as many backward") {
  for (const int c : {2, 4}) {
    const double block = block_bytes(c) * c * (c - 1);
    const auto ring = attention_run(attention_layer(c, pcg::KeyExchange::ring), "10 GB/s");
    const auto gather = attention_run(attention_layer(c, pcg::KeyExchange::gather), "10 GB/s");
    CHECK(ring.bytes.by_collective.at("send").value() == test::about(3 * block));
    CHECK(gather.bytes.by_collective.at("all_gather").value() == test::about(2 * block));
    CHECK(gather.bytes.by_collective.at("reduce_scatter").value() == test::about(block));
    CHECK(ring.iteration_time < gather.iteration_time);
  }
}

TEST_CASE("where there is a window, keys are gathered all the same") {
  const auto r = attention_run(attention_layer(4, pcg::KeyExchange::ring, 1024), "10 GB/s");
  CHECK(!r.bytes.by_collective.contains("send"));
}

TEST_CASE("keys of others are held: all of them where they are gathered, two blocks in a ring; and their gradients") {
  const int c = 4;
  const auto cluster = test::star(1, c, "10 GB/s", "0 us");
  const auto transient = [&](pcg::KeyExchange exchange) { return sim::memory_of(attention_layer(c, exchange), cluster).workspace.value(); };
  CHECK(transient(pcg::KeyExchange::gather) - transient(pcg::KeyExchange::ring) == test::about(2 * (c - 2) * block_bytes(c)));
}
