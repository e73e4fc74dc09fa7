// ZeRO-3 gathers weights ahead of the computation: how far, and what that costs in time and memory.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "plan_builder.hpp"
#include "profiles/device_profile.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

constexpr int kLayers = 6;
constexpr std::int64_t kWidth = 4096;

pcg::Plan sharded(const pcg::Graph& g) {
  pcg::Plan plan = test::plan_of(g, {{"*", {{"b", 2}}}}, 2);
  plan.zero = 3;
  return plan;
}

sim::SimulationConfig ahead(int units) {
  sim::SimulationConfig config;
  config.trace = true;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->prefetch_units = units;
  return config;
}

struct Times {
  double start = 0, end = 0;
};

// Spans of a name, in order of time.
std::vector<Times> times_of(const sim::SimulationResult& r, const std::string& name) {
  std::vector<Times> found;
  for (const sim::Span& s : r.spans)
    if (s.name == name) found.push_back({s.start.value(), (s.start + s.duration).value()});
  std::ranges::sort(found, {}, &Times::start);
  REQUIRE_MESSAGE(!found.empty(), name);
  return found;
}
Times gather_of(const sim::SimulationResult& r, int layer, std::size_t pass) {
  return times_of(r, "all_gather weights of layer" + std::to_string(layer)).at(pass);
}
Times forward_of(const sim::SimulationResult& r, int layer) { return times_of(r, "layer" + std::to_string(layer) + " forward").front(); }

// When the last layer's forward pass starts, with a layer's gather g and its computation c alone.
struct Pace {
  double g, c, last_start;
};
Pace pace(std::int64_t batch, int units) {
  const auto cluster = test::star(1, 2, "10 GB/s", "0 us");
  const auto r = sim::simulate_plan(sharded(test::mlp(kLayers, kWidth, batch)), cluster, ahead(units));
  const auto alone = sim::simulate_plan(sharded(test::mlp(kLayers, kWidth, batch)), cluster, ahead(0));
  const Times g = gather_of(alone, 1, 0), c = forward_of(alone, 1);
  return {g.end - g.start, c.end - c.start, forward_of(r, kLayers - 1).start};
}

}  // namespace

TEST_CASE("nothing gathered ahead: every layer waits for its own gather, n g + (n-1) c before the last") {
  for (const std::int64_t batch : {512, 16384}) {
    const Pace p = pace(batch, 0);
    CHECK(p.last_start == test::about(kLayers * p.g + (kLayers - 1) * p.c, 0.005));
  }
}

TEST_CASE("one layer gathered ahead: the slower of gather and computation sets the pace, g + (n-1) max(g, c) before the last") {
  // Gathers alone: one after another, the computation hides behind them. Half of 4096 x 4096 x 4 B at 10 GB/s is 3.4 ms.
  const Pace narrow = pace(512, 1);
  REQUIRE(narrow.g > 1.5 * narrow.c);
  CHECK(narrow.last_start == test::about(kLayers * narrow.g, 0.005));
  // The computation is the slower: gather k + 1 runs beside layer k, once layer k - 1 is done. Beside a gather kernels take s times as
  // long, so in its g seconds g / s of a layer is done: a layer takes c + g (1 - 1/s).
  const Pace wide = pace(16384, 1);
  REQUIRE(wide.c > 1.5 * wide.g);
  const double s = profiles::device_profile("v100-sxm2-16gb").overlap_slowdown;
  CHECK(wide.last_start == test::about(wide.g + (kLayers - 1) * (wide.c + wide.g * (1 - 1 / s)), 0.005));
}

// On the way back a gather ahead goes out while the layer before is computed, hence before that layer's gradients are there to be
// scattered; with nothing ahead it follows them.
TEST_CASE("backward, weights gathered ahead go before the gradients of the layer that is computed meanwhile") {
  const auto cluster = test::star(1, 2, "10 GB/s", "0 us");
  const auto plan = sharded(test::mlp(kLayers, kWidth, 16384));
  const auto r = sim::simulate_plan(plan, cluster, ahead(1)), alone = sim::simulate_plan(plan, cluster, ahead(0));
  const auto scattered = [](const sim::SimulationResult& result, int layer) {
    return times_of(result, "reduce_scatter gradients of layer" + std::to_string(layer)).front();
  };
  for (int k = 0; k + 2 < kLayers; ++k) {
    CHECK(gather_of(r, k, 1).end <= scattered(r, k + 1).start + 1e-9);
    CHECK(gather_of(alone, k, 1).start >= scattered(alone, k + 1).end - 1e-9);
  }
  CHECK(r.iteration_time < alone.iteration_time);
}

TEST_CASE("gathered weights are whole for as many layers as are ahead, and the one that is computed") {
  const auto cluster = test::star(1, 2);
  const auto plan = sharded(test::mlp(kLayers, 512, 8));
  const double layer = 512 * 512 * 4.0;
  const auto peak = [&](int units) { return sim::memory_of(plan, cluster, ahead(units)).peak.value(); };
  for (int units = 1; units < kLayers; ++units) CHECK(peak(units) - peak(units - 1) == test::about(layer));
  CHECK(peak(kLayers) == peak(kLayers - 1));  // no more layers than there are
}

TEST_CASE("a plan's own prefetch goes before the framework's") {
  const auto cluster = test::star(1, 2);
  auto plan = sharded(test::mlp(kLayers, 512, 8));
  const auto of_framework = sim::memory_of(plan, cluster, ahead(3)).peak;
  plan.memory.zero.prefetch = 3;
  CHECK(sim::memory_of(plan, cluster, ahead(0)).peak == of_framework);
  plan.memory.zero.prefetch = 0;
  const auto r = sim::simulate_plan(plan, cluster, ahead(3));
  for (int k = 1; k < kLayers; ++k) CHECK(gather_of(r, k, 0).start >= forward_of(r, k - 1).end);
}

TEST_CASE("nothing is gathered ahead of a layer with a weight of as many parameters as may be live") {
  const auto cluster = test::star(1, 2, "10 GB/s", "0 us");
  const auto plan = sharded(test::mlp(kLayers, kWidth, 8));  // weights make the peak
  const auto with = [](int units, double live) {
    sim::SimulationConfig config = ahead(units);
    config.framework->memory.live_parameters = live;
    return config;
  };
  const auto last_start = [&](const sim::SimulationConfig& c) {
    return forward_of(sim::simulate_plan(plan, cluster, c), kLayers - 1).start;
  };
  const auto peak = [&](const sim::SimulationConfig& c) { return sim::memory_of(plan, cluster, c).peak; };
  const double weight = kWidth * kWidth;
  CHECK(last_start(with(1, weight)) == last_start(ahead(0)));
  CHECK(peak(with(1, weight)) == peak(ahead(0)));
  CHECK(last_start(with(1, weight + 1)) == last_start(ahead(1)));
  CHECK(peak(with(1, weight + 1)) == peak(ahead(1)));
}

TEST_CASE("weights that are kept are all whole when the backward pass begins; accumulated gradients are whole, too") {
  const auto cluster = test::star(1, 2);
  auto plan = sharded(test::mlp(kLayers, 512, 8));
  const double layer = 512 * 512 * 4.0;
  const auto use = [&] { return sim::memory_of(plan, cluster, ahead(1)); };
  const sim::MemoryUse freed = use();
  plan.memory.zero.keeps_weights = true;
  // Six layers in place of two: the one that is computed and one ahead.
  CHECK((use().peak - freed.peak).value() == test::about(4 * layer));
  plan.memory.zero = {.accumulates = true};
  // Six layers of gradients in place of half of them, and without one layer's besides.
  CHECK(use().gradients.value() == test::about(6 * layer));
  CHECK((use().peak - freed.peak).value() == test::about((6 - 3 - 1) * layer));
}

TEST_CASE("weights that are kept are gathered before the forward pass alone") {
  const auto cluster = test::star(1, 2);
  auto plan = sharded(test::mlp(kLayers, 512, 8));
  plan.memory.zero.keeps_weights = true;
  CHECK(times_of(sim::simulate_plan(plan, cluster, ahead(1)), "all_gather weights of layer1").size() == 1);
}

TEST_CASE("copies add up their shards of gradients when they are scattered, beside further gathers and scatters") {
  const auto cluster = test::star(2, 2, "1 GB/s");
  pcg::Plan plan = test::plan_of(test::mlp(kLayers, 512, 8), {{"*", {{"b", 4}}}}, 4);
  plan.zero = 3;
  plan.memory.zero.groups = 2;
  const auto r = sim::simulate_plan(plan, cluster, ahead(1));
  for (int k = 0; k < kLayers; ++k) {
    const std::string layer = std::to_string(k);
    const Times scattered = times_of(r, "reduce_scatter gradients of layer" + layer).at(0);
    CHECK(times_of(r, "all_reduce gradients of layer" + layer).at(0).start >= scattered.end);
  }
  // On wires so slow everything waits for them: the gather of layer 3 follows the scatter of layer 4, and does not wait until all nodes
  // have added that up.
  CHECK(gather_of(r, 3, 1).start < times_of(r, "all_reduce gradients of layer4").at(0).end);
}

TEST_CASE("layers of any size: no gather starts before the layer that lies too far behind is computed, and more ahead is never slower") {
  CHECK(rc::check([] {
    const int units = *rc::gen::inRange(0, 4);
    const auto widths = *rc::gen::container<std::vector<std::int64_t>>(7, rc::gen::element<std::int64_t>(64, 512, 2048, 4096));
    pcg::GraphBuilder b("uneven");
    b.begin_weightless_block("input");
    pcg::GraphTensorRef x = b.input("x", {{256, widths[0]}, pcg::Element::real});
    const pcg::GraphTensorRef y = b.input("target", {{256, widths[6]}, pcg::Element::real});
    for (int i = 0; i < kLayers; ++i) {
      b.begin_block("layer " + std::to_string(i));
      x = b.add("layer" + std::to_string(i), pcg::Linear{.out = widths[static_cast<std::size_t>(i) + 1]}, {x});
    }
    b.begin_weightless_block("loss");
    b.add("loss", pcg::SquaredError{}, {x, y});
    const pcg::Plan plan = sharded(std::move(b).build());
    const auto cluster = test::star(1, 2, "10 GB/s", "1 us");
    const auto r = sim::simulate_plan(plan, cluster, ahead(units));
    for (int k = units + 1; k < kLayers; ++k) RC_ASSERT(gather_of(r, k, 0).start >= forward_of(r, k - units - 1).end - 1e-12);
    const auto further = sim::simulate_plan(plan, cluster, ahead(units + 1));
    // Kernels beside gathers are slowed, so a little may be lost where nothing was to win.
    RC_ASSERT(further.iteration_time.value() <= r.iteration_time.value() * 1.05);
    RC_ASSERT(further.memory.peak >= r.memory.peak);
  }));
}

namespace {

// Layers, and a head that is none.
pcg::Graph with_head(std::int64_t width) {
  pcg::GraphBuilder b("mlp");
  b.begin_weightless_block("input");
  pcg::GraphTensorRef x = b.input("x", {{8, width}, pcg::Element::real});
  const pcg::GraphTensorRef y = b.input("target", {{8, width}, pcg::Element::real});
  for (int i = 0; i < kLayers; ++i) {
    b.begin_block("layer " + std::to_string(i));
    x = b.add("layer" + std::to_string(i), pcg::Linear{.out = width}, {x});
  }
  b.begin_weightless_block("head");
  x = b.add("head", pcg::Linear{.out = width}, {x});
  b.add("loss", pcg::SquaredError{}, {x, y});
  return std::move(b).build();
}

}  // namespace

TEST_CASE("a framework's root unit is gathered once for both passes, and whole in between") {
  const auto cluster = test::star(1, 2);
  const auto plan = sharded(with_head(512));
  sim::SimulationConfig freed = ahead(1), kept = ahead(1);
  kept.framework->keeps_root_unit = true;
  const auto gathers = [&](const sim::SimulationConfig& c) {
    const sim::SimulationResult r = sim::simulate_plan(plan, cluster, c);
    return std::ranges::count_if(r.spans, [](const sim::Span& span) { return span.name.starts_with("all_gather weights of "); });
  };
  CHECK(gathers(freed) == gathers(kept) + 1);
  // Beside two layers; what the head's own pass had saved is free by then.
  const double layer = 512 * 512 * 4.0,
               more = (sim::memory_of(plan, cluster, kept).peak - sim::memory_of(plan, cluster, freed).peak).value();
  CHECK(more <= layer);
  CHECK(more > 0.9 * layer);
}
