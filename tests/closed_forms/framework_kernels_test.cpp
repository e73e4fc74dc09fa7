// What a framework's behaviours add to the kernels of a transformer layer, or take from them. Of n tokens of a device, width h, inner width
// f, k experts for each token, in half precision:
//   activation and product of a gated unit: forward 4 n f and 6 n f bytes, backward 6 n f and 10 n f; one kernel for both: 6 n f and 10 n
//   f; both projections in one product: the gradients of what they read are not added up, 6 n h less; rotation apart: so many bytes for
//   each element of queries and keys, 2 n h of them, in place of 4; blocks of other ranks' keys: so many for each element of attention's
//   output and of the block; RMS norms apart: so many for each element of what the three of them normalise, 3 n h, in place of what they
//   read and write and their weights, 2 h each; sorting what came by all-to-all, and what leaves: 4 k n h each, forward and backward;
//   copies around a ZeRO-3 unit: so many bytes for each of its parameters; a softmax that is not fused: so many for each score.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "profiles/device_profile.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/kernels/cost_table.hpp"
#include "sim/kernels/node_kernels.hpp"
#include "sim/lowering/lower.hpp"
#include "tests/about.hpp"

namespace {

constexpr double kBehaviourTokens = 512, kBehaviourWidth = 256, kBehaviourInner = 768,
                 kBehaviourExperts = 2;  // tokens of a device: two samples of 256

struct BehaviourCase {
  bool gated = false, rope = false, rms_norm = false;
  std::int64_t experts = 0, unfused_heads = 0;  // unfused_heads 0: fused attention of 4 heads
  search::GridConfig grid = {.data = 1};
  bool expert_biases = false;
  std::int64_t kv_heads = 4;
  bool repeated_keys = false;
};

pcg::Plan behaviour_plan(const BehaviourCase& c, const topology::Cluster& cluster) {
  pcg::models::TransformerConfig t;
  t.layers = 1;
  t.hidden = 256;
  t.ffn = 768;
  t.heads = c.unfused_heads > 0 ? c.unfused_heads : 4;
  if (c.unfused_heads > 0) t.attention = pcg::models::AttentionKind::unfused;
  t.kv_heads = c.unfused_heads > 0 ? c.unfused_heads : c.kv_heads;
  t.repeated_keys = c.repeated_keys;
  t.vocab = 512;
  t.sequence_length = 256;
  t.gated = c.gated;
  t.activation = pcg::Unary::Kind::silu;
  t.rope = c.rope;
  t.rms_norm = c.rms_norm;
  t.experts = c.experts;
  t.expert_biases = c.expert_biases;
  t.top_k = 2;
  t.dropout = 0;
  t.biases = false;
  pcg::TrainingConfig training = test::megatron_training(2 * c.grid.data);
  training.framework = pcg::Framework::generic;
  return test::megatron(pcg::models::transformer(t, 2 * c.grid.data), training, c.grid, cluster);
}

struct BehaviourBytes {
  double forward = 0, backward = 0, added = 0;  // bytes; added: gradients of tensors that several read
};

BehaviourBytes bytes_with(const BehaviourCase& c, const profiles::FrameworkProfile& framework) {
  const topology::Cluster cluster = test::dgx_a100(1, c.grid.data * c.grid.tensor * c.grid.context);
  const pcg::Plan plan = behaviour_plan(c, cluster);
  const sim::Dataflow data = sim::dataflow_of(plan);
  const auto sum = [](const std::vector<pcg::Kernel>& kernels) {
    double bytes = 0;
    for (const pcg::Kernel& k : kernels) bytes += k.bytes.value();
    return bytes;
  };
  BehaviourBytes m;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    if (!plan.pcg.nodes()[n].computes()) continue;
    const sim::NodeShape shape = sim::node_shape(plan, data.flow, n);
    m.forward += sum(sim::forward_kernels(shape, plan.training, framework));
    m.backward += sum(sim::input_gradient_kernels(shape, plan.training, framework));
    m.added += sum(sim::accumulation_kernels(plan, data.flow, framework, n));
  }
  return m;
}

// What a behaviour takes from the layer's kernels.
BehaviourBytes taken(const BehaviourCase& c, const profiles::FrameworkProfile& without, const profiles::FrameworkProfile& with) {
  const BehaviourBytes a = bytes_with(c, without), b = bytes_with(c, with);
  return {a.forward - b.forward, a.backward - b.backward, a.added - b.added};
}

}  // namespace

TEST_CASE("one kernel for activation and product of a gated unit reads and writes 4 n f and 6 n f bytes less") {
  profiles::FrameworkProfile fused;
  fused.fused_gated_activation = true;
  for (const std::int64_t experts : {0, 4}) {
    const double rows = experts == 0 ? kBehaviourTokens : kBehaviourExperts * kBehaviourTokens;
    const BehaviourBytes m = taken({.gated = true, .experts = experts}, {}, fused);
    CHECK(m.forward == test::about(4 * rows * kBehaviourInner));
    CHECK(m.backward == test::about(6 * rows * kBehaviourInner));
    CHECK(m.added == 0);
  }
  const BehaviourBytes plain = taken({}, {}, fused);
  CHECK(plain.forward == 0);
  CHECK(plain.backward == 0);
}

TEST_CASE("both projections in one product add up no gradients of what they read") {
  profiles::FrameworkProfile joint;
  joint.joint_gated_projections = true;
  CHECK(taken({.gated = true}, {}, joint).added == test::about(6 * kBehaviourTokens * kBehaviourWidth));
  CHECK(taken({.gated = true, .experts = 4}, {}, joint).added == test::about(6 * kBehaviourExperts * kBehaviourTokens * kBehaviourWidth));
  CHECK(taken({.gated = false}, {}, joint).added == 0);
  CHECK(taken({.gated = true}, {}, joint).forward == 0);
}

TEST_CASE("a rotation apart moves its own bytes for each element of queries and keys") {
  profiles::FrameworkProfile apart;
  apart.rotation = {base::Bytes(24), base::Bytes(34)};
  const BehaviourBytes m = taken({.rope = true}, apart, {});
  CHECK(m.forward == test::about((24 - 4) * 2 * kBehaviourTokens * kBehaviourWidth));
  CHECK(m.backward == test::about((34 - 4) * 2 * kBehaviourTokens * kBehaviourWidth));
  CHECK(taken({.rope = false}, apart, {}).forward == 0);
}

TEST_CASE(
    "blocks of other ranks' keys are merged and copied by their own bytes for each element, one block for each other rank of context") {
  profiles::FrameworkProfile apart;
  apart.context_merge = {.forward = base::Bytes(38), .backward = base::Bytes(10), .forward_kernels = 4};
  apart.context_copy = {.forward = base::Bytes(4), .backward = base::Bytes(25)};
  const auto joined = [&](int context, search::ContextKind kind) {
    return taken({.grid = {.data = 1, .context = context, .context_kind = kind}}, apart, {});
  };
  for (const auto kind : {search::ContextKind::ring, search::ContextKind::gather})
    for (const int context : {2, 4}) {
      const double elements = kBehaviourTokens / context * kBehaviourWidth * (context - 1);  // of attention's output, for all blocks
      CHECK(joined(context, kind).forward == test::about((38 + 2 * 4) * elements));
      CHECK(joined(context, kind).backward == test::about((10 + 2 * 25) * elements));
    }
  // Two of four heads share a key, unless it is repeated for each.
  const search::GridConfig two = {.data = 1, .context = 2};
  const double elements = kBehaviourTokens / 2 * kBehaviourWidth;
  CHECK(taken({.grid = two, .kv_heads = 2}, apart, {}).forward == test::about((38 + 4) * elements));
  CHECK(taken({.grid = two, .kv_heads = 2, .repeated_keys = true}, apart, {}).forward == test::about((38 + 2 * 4) * elements));
  CHECK(joined(2, search::ContextKind::ulysses).forward == 0);  // whole sequences of fewer heads
  CHECK(joined(1, search::ContextKind::ring).forward == 0);
}

TEST_CASE("RMS norms apart move their own bytes for each element, in so many kernels; a compiler fuses them") {
  profiles::FrameworkProfile apart, fused;
  apart.rms_norm = {.forward = base::Bytes(36), .backward = base::Bytes(76), .forward_kernels = 8, .backward_kernels = 12};
  const BehaviourBytes m = taken({.rms_norm = true}, apart, fused);
  constexpr double kNorms = 3, kWeight = 2 * kBehaviourWidth;
  CHECK(m.forward == test::about(kNorms * ((36 - 4) * kBehaviourTokens * kBehaviourWidth - kWeight)));
  CHECK(m.backward == test::about(kNorms * ((76 - 6) * kBehaviourTokens * kBehaviourWidth - kWeight)));
  CHECK(taken({.rms_norm = false}, apart, fused).forward == 0);  // with a mean: one kernel

  const topology::Cluster cluster = test::dgx_a100(1, 1);
  const pcg::Plan plan = behaviour_plan({.rms_norm = true}, cluster);
  const sim::Dataflow data = sim::dataflow_of(plan);
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    if (!plan.pcg.nodes()[n].computes() || !std::holds_alternative<pcg::LayerNorm>(*plan.pcg.nodes()[n].operation())) continue;
    const sim::NodeShape shape = sim::node_shape(plan, data.flow, n);
    CHECK(sim::forward_kernels(shape, plan.training, apart).size() == 8);
    CHECK(sim::input_gradient_kernels(shape, plan.training, apart).size() == 12);
    CHECK(sim::forward_kernels(shape, plan.training, fused).size() == 1);
  }
}

TEST_CASE("tokens that came by all-to-all to ranks of several experts are sorted, 4 k n h bytes a time") {
  profiles::FrameworkProfile sorts;
  sorts.sorts_exchanged_tokens = true;
  const auto passes = [&](int expert, pcg::Dispatch by) {
    const BehaviourCase c{.experts = 4, .grid = {.data = 4, .expert = expert, .dispatch = by}};
    const BehaviourBytes m = taken(c, sorts, {});
    CHECK(m.forward == test::about(m.backward));
    return m.forward / (4 * kBehaviourExperts * kBehaviourTokens * kBehaviourWidth);
  };
  CHECK(passes(2, pcg::Dispatch::all_to_all) == test::about(2));  // behind dispatch and before combine
  CHECK(passes(1, pcg::Dispatch::all_to_all) == 0);               // nothing travels
  CHECK(passes(4, pcg::Dispatch::all_to_all) == 0);               // one expert each
  CHECK(passes(2, pcg::Dispatch::forwarded) == 0);
}

// Where a copy of a token goes to each rank that has some of its experts, as many come back: N_R n rows of h, with N_R = 2 (1 - C(2,2) /
// C(4,2)).
TEST_CASE("tokens are permuted by kernels of the framework, 2 (1 + k) n h bytes a time, unless the library brings them into order") {
  const auto permuted = [](pcg::Dispatch by) {
    const BehaviourCase c{.experts = 4, .grid = {.data = 4, .expert = 2, .dispatch = by}};
    const pcg::Plan plan = behaviour_plan(c, test::dgx_a100(1, 4));
    const sim::Dataflow data = sim::dataflow_of(plan);
    double forward = 0, backward = 0;
    const auto add = [](double& bytes, const std::vector<pcg::Kernel>& kernels) {
      for (const pcg::Kernel& k : kernels)
        if (k.kind == pcg::KernelKind::permutation) bytes += k.bytes.value();
    };
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
      if (!plan.pcg.nodes()[n].computes()) continue;
      const sim::NodeShape shape = sim::node_shape(plan, data.flow, n);
      add(forward, sim::forward_kernels(shape, plan.training, {}));
      add(backward, sim::input_gradient_kernels(shape, plan.training, {}));
    }
    return std::pair(forward, backward);
  };
  const double once = 2 * (1 + kBehaviourExperts) * kBehaviourTokens * kBehaviourWidth;  // the gates are read besides
  const double arrived = 2 * (2 * 5.0 / 6 + kBehaviourExperts) * kBehaviourTokens * kBehaviourWidth;
  for (const auto& [by, bytes] : {std::pair(pcg::Dispatch::all_to_all, once), std::pair(pcg::Dispatch::forwarded, arrived)}) {
    CHECK(permuted(by).first == test::about(2 * bytes, 0.03));
    CHECK(permuted(by).second == test::about(2 * bytes, 0.03));
  }
  CHECK(permuted(pcg::Dispatch::forwarded_sorted) == std::pair(0.0, 0.0));
}

TEST_CASE("where its own softmax does not run, a framework moves its own bytes for each score") {
  // Scores of a device: samples x heads x 256 queries x 256 keys, 8 or 4 squares in all; fused they move 4 bytes each forward, 6 backward.
  const auto moved = [](std::int64_t heads, int tensor, std::int64_t keys) {
    profiles::FrameworkProfile fallback;
    fallback.fallback_softmax = {8, keys, 5, 4, base::Bytes(37), base::Bytes(41)};
    const BehaviourBytes m = taken({.unfused_heads = heads, .grid = {.tensor = tensor, .data = 1}}, fallback, {});
    const double scores = 2.0 * static_cast<double>(heads) / tensor * 256 * 256;
    return std::pair(m.forward / scores, m.backward / scores);
  };
  CHECK(moved(4, 1, 256) == std::pair(0.0, 0.0));  // 2 samples x 4 heads
  CHECK(moved(4, 2, 256).first == test::about(37 - 4));
  CHECK(moved(4, 2, 256).second == test::about(41 - 6));
  CHECK(moved(4, 1, 255).first == test::about(37 - 4));  // more keys than it takes
}

TEST_CASE("scaling and masks apart move numbers of the scores' own width, of attention that is not fused") {
  const auto moved = [](std::int64_t unfused_heads, const profiles::UnfusedScores& apart) {
    profiles::FrameworkProfile eager;
    eager.unfused_scores = apart;
    const BehaviourBytes m = taken({.unfused_heads = unfused_heads, .grid = {.data = 1}}, eager, {});
    const double scores = 2.0 * static_cast<double>(std::max<std::int64_t>(unfused_heads, 1)) * 256 * 256;
    return std::pair(m.forward / scores, m.backward / scores);
  };
  CHECK(moved(4, {.forward = 2, .backward = 5}).first == test::about(2 * 2));
  CHECK(moved(4, {.forward = 2, .backward = 5}).second == test::about(5 * 2));
  CHECK(moved(4, {.forward = 2, .backward = 5, .masked = 4}).first == test::about(6 * 2));  // causal
  CHECK(moved(0, {.forward = 2, .backward = 5}) == std::pair(0.0, 0.0));                    // fused
}

TEST_CASE("copies around a unit move their bytes for each parameter that a node reads") {
  const topology::Cluster cluster = test::dgx_a100(1, 2);
  const pcg::Plan plan = behaviour_plan({.gated = true, .grid = {.data = 2, .zero = 3}}, cluster);
  const sim::Dataflow data = sim::dataflow_of(plan);
  double gathered = 0, strided = 0, parameters = 0;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    if (plan.pcg.nodes()[n].name.find("layer") == std::string::npos || !plan.pcg.nodes()[n].computes()) continue;
    const profiles::UnitCopies copies{base::Bytes(0), base::Bytes(6), base::Bytes(4.5)};
    for (const pcg::Kernel& k : sim::unit_copies(plan, data.flow, sim::UnitCopy::gradients, copies, n))
      (k.kind == pcg::KernelKind::copy ? gathered : strided) += k.bytes.value();
    for (const pcg::TensorRef from : data.flow.origins[n])
      if (plan.pcg.node(from.node).is_weight()) parameters += static_cast<double>(plan.pcg.whole_outputs(from.node)[0].elements());
    CHECK(sim::unit_copies(plan, data.flow, sim::UnitCopy::weights, copies, n).empty());
  }
  CHECK(parameters >
        3 * kBehaviourWidth * kBehaviourInner + 4 * kBehaviourWidth * kBehaviourWidth);  // three of the MLP, four of attention, norms
  CHECK(gathered == test::about(6 * parameters));
  CHECK(strided == test::about(4.5 * parameters));
}

TEST_CASE("hosts launch the products of experts one by one, and both projections of a gated unit together") {
  const topology::Cluster cluster = test::dgx_a100(1, 4);
  profiles::FrameworkProfile plain, slow;
  slow.host.expert = base::Seconds(10e-6);
  profiles::FrameworkProfile joint = slow;
  joint.joint_gated_projections = true;
  for (const int expert : {1, 2, 4}) {
    const pcg::Plan plan = behaviour_plan({.gated = true, .experts = 4, .grid = {.data = 4, .expert = expert}}, cluster);
    const sim::Dataflow data = sim::dataflow_of(plan);
    const auto host = [&](const profiles::FrameworkProfile& framework) {
      sim::CostTable costs(plan, data.flow, cluster, framework);
      base::Seconds sum(0);
      for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
        const pcg::PcgNode& node = plan.pcg.nodes()[n];
        if (node.computes() && std::holds_alternative<pcg::ExpertLinear>(*node.operation()))
          sum += costs.forward(n).on_type[0].host + costs.input_gradient(n).on_type[0].host + costs.weight_gradient(n).on_type[0].host;
      }
      return sum.value();
    };
    const double held = 4.0 / expert;
    CHECK(host(slow) - host(plain) == test::about(3 * 3 * held * 10e-6));  // gate, up and down, three passes
    CHECK(host(joint) == test::about(host(slow) * 2 / 3));
  }
}

TEST_CASE("hosts bring counts and splits of tokens to each dispatch and combine, unless the router is in a graph that has them") {
  const topology::Cluster cluster = test::dgx_a100(1, 4);
  pcg::Plan plan = behaviour_plan({.experts = 4, .grid = {.data = 4, .expert = 2}}, cluster);
  const sim::Dataflow data = sim::dataflow_of(plan);
  const auto host = [&](double exchange_s) {
    profiles::FrameworkProfile framework;
    framework.host.exchange = base::Seconds(exchange_s);
    sim::CostTable prices(plan, data.flow, cluster, framework);
    base::Seconds sum(0);
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
      const pcg::PcgNode& node = plan.pcg.nodes()[n];
      if (!node.computes()) continue;
      const bool exchanges =
          std::holds_alternative<pcg::MoeDispatch>(*node.operation()) || std::holds_alternative<pcg::MoeCombine>(*node.operation());
      if (exchanges) sum += prices.forward(n).on_type[0].host + prices.input_gradient(n).on_type[0].host;
    }
    return sum.value();
  };
  CHECK(host(7e-6) - host(0) == test::about(2 * 2 * 7e-6));  // dispatch and combine, two passes
  plan.graphed.router = true;
  CHECK(host(0) > 0);  // it launches their kernels as before
  CHECK(host(7e-6) == test::about(host(0)));
}

TEST_CASE("hosts launch the further kernels of unfused attention at a price of their own") {
  // Forward scores, softmax and values; backward two products, the softmax and two products.
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  const auto host = [&](std::int64_t unfused_heads, base::Seconds attention_kernel) {
    const pcg::Plan plan = behaviour_plan({.unfused_heads = unfused_heads}, cluster);
    const sim::Dataflow data = sim::dataflow_of(plan);
    profiles::FrameworkProfile framework;
    framework.host.forward_kernel = framework.host.backward_kernel = base::Seconds(100e-6);
    framework.host.attention_kernel = attention_kernel;
    sim::CostTable costs(plan, data.flow, cluster, framework);
    base::Seconds sum(0);
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n)
      if (plan.pcg.nodes()[n].name.ends_with("attention.core"))
        sum += costs.forward(n).on_type[0].host + costs.input_gradient(n).on_type[0].host;
    return sum.value();
  };
  CHECK(host(4, base::Seconds(0)) - host(4, base::Seconds(10e-6)) == test::about((2 + 4) * 90e-6));
  CHECK(host(0, base::Seconds(0)) == host(0, base::Seconds(10e-6)));
}

TEST_CASE("hosts wait at each activation of experts with biases, when it is computed again, too") {
  const topology::Cluster cluster = test::dgx_a100(1, 2);
  profiles::FrameworkProfile waiting;
  waiting.host_waits_for_activations = true;
  const auto waits = [&](const BehaviourCase& c, const profiles::FrameworkProfile& framework, pcg::Recompute recompute) {
    pcg::Plan plan = behaviour_plan(c, cluster);
    plan.recompute = recompute;
    const sim::Program program = sim::lower(plan, sim::dataflow_of(plan), cluster, framework);
    int count = 0;
    for (const sim::Block& block : program.blocks)
      for (const sim::Item& item : block.items)
        if (const auto* kernels = std::get_if<sim::Compute>(&item.work)) count += kernels->host_drains ? 1 : 0;
    return count;
  };
  using enum pcg::Recompute;
  for (const bool gated : {false, true}) {
    const BehaviourCase biased{.gated = gated, .experts = 4, .grid = {.data = 2, .expert = 2}, .expert_biases = true};
    BehaviourCase plain = biased;
    plain.expert_biases = false;
    CHECK(waits(biased, {}, none) == 0);
    CHECK(waits(plain, waiting, none) == 0);
    CHECK(waits(biased, waiting, none) == 1);
    CHECK(waits(biased, waiting, full) == 2);
  }
}

// 2 bytes of the new gradient are read, and a sum of 2 or 4 is read and written.
TEST_CASE("gradients that no product adds up are added to the buffer by a kernel of each weight, 6 or 10 bytes a parameter") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  pcg::Plan plan = behaviour_plan({}, cluster);
  plan.training.precision = pcg::Precision::bf16;
  const sim::Dataflow data = sim::dataflow_of(plan);
  double parameters = 0;  // of gradients that are made
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n)
    if (plan.pcg.nodes()[n].is_trained())  // each operator that reads a weight makes a gradient: of the table of tokens, the head besides
      parameters +=
          static_cast<double>(plan.pcg.whole_outputs(pcg::NodeId(n))[0].elements()) * static_cast<double>(data.flow.uses[n][0].size());
  REQUIRE(parameters > 0);
  const auto moved = [&](const profiles::FrameworkProfile& framework) {
    double bytes = 0, flops = 0;
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
      if (!plan.pcg.nodes()[n].computes()) continue;
      for (const pcg::Kernel& k : sim::gradient_buffer_kernels(plan, data.flow, framework, n)) {
        bytes += k.bytes.value();
        flops += k.flops.value();
      }
    }
    return std::pair(bytes / parameters, flops / parameters);
  };
  profiles::FrameworkProfile fused;
  fused.fused_gradient_accumulation = true;
  CHECK(moved({}).first == test::about(2 + 2 * 2));
  CHECK(moved({}).second == test::about(1));
  CHECK(moved(fused).first == 0);
  plan.training.fp32_gradients = true;
  CHECK(moved({}).first == test::about(2 + 2 * 4));
}

// Of h x f weights: in bf16 the product's own output is 2 bytes an element; a buffer of gradients in fp32 is read and written instead, 8.
TEST_CASE("a weight gradient that is added to a buffer takes as long as that is read and written on top") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  pcg::Plan plan = behaviour_plan({}, cluster);
  plan.training.precision = pcg::Precision::bf16;
  const sim::Dataflow data = sim::dataflow_of(plan);
  const auto seconds = [&](const profiles::FrameworkProfile& framework) {
    sim::CostTable costs(plan, data.flow, cluster, framework);
    base::Seconds sum(0);
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
      const pcg::PcgNode& node = plan.pcg.nodes()[n];
      if (node.computes() && node.name.find(".mlp.") != std::string::npos) sum += costs.weight_gradient(n).on_type[0].device;
    }
    return sum.value();
  };
  profiles::FrameworkProfile apart, fused;
  fused.fused_gradient_accumulation = true;
  const double weights = 2 * kBehaviourWidth * kBehaviourInner;  // two products
  const double bandwidth = profiles::device_profile("a100-sxm-80gb").memory_bandwidth.value();
  REQUIRE(seconds(apart) > 0);
  CHECK(seconds(fused) - seconds(apart) == test::about((4 - 2) * weights / bandwidth));
  plan.training.fp32_gradients = true;
  CHECK(seconds(fused) - seconds(apart) == test::about((8 - 2) * weights / bandwidth));
}

TEST_CASE("hosts wait for the counts of tokens at each dispatch, which a pass that is computed again knows") {
  const topology::Cluster cluster = test::dgx_a100(1, 2);
  profiles::FrameworkProfile waiting;
  waiting.host_waits_for_tokens = true;
  for (const auto recompute : {pcg::Recompute::none, pcg::Recompute::full}) {
    pcg::Plan plan = behaviour_plan({.experts = 4, .grid = {.data = 2, .expert = 2}}, cluster);
    plan.recompute = recompute;
    const sim::Program program = sim::lower(plan, sim::dataflow_of(plan), cluster, waiting);
    int drains = 0;
    for (const sim::Block& block : program.blocks)
      for (const sim::Item& item : block.items)
        if (const auto* kernels = std::get_if<sim::Compute>(&item.work)) drains += kernels->host_drains ? 1 : 0;
    CHECK(drains == 1);
  }
}

TEST_CASE("with loss scaling, which fp16 needs, the host reads whether a gradient overflowed before it launches the update") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  for (const auto precision : {pcg::Precision::fp16, pcg::Precision::bf16, pcg::Precision::fp32}) {
    pcg::Plan plan = behaviour_plan({}, cluster);
    plan.training.precision = precision;
    const sim::Program program = sim::lower(plan, sim::dataflow_of(plan), cluster, {});
    int updates = 0, waits = 0;
    for (const sim::Item& item : program.block(program.update).items)
      if (const auto* kernels = std::get_if<sim::Compute>(&item.work)) ++updates, waits += kernels->host_waits ? 1 : 0;
    CHECK(updates == 1);
    CHECK(waits == (precision == pcg::Precision::fp16 ? 1 : 0));
  }
}

TEST_CASE("the first micro-batch leaves its gradients in the buffer, and each one behind it adds to them") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  for (const int micro_batches : {1, 2, 3}) {
    pcg::Plan plan = behaviour_plan({}, cluster);
    plan.micro_batches = micro_batches;
    plan.training.global_batch = 2 * micro_batches;
    const sim::Program program = sim::lower(plan, sim::dataflow_of(plan), cluster, {});
    // Blocks of positions: first and last, or first, middle and last.
    int adding = 0;
    for (int m = 0; m < micro_batches; ++m) {
      const sim::Block& block = program.block(program.backward[sim::position_of(m, micro_batches)].front());
      adding += std::ranges::any_of(block.items, [](const sim::Item& item) {
        const auto* kernels = std::get_if<sim::Compute>(&item.work);
        return kernels != nullptr && std::ranges::any_of(kernels->parts, [](const sim::Part& p) { return p.what == "gradient buffer"; });
      });
    }
    CHECK(adding == micro_batches - 1);
  }
}
