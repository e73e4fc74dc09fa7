// ZeRO for some blocks of the graph: the weights of these are shared out, and all others are held as without it. D devices hold W bytes of
// weights, and as many of gradients, of each layer; m micro-batches run. With stage 3 a layer that is sharded
//   gathers    2 m (D-1) W      before each forward and each backward pass
//   scatters     m (D-1) W      after each micro-batch
// and a layer that is not all-reduces 2 (D-1) W, once per iteration.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "plan_builder.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/model_states.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

constexpr int kZeroDevices = 4;

// Layers of these widths and an input of the first one, as data parallelism over all devices.
pcg::Plan layers_of_widths(const std::vector<std::int64_t>& widths, int micro_batches) {
  const std::int64_t batch = 2 * kZeroDevices;
  pcg::GraphBuilder b("layers");
  b.begin_weightless_block("input");
  pcg::GraphTensorRef x = b.input("x", pcg::real({batch, widths.front()}));
  const pcg::GraphTensorRef y = b.input("target", pcg::real({batch, widths.back()}));
  for (std::size_t i = 1; i < widths.size(); ++i) {
    b.begin_block("layer " + std::to_string(i - 1));
    x = b.add("layer" + std::to_string(i - 1), pcg::Linear{.out = widths[i]}, {x});
  }
  b.begin_weightless_block("loss");
  b.add("loss", pcg::SquaredError{}, {x, y});
  pcg::Plan plan = test::plan_of(std::move(b).build(), {{"*", {{"b", kZeroDevices}}}}, kZeroDevices);
  plan.micro_batches = micro_batches;
  plan.training.global_batch = batch * micro_batches;
  plan.training.optimizer = pcg::Optimizer::adam;
  return plan;
}

pcg::Plan with_zero(pcg::Plan plan, int zero, std::vector<int> blocks = {}) {
  plan.zero = zero;
  plan.memory.zero.blocks = std::move(blocks);
  REQUIRE(pcg::violations(plan).empty());
  return plan;
}

std::vector<int> blocks_of_layers(const pcg::Plan& plan, const std::function<bool(int)>& chosen) {
  std::vector<int> blocks;
  int layer = 0;
  for (std::size_t b = 0; b < plan.pcg.blocks().size(); ++b)
    if (plan.pcg.blocks()[b].weighty && chosen(layer++)) blocks.push_back(static_cast<int>(b));
  return blocks;
}

std::vector<int> all_blocks(const pcg::Plan& plan) {
  std::vector<int> blocks;
  for (std::size_t b = 0; b < plan.pcg.blocks().size(); ++b) blocks.push_back(static_cast<int>(b));
  return blocks;
}

bool is_odd(int layer) { return layer % 2 == 1; }

const topology::Cluster& four_gpus() {
  static const topology::Cluster cluster = test::star(1, kZeroDevices, "10 GB/s", "0 us");
  return cluster;
}

// Closed forms are of the ring: other algorithms move other bytes.
sim::SimulationResult in_rings(const pcg::Plan& plan, int prefetched = 1) {
  sim::SimulationConfig config;
  config.trace = true;
  config.collectives.algorithm = sim::Algorithm::ring;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->prefetch_units = prefetched;
  return sim::simulate_plan(plan, four_gpus(), config);
}

double bytes_of_kind(const sim::SimulationResult& r, const std::string& kind) {
  const auto at = r.bytes.by_collective.find(kind);
  return at == r.bytes.by_collective.end() ? 0 : at->second.value();
}

// Of one device, all of one stage.
std::vector<sim::Span> spans_called(const sim::SimulationResult& r, const std::string& name) {
  std::vector<sim::Span> found;
  for (const sim::Span& s : r.spans)
    if (s.device == 0 && s.name.starts_with(name)) found.push_back(s);
  std::ranges::sort(found, {}, &sim::Span::start);
  return found;
}

sim::StateBytes states_of_first(const pcg::Plan& plan) {
  return sim::model_states(plan, sim::dataflow_of(plan), profiles::framework_profile(pcg::Framework::generic), plan.zero).at(0);
}

}  // namespace

TEST_CASE("half of the layers sharded: half of the bytes of all, and half of those of none") {
  constexpr double kBytes = 512.0 * 512 * 4, kRing = kZeroDevices - 1;
  const pcg::Plan plan = layers_of_widths({512, 512, 512, 512, 512}, 2);
  const sim::SimulationResult none = in_rings(with_zero(plan, 0)), all = in_rings(with_zero(plan, 3)),
                              half = in_rings(with_zero(plan, 3, blocks_of_layers(plan, is_odd)));
  for (const char* kind : {"all_gather", "reduce_scatter", "all_reduce"})
    CHECK(bytes_of_kind(half, kind) == test::about((bytes_of_kind(all, kind) + bytes_of_kind(none, kind)) / 2));
  CHECK(bytes_of_kind(half, "all_gather") == test::about(2 * (2 * 2 * kRing * kBytes)));
  CHECK(bytes_of_kind(half, "reduce_scatter") == test::about(2 * (2 * kRing * kBytes)));
  CHECK(bytes_of_kind(half, "all_reduce") == test::about(2 * (2 * kRing * kBytes)));
}

TEST_CASE("half of the layers sharded: half of the states of all, and half of those of none, at every stage") {
  const pcg::Plan plan = layers_of_widths({512, 512, 512, 512, 512}, 1);
  const sim::StateBytes none = states_of_first(with_zero(plan, 0));
  for (const int zero : {1, 2, 3}) {
    const sim::StateBytes all = states_of_first(with_zero(plan, zero)),
                          half = states_of_first(with_zero(plan, zero, blocks_of_layers(plan, is_odd)));
    CHECK(half.weights == (all.weights + none.weights) / 2);
    CHECK(half.gradients == (all.gradients + none.gradients) / 2);
    CHECK(half.optimizer == (all.optimizer + none.optimizer) / 2);
  }
  // Of 4 layers of 512 x 512 in fp32 two are whole, and of two a quarter.
  CHECK(states_of_first(with_zero(plan, 3, blocks_of_layers(plan, is_odd))).weights.value() == (2 + 2 / 4.0) * 512 * 512 * 4);
}

TEST_CASE("half of the layers sharded: a device updates half of what it would update of all and of none") {
  const pcg::Plan plan = layers_of_widths({4096, 4096, 4096, 4096, 4096}, 1);
  const auto seconds = [&](const pcg::Plan& p) { return spans_called(in_rings(p), "layer3.weight update").at(0).duration.value(); };
  for (const int zero : {1, 2, 3})
    CHECK(seconds(with_zero(plan, zero, blocks_of_layers(plan, is_odd))) ==
          test::about((seconds(with_zero(plan, zero)) + seconds(with_zero(plan, 0))) / 2));
}

TEST_CASE("a list of all blocks is no list, to the byte") {
  for (const int zero : {1, 2, 3})
    for (const bool overlaps : {false, true})
      for (const int micro_batches : {1, 3}) {
        pcg::Plan plan = layers_of_widths({64, 1024, 512, 2048, 512}, micro_batches);
        plan.training.clip_gradients = true;
        if (zero == 1) plan.overlap.gradients = overlaps;
        if (zero < 3) plan.overlap.parameters = overlaps;
        else plan.memory.zero.keeps_weights = overlaps;
        const sim::SimulationResult listed = in_rings(with_zero(plan, zero, all_blocks(plan))), all = in_rings(with_zero(plan, zero));
        CHECK(listed.iteration_time == all.iteration_time);
        CHECK(listed.bytes.by_collective == all.bytes.by_collective);
        CHECK(listed.memory.peak == all.memory.peak);
        CHECK(listed.memory.workspace == all.memory.workspace);
        CHECK(listed.activities == all.activities);
        REQUIRE(listed.spans.size() == all.spans.size());
        for (std::size_t i = 0; i < all.spans.size(); ++i) {
          CHECK(listed.spans[i].name == all.spans[i].name);
          CHECK(listed.spans[i].start == all.spans[i].start);
          CHECK(listed.spans[i].bytes == all.spans[i].bytes);
        }
      }
}

TEST_CASE("sharded layers are gathered and scattered one by one, and others fill buckets") {
  const pcg::Plan plan = layers_of_widths({512, 512, 512, 512, 512}, 2);
  const sim::SimulationResult r = in_rings(with_zero(plan, 3, blocks_of_layers(plan, is_odd)));
  for (const char* layer : {"layer1", "layer3"}) {
    CHECK(spans_called(r, std::string("all_gather weights of ") + layer).size() == 2 * 2);
    CHECK(spans_called(r, std::string("reduce_scatter gradients of ") + layer).size() == 2);
  }
  for (const char* layer : {"layer0", "layer2"}) CHECK(spans_called(r, std::string("all_gather weights of ") + layer).empty());
  // 2 MiB in all: one bucket, which is there when the last backward pass comes to its end.
  CHECK(spans_called(r, "all_reduce gradients").size() == 1);
  CHECK(spans_called(r, "all_reduce gradients of layer2").size() == 1);
}

TEST_CASE("groups that shard are for sharded layers alone: gradients of others are added up among all at once") {
  pcg::Plan plan = layers_of_widths({512, 512, 512}, 1);
  plan.memory.zero.groups = 2;
  const auto added = spans_called(in_rings(with_zero(plan, 3, blocks_of_layers(plan, is_odd))), "all_reduce gradients of layer0");
  REQUIRE(added.size() == 1);
  CHECK(added[0].bytes.value() == test::about(2 * 3 * 512.0 * 512 * 4));
}

TEST_CASE("a sharded block scatters once, however small the framework's buckets are, and others fill these") {
  pcg::GraphBuilder b("biased");
  b.begin_weightless_block("input");
  const pcg::GraphTensorRef x = b.input("x", pcg::real({64, 512})), y = b.input("y", pcg::real({64, 512}));
  b.begin_block("first");
  const pcg::GraphTensorRef first = b.add("first", pcg::Linear{.out = 512, .has_bias = true}, {x});
  b.begin_block("second");
  b.add("loss", pcg::SquaredError{}, {b.add("second", pcg::Linear{.out = 512, .has_bias = true}, {first}), y});
  const pcg::Plan plan = test::plan_of(std::move(b).build(), {{"*", {{"b", kZeroDevices}}}}, kZeroDevices);
  sim::SimulationConfig config;
  config.trace = true;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->gradient_bucket = base::Bytes(1);
  const auto r = sim::simulate_plan(with_zero(plan, 3, blocks_of_layers(plan, is_odd)), four_gpus(), config);
  CHECK(spans_called(r, "reduce_scatter gradients of second").size() == 1);
  CHECK(spans_called(r, "all_reduce gradients of first").size() == 2);
}

TEST_CASE("gradients of whole weights that are not overlapped are reduced behind the last backward pass") {
  pcg::Plan plan = layers_of_widths({512, 512, 512, 512, 512}, 2);
  plan.overlap.gradients = false;
  const sim::SimulationResult r = in_rings(with_zero(plan, 3, blocks_of_layers(plan, is_odd)));
  CHECK(bytes_of_kind(r, "all_reduce") == test::about(2 * 2 * 3 * 512.0 * 512 * 4));
  CHECK(bytes_of_kind(r, "reduce_scatter") == test::about(2 * 2 * 3 * 512.0 * 512 * 4));
  const auto reduced = spans_called(r, "all_reduce gradients");
  REQUIRE(reduced.size() == 1);
  for (const sim::Span& s : spans_called(r, "layer0 weight gradient")) CHECK(s.start + s.duration <= reduced[0].start);
}

TEST_CASE("layers that are not sharded do not count among those gathered ahead") {
  const pcg::Plan plan = layers_of_widths({4096, 4096, 4096, 4096, 4096, 4096}, 1);
  const auto even = [](int layer) { return layer % 2 == 0; };
  const sim::SimulationResult r = in_rings(with_zero(plan, 3, blocks_of_layers(plan, even)), 0);
  const auto gather = [&](int layer) { return spans_called(r, "all_gather weights of layer" + std::to_string(layer)).at(0).start; };
  const auto forward = [&](int layer) { return spans_called(r, "layer" + std::to_string(layer) + " forward").at(0); };
  // None ahead of the sharded layer that is computed: the gather runs beside the whole one behind that.
  CHECK(gather(2) >= forward(0).start + forward(0).duration);
  CHECK(gather(2) < forward(1).start + forward(1).duration);
  CHECK(gather(4) >= forward(2).start + forward(2).duration);
  // In memory at once: a layer's weights, where one is gathered ahead two, and its gradients.
  const auto room = [&](int prefetched) {
    sim::SimulationConfig config;
    config.framework = profiles::framework_profile(pcg::Framework::generic);
    config.framework->prefetch_units = prefetched;
    return sim::memory_of(with_zero(plan, 3, blocks_of_layers(plan, even)), four_gpus(), config).workspace.value();
  };
  constexpr double kLayerBytes = 4096.0 * 4096 * 4;
  CHECK(room(1) - room(0) == test::about(kLayerBytes));
  CHECK(room(3) - room(1) == test::about(kLayerBytes));  // there are three
}

TEST_CASE("a layer of two sharded in each stage of a pipeline: half of the bytes of all, and half of those of none") {
  using enum pcg::ScheduleKind;
  for (const pcg::ScheduleKind kind : {gpipe, one_f_one_b, zero_bubble}) {
    const pcg::Graph g = test::mlp(4, 512, 8);
    const auto third = std::ranges::find(g.blocks(), "layer 2", &pcg::Block::name) - g.blocks().begin();
    pcg::Plan plan = test::two_stages_of(g, 2, static_cast<int>(third), 3);
    plan.schedule = kind;
    const auto bytes = [&](const pcg::Plan& p, const char* word) { return bytes_of_kind(in_rings(p), word); };
    for (const char* word : {"all_gather", "reduce_scatter", "all_reduce"})
      CHECK(bytes(with_zero(plan, 3, blocks_of_layers(plan, is_odd)), word) ==
            test::about((bytes(with_zero(plan, 3), word) + bytes(with_zero(plan, 0), word)) / 2));
  }
}

TEST_CASE("a tied weight is held as its own block is, whoever reads it") {
  pcg::GraphBuilder b("tied");
  b.begin_block("first");
  const pcg::GraphTensorRef x = b.input("x", pcg::real({64, 512})), y = b.input("y", pcg::real({64, 512}));
  const pcg::GraphTensorRef w = b.weight("w", pcg::real({512, 512}));
  const pcg::GraphTensorRef first = b.add("first", pcg::Linear{.out = 512}, {x}, {w});
  b.begin_block("second");
  b.add("loss", pcg::SquaredError{}, {b.add("second", pcg::Linear{.out = 512}, {first}, {w}), y});
  const pcg::Plan plan = test::plan_of(std::move(b).build(), {{"*", {{"b", kZeroDevices}}}}, kZeroDevices);
  const auto block = [&](const std::string& name) {
    return static_cast<int>(std::ranges::find(plan.pcg.blocks(), name, &pcg::Block::name) - plan.pcg.blocks().begin());
  };
  constexpr double kBytes = 512.0 * 512 * 4;
  const pcg::Plan sharded = with_zero(plan, 3, {block("first")}), whole = with_zero(plan, 3, {block("second")});
  // Both blocks gather it before both passes, or none does.
  CHECK(bytes_of_kind(in_rings(sharded), "all_gather") == test::about(2 * 2 * 3 * kBytes));
  CHECK(bytes_of_kind(in_rings(whole), "all_gather") == 0);
  CHECK(states_of_first(sharded).weights.value() == kBytes / kZeroDevices);
  CHECK(states_of_first(whole).weights.value() == kBytes);
}

TEST_CASE("who holds all gradients between them: all devices, as soon as some weights are shared out") {
  const pcg::Plan plan = layers_of_widths({512, 512, 512}, 1);
  const auto copies = [](const pcg::Plan& p) {
    const sim::Dataflow data = sim::dataflow_of(p);
    return sim::model_copies(p, data.flow, data.synchronisation, p.zero).groups;
  };
  CHECK(copies(with_zero(plan, 0)).empty());
  CHECK(copies(with_zero(plan, 3, blocks_of_layers(plan, is_odd))) == copies(with_zero(plan, 3)));
  CHECK(copies(with_zero(plan, 3)).size() == 1);
}

TEST_CASE("any layers, any of them sharded: states and bytes are the sums of both kinds") {
  CHECK(rc::check([] {
    const auto widths = *rc::gen::container<std::vector<std::int64_t>>(6, rc::gen::element<std::int64_t>(64, 256, 512, 1024));
    const int micro_batches = *rc::gen::inRange(1, 4);
    pcg::Plan plan = layers_of_widths(widths, micro_batches);
    const pcg::Plan none = with_zero(plan, 0);
    const int zero = *rc::gen::inRange(1, 4);
    plan.memory.zero.groups = *rc::gen::element(1, 2);
    if (zero > 1) plan.memory.zero.accumulates = *rc::gen::arbitrary<bool>();
    if (zero > 2) plan.memory.zero.keeps_weights = *rc::gen::arbitrary<bool>();
    const int chosen = *rc::gen::inRange(1, (1 << 5) - 1);  // some layers, not all
    const pcg::Plan these = with_zero(plan, zero, blocks_of_layers(plan, [&](int layer) { return (chosen >> layer) % 2 == 1; })),
                    others = with_zero(plan, zero, blocks_of_layers(plan, [&](int layer) { return (chosen >> layer) % 2 == 0; })),
                    all = with_zero(plan, zero);
    const auto equal = [](double found, double right) { return std::abs(found - right) <= 1e-9 * right; };
    for (const auto part : {&sim::StateBytes::weights, &sim::StateBytes::gradients, &sim::StateBytes::optimizer})
      RC_ASSERT(equal((states_of_first(these).*part + states_of_first(others).*part).value(),
                      (states_of_first(all).*part + states_of_first(none).*part).value()));
    const sim::SimulationResult of_these = in_rings(these), of_others = in_rings(others), of_all = in_rings(all), of_none = in_rings(none);
    for (const char* kind : {"all_gather", "reduce_scatter", "all_reduce"})
      RC_ASSERT(equal(bytes_of_kind(of_these, kind) + bytes_of_kind(of_others, kind),
                      bytes_of_kind(of_all, kind) + bytes_of_kind(of_none, kind)));
  }));
}

TEST_CASE("from stage 1 on a device updates its share of the parameters alone") {
  // Updates of 17 million parameters wait for memory, so that a quarter of them takes a quarter of the time.
  const pcg::Plan plan = layers_of_widths({4096, 4096, 4096, 4096, 4096}, 1);
  const auto seconds = [&](int zero) {
    return spans_called(in_rings(with_zero(plan, zero)), "layer3.weight update").at(0).duration.value();
  };
  for (const int zero : {1, 2, 3}) CHECK(seconds(zero) == test::about(seconds(0) / kZeroDevices, 0.01));
}

TEST_CASE("a host takes its time for each unit once a pass, however many products it has") {
  pcg::GraphBuilder b("two products a block");
  b.begin_weightless_block("input");
  pcg::GraphTensorRef x = b.input("x", pcg::real({64, 512}));
  const pcg::GraphTensorRef y = b.input("y", pcg::real({64, 512}));
  for (const std::string layer : {"first", "second"}) {
    b.begin_block(layer);
    x = b.add(layer + ".two", pcg::Linear{.out = 512}, {b.add(layer + ".one", pcg::Linear{.out = 512}, {x})});
  }
  b.begin_weightless_block("loss");
  b.add("loss", pcg::SquaredError{}, {x, y});
  const pcg::Plan plan = with_zero(test::plan_of(std::move(b).build(), {{"*", {{"b", kZeroDevices}}}}, kZeroDevices), 3);
  const auto seconds = [&](double unit) {
    sim::SimulationConfig config;
    config.framework = profiles::framework_profile(pcg::Framework::generic);
    config.framework->host.unit = base::Seconds(unit);
    return sim::simulate_plan(plan, four_gpus(), config).iteration_time.value();
  };
  CHECK(seconds(2) - seconds(1) == test::about(2 * 2));  // two units, two passes
}
