// Forward passes that are merged with the backward passes of other micro-batches, so that tokens travel beside kernels.
//
// A layer with experts, whose tokens travel four times in E seconds each. Its forward pass has three parts, f0 (up to dispatch), f1 (the
// experts), f2 (from combine on); its backward pass b0 (up to combine's gradient), b1 (the experts), b2 (from dispatch's gradient on).
// SeparateKernels, a micro-batch takes f0 + E + f1 + E + f2 + b0 + E + b1 + E + b2. Merged, kernels run in the order b0 f0 b1 f1 b2 f2 and
// tokens in the order combine's gradient, dispatch, dispatch's gradient, combine: each travels while the next part of the other pass runs.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "plan_builder.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/memory/memory.hpp"
#include "sim/program/program.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/simulation.hpp"
#include "tests/about.hpp"

namespace {

constexpr std::int64_t kMergedWidth = 1024, kMergedTokens = 2048, kMergedExperts = 4;

// Layers of a product, experts and a product, on two devices that share the samples and the experts out.
pcg::Plan with_experts(int layers, int stages, int micro_batches, bool merged) {
  pcg::GraphBuilder b("experts");
  b.begin_weightless_block("input");
  const std::int64_t samples = 2;
  pcg::GraphTensorRef x = b.input("x", {{samples, kMergedTokens, kMergedWidth}, pcg::Element::real});
  const pcg::GraphTensorRef y = b.input("target", {{samples, kMergedTokens, kMergedWidth}, pcg::Element::real});
  test::Cuts cuts{{"*", {{"b", 2}}}};
  for (int i = 0; i < layers; ++i) {
    const std::string n = std::to_string(i);
    b.begin_block("layer " + n);
    x = b.add("before" + n, pcg::Linear{.out = kMergedWidth}, {x});
    const pcg::GraphTensorRef gates = b.add("gates" + n, pcg::Softmax{}, {b.add("router" + n, pcg::Linear{.out = kMergedExperts}, {x})});
    x = b.add("dispatch" + n, pcg::MoeDispatch{.top_k = 2}, {x, gates});
    for (const char* name : {"up", "down"}) {
      x = b.add(name + n, pcg::ExpertLinear{.out = kMergedWidth}, {x});
      cuts[name + n] = {{"b", 1}, {"experts", 2}};
    }
    x = b.add("combine" + n, pcg::MoeCombine{.top_k = 2}, {x, gates});
    x = b.add("after" + n, pcg::Linear{.out = kMergedWidth}, {x});
  }
  b.begin_weightless_block("loss");
  b.add("loss", pcg::SquaredError{}, {x, y});
  const pcg::Graph graph = std::move(b).build();
  pcg::Plan plan = test::plan_of(graph, cuts, 2 * stages);
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const int block = plan.pcg.nodes()[n].block;  // the input, the layers, the loss
    plan.stage[n] = std::clamp((block - 1) * stages / layers, 0, stages - 1);
    if (plan.pcg.nodes()[n].computes()) plan.mapping[n].start = base::DeviceId(static_cast<std::size_t>(2 * plan.stage[n]));
  }
  for (std::size_t n = plan.pcg.nodes().size(); n-- > 0;)
    for (const pcg::TensorRef t : plan.pcg.nodes()[n].inputs)
      if (plan.pcg.node(t.node).is_source()) plan.stage[t.node.value] = plan.stage[n];
  plan.stages = stages;
  plan.micro_batches = micro_batches;
  plan.training.global_batch = samples * micro_batches;
  if (merged) plan.overlap.experts = true;
  return plan;
}

topology::Cluster wires(int devices, const std::string& bandwidth) { return test::star(1, devices, bandwidth, "0 us"); }

double seconds(const pcg::Plan& plan, const topology::Cluster& cluster, bool extrapolate = true) {
  sim::SimulationConfig config;
  config.extrapolate = extrapolate;
  return sim::simulate_plan(plan, cluster, config).iteration_time.value();
}

// What one more micro-batch takes.
double micro_batch_s(bool merged, const topology::Cluster& cluster) {
  return (seconds(with_experts(1, 1, 40, merged), cluster) - seconds(with_experts(1, 1, 20, merged), cluster)) / 20;
}

// Of the middle micro-batches of passes that are apart.
struct Measured {
  double exchange = 0, around_loss = 0;  // E, and f2 + b0
};
Measured measured(const topology::Cluster& cluster) {
  sim::SimulationConfig config;
  config.trace = true;
  const auto r = sim::simulate_plan(with_experts(1, 1, 4, false), cluster, config);
  const auto span = [&](const std::string& name) {
    const auto it = std::ranges::find(r.spans, name, &sim::Span::name);
    REQUIRE_MESSAGE(it != r.spans.end(), name);
    return *it;
  };
  const sim::Span combine = span("all_to_all tensor of down0, micro-batch 1"), back = span("all_to_all gradient of down0, micro-batch 1");
  return {combine.duration.value(), (back.start - combine.start - combine.duration).value()};
}

std::string text_of_slots(const std::vector<sim::Slot>& slots) {
  std::string s;
  for (const sim::Slot& x : slots)
    s += (x.pass == sim::Pass::forward ? "F" : "B") + std::to_string(x.micro_batch) + (x.chunk ? "'" : "") + (x.merged ? "|" : " ");
  return s;
}

}  // namespace

TEST_CASE("merged schedules warm up with two passes for each rank behind, and one more") {
  using enum pcg::ScheduleKind;
  CHECK(text_of_slots(sim::slots_of({one_f_one_b, 1, 1, 3, true}, 0)) == "F0 F1|B0 F2|B1 B2 ");
  CHECK(text_of_slots(sim::slots_of({one_f_one_b, 2, 1, 5, true}, 0)) == "F0 F1 F2 F3|B0 F4|B1 B2 B3 B4 ");
  CHECK(text_of_slots(sim::slots_of({one_f_one_b, 2, 1, 5, true}, 1)) == "F0 F1|B0 F2|B1 F3|B2 F4|B3 B4 ");
  // Rank 1 of 2 with two chunks: 2 (2-1-1) + (2-1) 2 + 1 = 3.
  CHECK(text_of_slots(sim::slots_of({interleaved, 2, 2, 4, true}, 1)) == "F0 F1 F0' F1'|B0' F2|B1' F3|B0 F2'|B1 F3'|B2' B3' B2 B3 ");
  CHECK(!sim::merges_something({one_f_one_b, 1, 1, 1, true}));
  CHECK(!sim::merges_something({gpipe, 2, 1, 8, true}));
}

TEST_CASE("what a rank keeps at most, and whether it merges, is known without its schedule") {
  using enum pcg::ScheduleKind;
  for (const pcg::ScheduleKind kind : {gpipe, one_f_one_b, interleaved, breadth_first})
    for (const bool merges : {false, true})
      for (const int ranks : {1, 2, 4})
        for (const int chunks : {1, 2, 3})
          for (const int micro_batches : {4, 8, 20}) {
            const bool is_chunked = kind == interleaved || kind == breadth_first;
            const sim::Schedule s{kind, ranks, is_chunked ? chunks : 1, micro_batches, merges};
            bool some = false;
            for (int rank = 0; rank < ranks; ++rank) {
              // A forward pass that is merged keeps layers as the backward pass after it frees them.
              int alive = 0, most = 0;
              bool was_merged = false;
              for (const sim::Slot& slot : sim::slots_of(s, rank)) {
                some = some || slot.merged;
                alive += slot.pass == sim::Pass::forward ? 1 : -1;
                if (!slot.merged && !was_merged) most = std::max(most, alive);
                was_merged = slot.merged;
              }
              CHECK(sim::most_alive(s, rank) == most);
            }
            CHECK(sim::merges_something(s) == some);
          }
}

TEST_CASE("the pass that has less behind it goes on, the backward pass first") {
  using enum sim::Pass;
  CHECK(sim::alternation(3, 3) == std::vector{backward, forward, backward, forward, backward, forward});
  CHECK(sim::alternation(1, 3) == std::vector{backward, forward, backward, backward});
  CHECK(sim::alternation(4, 2) == std::vector{backward, forward, forward, backward, forward, forward});
}

TEST_CASE("exchanges that take longer than the kernels: only the parts around the loss are not beside them") {
  // f2 waits for the last exchange, and the next micro-batch's first one for b0: a period of f2 + b0 + 4 E.
  const auto slow = wires(2, "2 GB/s");
  const Measured m = measured(slow);
  CHECK(micro_batch_s(true, slow) == test::about(m.around_loss + 4 * m.exchange, 1e-6));
}

TEST_CASE("kernels that take longer than the exchanges hide them, and are slowed beside them") {
  // E seconds beside an exchange do the work of E / s: the kernels c of a micro-batch take c + 4 E (1 - 1/s). SeparateKernels, three
  // exchanges have nothing beside them, and the weight gradient of the experts' first product hides the fourth: c + 3 E + E (1 - 1/s).
  const auto quick = wires(2, "50 GB/s");
  const Measured m = measured(quick);
  const double s = profiles::device_profile("v100-sxm2-16gb").overlap_slowdown, apart = micro_batch_s(false, quick);
  CHECK(micro_batch_s(true, quick) == test::about(apart - 3 * m.exchange / s, 1e-6));
}

TEST_CASE("no merged iteration is slower than one apart, but for its longer warm-up") {
  // The first forward passes and the last backward passes stand alone either way; what a pair takes at most is what its passes take apart.
  // Kernels beside exchanges are slower, but by less than the exchange takes. So the whole is no slower even here.
  for (const int stages : {1, 2})
    for (const char* bandwidth : {"2 GB/s", "10 GB/s", "100 GB/s"})
      for (const int m : {2, 3, 8, 21}) {
        CAPTURE(stages);
        CAPTURE(bandwidth);
        CAPTURE(m);
        const auto cluster = wires(2 * stages, bandwidth);
        CHECK(seconds(with_experts(2, stages, m, true), cluster) <= 1.001 * seconds(with_experts(2, stages, m, false), cluster));
      }
}

TEST_CASE("merged passes keep the activations of the micro-batches that the longer warm-up holds") {
  const auto activations = [](int stages, bool merged) {
    return sim::memory_of(with_experts(2, stages, 16, merged), wires(2 * stages, "10 GB/s")).activations.value();
  };
  // On one rank a forward pass makes what the backward pass beside it frees, a layer ahead of it.
  const pcg::Plan two_layers = with_experts(2, 1, 16, true);
  const topology::Cluster two = wires(2, "10 GB/s");
  const sim::DeviceMemory m =
      sim::device_memory(two_layers, sim::dataflow_of(two_layers), two, profiles::framework_profile(pcg::Framework::generic)).at(0);
  CHECK(activations(1, false) == m.saved[0].value());
  CHECK(activations(1, true) == test::about((m.saved[0] + m.layer[0]).value()));
  CHECK(m.layer[0].value() <= m.saved[0].value() / 2);
  // The first of two ranks holds 2 micro-batches of 1F1B, and 2 x 1 + 1 + 1 merged ones.
  CHECK(activations(2, true) == test::about(2 * activations(2, false)));
}

TEST_CASE("merged micro-batches that repeat themselves are extrapolated exactly") {
  for (const int stages : {1, 2}) {
    const auto cluster = wires(2 * stages, "10 GB/s");
    const pcg::Plan plan = with_experts(2, stages, 150, true);
    const auto r = sim::simulate_plan(plan, cluster);
    REQUIRE(r.simulated_micro_batches);
    CHECK(std::ranges::count(r.notes, base::Fact("folded-micro-batches", 150, *r.simulated_micro_batches)) == 1);
    CHECK(r.iteration_time.value() == test::about(seconds(plan, cluster, false)));
  }
}

TEST_CASE("a host that waits for the counts of tokens is not ahead of its device at a dispatch") {
  const topology::Cluster cluster = wires(2, "10 GB/s");
  const pcg::Plan plan = with_experts(2, 1, 1, false);
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  const auto time = [&] { return sim::simulate_plan(plan, cluster, config).iteration_time.value(); };
  const double ahead = time();
  config.framework->host_waits_for_tokens = true;
  CHECK(time() >= ahead);
  // Where the host sets the pace, each dispatch and combine of either pass adds what an exchange takes it.
  config.framework->host_waits_for_tokens = false;
  config.framework->host.forward_kernel = config.framework->host.backward_kernel = base::Seconds(50e-3);
  const double paced = time();
  config.framework->host.exchange = base::Seconds(10e-3);
  CHECK(time() - paced == test::about(2 * 2 * 2 * 10e-3, 0.02));
}

TEST_CASE("launches of merged passes alternate as their kernels do") {
  // Eight layers, whose kernels take longer than their launches. The device is idle after each dispatch, when the host has waited for it,
  // until the next launch: no more, however many launches the backward pass beside it has in all.
  constexpr int kLayers = 8;
  const topology::Cluster cluster = wires(2, "10 GB/s");
  const auto micro_batch_with = [&](double launch_s) {
    sim::SimulationConfig config;
    config.framework = profiles::framework_profile(pcg::Framework::generic);
    config.framework->host.forward_kernel = config.framework->host.backward_kernel = base::Seconds(launch_s);
    config.framework->host_waits_for_tokens = true;
    const auto time = [&](int m) { return sim::simulate_plan(with_experts(kLayers, 1, m, true), cluster, config).iteration_time.value(); };
    return (time(12) - time(6)) / 6;
  };
  for (const double launch_s : {120e-6, 160e-6, 200e-6}) CHECK(micro_batch_with(launch_s) - micro_batch_with(0) <= kLayers * launch_s);
}

TEST_CASE("a plan without experts says that merging its passes hides nothing") {
  pcg::Plan plan = test::pipeline_of(test::mlp(4, 256, 64), 2, 1, 8, pcg::ScheduleKind::one_f_one_b);
  plan.overlap.experts = true;
  CHECK(std::ranges::count(sim::simulate_plan(plan, test::star(1, 2)).notes, base::Fact("expert-overlap-unused")) == 1);
}
