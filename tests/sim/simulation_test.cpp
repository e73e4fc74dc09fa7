// Whole plans through lowering, folding and engine, against closed forms.
#include "sim/simulation.hpp"
#include "pcg/work/kernel.hpp"
#include "pcg/work/work.hpp"
#include "profiles/device_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "plan_builder.hpp"
#include "tests/about.hpp"

using base::Bytes;
using base::Seconds;

namespace {

const profiles::DeviceProfile& device() { return profiles::device_profile("v100-sxm2-16gb"); }

struct Kernels {  // of one part of a pass
  double seconds = 0;
  int count = 0;
  Kernels& operator+=(const std::vector<pcg::Kernel>& kernels) {
    for (const pcg::Kernel& k : kernels) seconds += profiles::kernel_time(device(), k, pcg::Precision::fp32).time.value();
    count += static_cast<int>(kernels.size());
    return *this;
  }
};

// Two linear layers and a loss: forward twice, weight gradient twice, one input gradient (the first layer's input is data).
Kernels two_layers(std::int64_t width, std::int64_t batch) {
  const pcg::TensorShape x{{batch, width}, pcg::Element::real}, w{{width, width}, pcg::Element::real};
  const std::vector<pcg::TensorShape> in{x, w}, out{x}, loss_in{x, x};
  const pcg::Linear linear{.out = width};
  Kernels k;
  for (int layer = 0; layer < 2; ++layer) {
    k += pcg::forward_kernels(linear, in, out, pcg::Precision::fp32);
    k += pcg::weight_gradient_kernels(linear, in, out, pcg::Precision::fp32);
  }
  k += pcg::input_gradient_kernels(linear, in, out, {true, false}, pcg::Precision::fp32);
  k += pcg::forward_kernels(pcg::SquaredError{}, loss_in, out, pcg::Precision::fp32);
  k += pcg::input_gradient_kernels(pcg::SquaredError{}, loss_in, out, {true, false}, pcg::Precision::fp32);
  return k;
}

}  // namespace

TEST_CASE("one device: the iteration is the first launch and the sum of its kernels") {
  const auto cluster = test::star(1, 1);
  const auto plan = test::plan_of(test::mlp(2, 4096, 1024), {}, 1);
  REQUIRE(pcg::violations(plan).empty());
  const auto r = sim::simulate_plan(plan, cluster);
  CHECK(r.bytes.total == Bytes(0));
  pcg::Kernel update;  // plain SGD reads the gradient and the weight and writes the weight: 12 B and 2 FLOPs a parameter
  update.kind = pcg::KernelKind::optimizer;
  update.bytes = Bytes(12.0 * 2 * 4096 * 4096);
  update.flops = base::Flops(2.0 * 2 * 4096 * 4096);
  Kernels all = two_layers(4096, 1024);
  all += {update};
  CHECK(r.breakdown.compute.value() == test::about(all.seconds));
  CHECK(r.breakdown.idle.value() == test::about(device().launch_overhead.value(), 1e-6));
  CHECK(r.iteration_time.value() == test::about(all.seconds + device().launch_overhead.value()));
}

TEST_CASE("a host slower than the kernels sets the pace: launches one after another, then the last kernel") {
  const auto cluster = test::star(1, 1);
  const auto plan = test::plan_of(test::mlp(2, 64, 8), {}, 1);
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->host.forward_kernel = config.framework->host.backward_kernel = Seconds(1e-3);
  config.framework->host.iteration = Seconds(5e-3);
  const Kernels k = two_layers(64, 8);
  const double launches = k.count * 1e-3 + 5e-3 + (k.count + 1) * device().launch_overhead.value();
  const auto r = sim::simulate_plan(plan, cluster, config);
  // The update of 8192 parameters is at the device's floor or a little above: well below 20 us.
  CHECK(r.iteration_time.value() > launches);
  CHECK(r.iteration_time.value() < launches + 20e-6);
  CHECK(r.breakdown.idle.value() > 0.9 * r.iteration_time.value());
}

TEST_CASE("a host that waits for its device before it reads a batch starts the next micro-batch that much later") {
  const auto cluster = test::star(1, 1);
  auto plan = test::plan_of(test::mlp(2, 2048, 512), {}, 1);
  plan.micro_batches = 2;
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->host.forward_kernel = Seconds(10e-3);
  const double ahead = sim::simulate_plan(plan, cluster, config).iteration_time.value();
  config.framework->host_waits_for_batch = true;
  const double waits = sim::simulate_plan(plan, cluster, config).iteration_time.value();
  // The forward pass is the host's pace. What its last kernel, the loss, and the backward pass take, the host waits for; a host that runs
  // ahead has only launched the backward kernels meanwhile.
  const Kernels all = two_layers(2048, 512);
  const pcg::TensorShape x{{512, 2048}, pcg::Element::real}, w{{2048, 2048}, pcg::Element::real};
  const std::vector<pcg::TensorShape> in{x, w}, out{x};
  Kernels forward;
  for (int layer = 0; layer < 2; ++layer) forward += pcg::forward_kernels(pcg::Linear{.out = 2048}, in, out, pcg::Precision::fp32);
  const double launches = (all.count - forward.count - 1) * device().launch_overhead.value();
  CHECK(waits - ahead == test::about(all.seconds - forward.seconds - launches, 1e-6));
}

TEST_CASE("launches that block put the host's times on top of the kernels'") {
  const auto plan = test::plan_of(test::mlp(2, 4096, 1024), {}, 1);
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->host.forward_kernel = config.framework->host.backward_kernel = Seconds(50e-6);
  const auto run = [&] { return sim::simulate_plan(plan, test::star(1, 1), config); };
  const auto ahead = run();
  config.framework->blocking_launches = true;
  const auto blocked = run();
  const double overhead = device().launch_overhead.value();
  const double launches = two_layers(4096, 1024).count * (50e-6 + overhead) + overhead;  // and the update's
  CHECK(ahead.breakdown.idle.value() == test::about(50e-6 + overhead));                  // the first kernel's
  CHECK(blocked.breakdown.idle.value() == test::about(launches));
  CHECK(blocked.iteration_time.value() == test::about(ahead.breakdown.compute.value() + launches));
  // The first all-reduce, of the last layer's gradient, could run beside the first layer's kernels.
  const auto together = [&] {
    const auto pair = test::plan_of(test::mlp(2, 4096, 1024), {{"*", {{"b", 2}}}}, 2);
    config.framework->gradient_bucket = Bytes(1);
    return sim::simulate_plan(pair, test::star(1, 2), config);
  };
  const auto one_by_one = together();
  config.framework->blocking_launches = false;
  CHECK(one_by_one.breakdown.exposed_communication > 1.5 * together().breakdown.exposed_communication);
}

TEST_CASE("a slow host holds up a group of equal devices once, not once each") {
  const auto plan = [](int gpus) {
    return test::plan_of(test::mlp(2, 64, 8), gpus > 1 ? test::Cuts{{"*", {{"b", gpus}}}} : test::Cuts{}, gpus);
  };
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->host.forward_kernel = config.framework->host.backward_kernel = Seconds(1e-3);
  config.framework->host.collective = Seconds(2e-3);
  const double alone = sim::simulate_plan(plan(1), test::star(1, 1), config).iteration_time.value();
  const double together = sim::simulate_plan(plan(4), test::star(1, 4), config).iteration_time.value();
  // Both gradients fit in one bucket: one more launch on the host, 2 ms. The all-reduce itself takes some 20 us.
  CHECK(together == test::about(alone + 2e-3, 0.01));
}

TEST_CASE("data parallelism moves each gradient once: 2 (n-1)/n of its bytes per device") {
  const auto cluster = test::star(1, 4);
  const auto plan = test::plan_of(test::mlp(3, 64, 8), {{"*", {{"b", 4}}}}, 4);
  const auto r = sim::simulate_plan(plan, cluster);
  const double weights = 3 * 64 * 64 * 4;
  CHECK(r.bytes.total.value() == test::about(4 * 2 * 0.75 * weights));
  CHECK(r.bytes.by_collective.at("all_reduce") == r.bytes.total);
  CHECK(r.bytes.by_link.at("wire") == r.bytes.total);
  CHECK(r.devices == 4);
  CHECK(r.simulated_devices == 1);
}

TEST_CASE("column then row parallel linears cost one all-reduce forward and, where a layer lies below, one backward") {
  // h = relu-free x.W1 cut on n, h.W2 cut on k: partial sums are added; W0 below makes the input gradient wanted.
  const auto cluster = test::star(1, 2);
  const auto g = test::mlp(3, 64, 8);
  const auto plan = test::plan_of(g,
                                  {{"layer0", {{"copies", 2}}},
                                   {"layer1", {{"n", 2}}},
                                   {"layer2", {{"k", 2}}},
                                   {"loss", {{"copies", 2}}},
                                   {"x", {{"copies", 2}}},
                                   {"target", {{"copies", 2}}}},
                                  2);
  const auto r = sim::simulate_plan(plan, cluster);
  const double activation = 8 * 64 * 4;
  // 2 devices x 2 all-reduces x 2 (n-1)/n = 1 x bytes; no gradient synchronisation: every weight gradient is whole where it is needed
  CHECK(r.bytes.total.value() == test::about(2 * 2 * activation));
}

TEST_CASE("a pipeline's bubble is (p - 1) slots over chunks") {
  const auto cluster = test::star(1, 4, "100000 GB/s", "0 us");
  // Four layers a stage, three matmuls a layer, so 12 units per slot but 11 in the first stage (data wants no gradient): the bubble is
  // 3 x 4 units forward and 8 + 8 + 7 backward = 35 / 12 slots, over the chunks. Loss and update are below 3 % of a slot.
  for (const auto& [kind, chunks] :
       {std::pair{pcg::ScheduleKind::gpipe, 1}, {pcg::ScheduleKind::one_f_one_b, 1}, {pcg::ScheduleKind::interleaved, 2}}) {
    const auto g = test::mlp(16, 4096, 1024);
    const auto time = [&](int m) {
      return sim::simulate_plan(test::pipeline_of(g, 4 * chunks, chunks, m, kind), cluster).iteration_time.value();
    };
    const double per = (time(64) - time(8)) / 56;
    CHECK(time(8) / per - 8 == test::about(35.0 / 12 / chunks, 0.05));
  }
}

TEST_CASE("a stage that waits for its message loses the message's time, once forward and once backward") {
  // GPipe over two stages, four layers each. A message of 1024 x 4096 x 4 B takes 168 us over wires of 100 GB/s, and 2 x 1 us to get there
  // (two wires); computing a micro-batch takes some 10 ms. Held up, the first stage forward and the second backward need that much longer
  // for every micro-batch; else the message travels while the next micro-batch is computed. The slower stage sets the pace: where nothing
  // is held up the second, which has the loss besides. So forward the message costs what it takes longer than the loss.
  const auto cluster = test::star(1, 2);
  const auto per_micro_batch = [&](bool overlap) {
    sim::SimulationConfig config;
    config.framework = profiles::framework_profile(pcg::Framework::generic);
    config.framework->overlap_stage_boundary = {overlap, overlap};
    const auto time = [&](int m) {
      return sim::simulate_plan(test::pipeline_of(test::mlp(8, 4096, 1024), 2, 1, m, pcg::ScheduleKind::gpipe), cluster, config)
          .iteration_time.value();
    };
    return (time(24) - time(8)) / 16;
  };
  const double message = 1024 * 4096 * 4 / 100e9 + 2e-6;
  const sim::SimulationResult r =
      sim::simulate_plan(test::pipeline_of(test::mlp(8, 4096, 1024), 2, 1, 8, pcg::ScheduleKind::gpipe), cluster, {.trace = true});
  const auto loss = std::ranges::find_if(r.spans, [](const sim::Span& s) { return s.name.starts_with("loss forward"); });
  REQUIRE(loss != r.spans.end());
  REQUIRE(loss->duration.value() < message);
  CHECK(per_micro_batch(false) - per_micro_batch(true) == test::about(2 * message - loss->duration.value(), 1e-6));
}

TEST_CASE("products take the share that the framework sustains, else that of the device") {
  const auto cluster = test::star(1, 1, "100 GB/s", "1 us", "a100-sxm-80gb");
  auto plan = test::plan_of(test::mlp(4, 4096, 4096), {}, 1);
  plan.training.precision = pcg::Precision::bf16;
  sim::SimulationConfig config;
  config.framework = profiles::framework_profile(pcg::Framework::generic);
  config.framework->sustained["a100"] = 1;
  const double bench = sim::simulate_plan(plan, cluster, config).breakdown.compute.value();
  config.framework->sustained["a100"] = 0.5;
  const double slow = sim::simulate_plan(plan, cluster, config).breakdown.compute.value();
  // Eleven products of 137 GFLOP take twice as long: a little less in all, since loss and update move bytes.
  CHECK(slow / bench > 1.8);
  CHECK(slow / bench < 2.0);
  config.framework->sustained["a100"] = profiles::device_profile("a100-sxm-80gb").sustained.at(pcg::Precision::bf16);
  const double same = sim::simulate_plan(plan, cluster, config).breakdown.compute.value();
  config.framework->sustained.clear();
  CHECK(sim::simulate_plan(plan, cluster, config).breakdown.compute.value() == same);
  config.framework->sustained["a100"] = 0.5;
  // In fp32 they run on vector units, which keep their rate.
  plan.training.precision = pcg::Precision::fp32;
  const double vector_units = sim::simulate_plan(plan, cluster, config).breakdown.compute.value();
  config.framework->sustained.clear();
  CHECK(sim::simulate_plan(plan, cluster, config).breakdown.compute.value() == vector_units);
}

TEST_CASE("products of equal tokens keep their benchmark rate, on one GPU and on many") {
  const auto compute = [&](bool equal, int gpus, sim::SimulationConfig config) {
    auto p = test::plan_of(test::mlp(4, 4096, 4096 * gpus), gpus > 1 ? test::Cuts{{"*", {{"b", gpus}}}} : test::Cuts{}, gpus);
    p.training.precision = pcg::Precision::bf16;
    p.training.constant_tokens = equal;
    return sim::simulate_plan(p, test::star(1, gpus, "100 GB/s", "1 us", "h100-sxm-80gb"), config).breakdown.compute.value();
  };
  sim::SimulationConfig benchmark, held;
  benchmark.framework = held.framework = profiles::framework_profile(pcg::Framework::generic);
  benchmark.framework->sustained["h100"] = 1;
  held.framework->sustained["h100"] = 0.5;
  CHECK(compute(true, 1, {}) == compute(false, 1, benchmark));
  CHECK(compute(true, 1, held) == compute(false, 1, benchmark));
  // Of eight GPUs that give way the slowest sets the pace; of eight that do not, none is slower. Nothing runs beside a collective, which
  // would slow kernels, too.
  sim::SimulationConfig apart;
  apart.framework = profiles::framework_profile(pcg::Framework::generic);
  apart.framework->overlap_gradients = false;
  CHECK(compute(false, 8, apart) > 1.01 * compute(false, 1, apart));
  CHECK(compute(true, 8, apart) == test::about(compute(true, 1, apart)));
}

TEST_CASE("stage boundaries carry the activation forward and its gradient backward, once per micro-batch") {
  const auto cluster = test::star(1, 4);
  const auto plan = test::pipeline_of(test::mlp(8, 64, 8), 4, 1, 6, pcg::ScheduleKind::one_f_one_b);
  const auto r = sim::simulate_plan(plan, cluster);
  CHECK(r.bytes.total.value() == test::about(6 * 3 * 2 * 8 * 64 * 4));
  CHECK(r.bytes.by_collective.at("send") == r.bytes.total);
}

TEST_CASE("the breakdown adds up to the iteration time") {
  const auto cluster = test::star(2, 2, "1 GB/s", "5 us");
  for (const auto& plan : {test::plan_of(test::mlp(3, 64, 8), {{"*", {{"b", 4}}}}, 4),
                           test::pipeline_of(test::mlp(8, 64, 8), 4, 1, 6, pcg::ScheduleKind::gpipe)}) {
    const auto r = sim::simulate_plan(plan, cluster);
    const auto& b = r.breakdown;
    CHECK(b.total().value() == test::about(r.iteration_time.value(), 1e-12));
  }
}

TEST_CASE("replicas wait for all-reduces, over the narrowest link; stages for messages") {
  const auto cluster = test::star(2, 2, "1 GB/s", "5 us");
  const sim::Breakdown replicas = sim::simulate_plan(test::plan_of(test::mlp(3, 64, 8), {{"*", {{"b", 4}}}}, 4), cluster).breakdown;
  CHECK(replicas.exposed_communication > base::Seconds());
  CHECK(replicas.exposed_by_collective == std::map<std::string, base::Seconds>{{"all_reduce", replicas.exposed_communication}});
  CHECK(replicas.exposed_by_link.size() == 1);
  const sim::Breakdown stages =
      sim::simulate_plan(test::pipeline_of(test::mlp(8, 64, 8), 4, 1, 6, pcg::ScheduleKind::gpipe), cluster).breakdown;
  CHECK(stages.exposed_by_collective.size() == 1);
  CHECK(stages.exposed_by_collective.at("send").value() == test::about(stages.exposed_communication.value()));
}

TEST_CASE("ZeRO shards what it says and moves what it says") {
  // Mixed-precision Adam: 2 + 2 + 12 bytes a parameter (ZeRO, SC'20). Bytes sent per device and iteration: ZeRO-1 and -2 reduce-scatter
  // gradients and all-gather weights, (n-1)/n Psi each; ZeRO-3 gathers twice and reduces once.
  const auto cluster = test::star(1, 4);
  const double parameters = 3 * 64 * 64;
  const double per_parameter[] = {16, 4 + 12 / 4.0, 2 + 14 / 4.0, 16 / 4.0};
  const double gathers_and_reductions[] = {2, 2, 2, 3};
  for (int zero = 0; zero <= 3; ++zero) {
    auto plan = test::plan_of(test::mlp(3, 64, 8), {{"*", {{"b", 4}}}}, 4);
    plan.training.precision = pcg::Precision::fp16;
    plan.training.optimizer = pcg::Optimizer::adam;
    plan.zero = zero;
    const auto r = sim::simulate_plan(plan, cluster);
    CHECK((r.memory.weights + r.memory.gradients + r.memory.optimizer).value() == test::about(per_parameter[zero] * parameters));
    CHECK(r.bytes.total.value() == test::about(4 * gathers_and_reductions[zero] * 0.75 * 2 * parameters));
  }
}

TEST_CASE("the busiest link is the one with most bytes over bandwidth") {
  // two devices, an all-reduce of S bytes: S up and S down each device's wire at 1 GB/s
  const auto cluster = test::star(1, 2, "1 GB/s", "0 us");
  const auto r = sim::simulate_plan(test::plan_of(test::mlp(3, 64, 8), {{"*", {{"b", 2}}}}, 2), cluster);
  REQUIRE(r.busiest_link);
  CHECK(r.busiest_link->type == "wire");
  CHECK(r.busiest_link->busy == test::about(3 * 64 * 64 * 4 / 1e9 / r.iteration_time.value()));
  CHECK(!sim::simulate_plan(test::plan_of(test::mlp(3, 64, 8), {}, 1), cluster).busiest_link);
}

TEST_CASE("spans are on streams of simulated devices and last as long as the iteration") {
  const auto cluster = test::star(1, 4);
  const auto r = sim::simulate_plan(test::pipeline_of(test::mlp(8, 64, 8), 4, 1, 6, pcg::ScheduleKind::one_f_one_b), cluster,
                                    {.fold = true, .trace = true, .collectives = {}});
  REQUIRE(!r.spans.empty());
  double last = 0, compute = 0;
  for (const sim::Span& s : r.spans) {
    CHECK(s.duration.value() >= 0);
    last = std::max(last, (s.start + s.duration).value());
    if (s.stream == "compute") compute += s.duration.value();
  }
  CHECK(last == test::about(r.iteration_time.value()));
  CHECK(!r.memory_over_time.empty());
}

TEST_CASE("memory over an iteration goes up and down layer by layer, and its most is the peak") {
  const auto cluster = test::star(1, 4);
  const auto graph = test::mlp(8, 64, 64);
  auto sharded = test::plan_of(graph, {{"*", {{"b", 4}}}}, 4);
  sharded.zero = 3;
  for (const pcg::Plan& plan :
       {test::plan_of(graph, {{"*", {{"b", 4}}}}, 4), sharded, test::pipeline_of(graph, 4, 1, 6, pcg::ScheduleKind::one_f_one_b)}) {
    const auto r = sim::simulate_plan(plan, cluster, {.trace = true});
    base::Bytes most;
    std::size_t ups = 0, downs = 0;
    for (std::size_t i = 0; i < r.memory_over_time.size(); ++i) {
      const sim::MemorySample& s = r.memory_over_time[i];
      most = std::max(most, s.used);
      if (i == 0 || r.memory_over_time[i - 1].device != s.device) continue;
      CHECK(r.memory_over_time[i - 1].time < s.time);
      (s.used > r.memory_over_time[i - 1].used ? ups : downs) += 1;
    }
    CHECK(most.value() == test::about(r.memory.peak.value()));
    CHECK(ups >= 8);  // a layer's activations at a time
    CHECK(downs >= 7);
  }
}

TEST_CASE("notes say what is assumed, where it matters") {
  const auto graph = test::mlp(4, 4096, 4096);
  const auto on = [&](const char* gpu, int gpus, pcg::Framework framework) {
    auto plan = test::plan_of(graph, gpus > 1 ? test::Cuts{{"*", {{"b", gpus}}}} : test::Cuts{}, gpus);
    plan.training.precision = pcg::Precision::fp16;
    plan.training.framework = framework;
    return sim::simulate_plan(plan, test::star(1, gpus, "100 GB/s", "1 us", gpu)).notes;
  };
  const auto has = [](const std::vector<base::Fact>& notes, const base::Fact& fact) { return std::ranges::count(notes, fact) == 1; };
  const auto has_any = [](const std::vector<base::Fact>& notes, const char* code) {
    return std::ranges::any_of(notes, [&](const base::Fact& f) { return f.code.starts_with(code); });
  };
  const auto l40s = on("l40s-48gb", 1, pcg::Framework::megatron), h20 = on("h20-sxm-96gb", 1, pcg::Framework::megatron),
             a100 = on("a100-sxm-80gb", 2, pcg::Framework::deepspeed);
  CHECK(has(l40s, base::Fact("sustained-assumed", 0.85, "l40s")));
  CHECK(has(h20, base::Fact("sustained-missing", "megatron", "h20")));
  CHECK_FALSE(has_any(a100, "sustained"));
  CHECK(has(l40s, base::Fact("host-times-assumed", "megatron")));
  CHECK(has(a100, base::Fact("host-times", "deepspeed")));
  CHECK_FALSE(has_any(on("a100-sxm-80gb", 1, pcg::Framework::generic), "host-times"));  // it has none
  CHECK(has_any(l40s, "default-efficiencies"));
  CHECK(has(a100, base::Fact("no-network-profile")));
  CHECK_FALSE(has_any(l40s, "no-network-profile"));  // nothing moves
  CHECK_FALSE(has_any(l40s, "network-profile"));
}
