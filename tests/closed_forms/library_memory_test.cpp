// What frameworks and their libraries hold beside a plan's tensors (profiles::MemoryBehaviour), by hand. A GPT of width h, V entries, n
// tokens:
//   placeholders of gradients   2 (3 + 1 + 4 + 4) h^2 + 2 V h   bytes: one for each shape of a weight, however many layers have it
//   workspaces of products      so many times what the device asks for, or what the framework gives
//   the loss                    n V times what it keeps for each logit, and what it needs for a moment
//   attention                   2 n h more of a layer whose output is laid out anew
//   RMS norms apart             so many times n h of each, in place of 2 n h
//   HybridEP's buffer           n R (2 h + 4 E_D): all tokens of R ranks, with weights of the E_D experts of a domain
//   experts, top k, width f     2 k n f more of a layer whose activations are weighed
//   a buffer of E gradients     2 E: in the backward passes of ZeRO 2, always in ZeRO 3
//   ZeRO 3's reuse distance     weights of all layers after which fewer than half as many parameters come
#include <doctest/doctest.h>

#include "planning.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/memory/memory.hpp"
#include "tests/about.hpp"

namespace {

constexpr double kLibraryMiB = 1024.0 * 1024, kLibraryWidth = 512, kLibraryEntries = 1024, kLibraryTokens = 4 * 256;

sim::DeviceMemory memory_with(const pcg::Plan& plan, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework) {
  return sim::device_memory(plan, sim::dataflow_of(plan), cluster, framework).at(0);
}

// A framework that has no behaviours of its own, or those of `memory`.
profiles::FrameworkProfile with_behaviour(profiles::MemoryBehaviour memory) {
  profiles::FrameworkProfile f = profiles::framework_profile(pcg::Framework::generic);
  f.memory = std::move(memory);
  return f;
}

const pcg::Plan kLibraryPlan = test::megatron(test::kShape, {}, test::dgx_a100(1, 1));

double fixed_bytes(profiles::MemoryBehaviour behaviours, const topology::Cluster& cluster = test::dgx_a100(1, 1)) {
  return memory_with(kLibraryPlan, cluster, with_behaviour(std::move(behaviours))).fixed.value();
}

topology::Cluster one_h100() {
  return topology::load_cluster(topology::expand_cluster(base::parse_yaml("{preset: dgx-h100, node.gpus.count: 1}", "test"), "cluster"),
                                "cluster");
}

pcg::models::TransformerConfig config_of(bool experts, bool gated) {
  pcg::models::TransformerConfig c;
  c.layers = 2;
  c.hidden = 512;
  c.heads = 8;
  c.ffn = 1024;
  c.vocab = 2048;
  c.sequence_length = 256;
  c.dropout = 0;
  c.gated = gated;
  c.attention = pcg::models::AttentionKind::flash;
  if (experts) c.experts = 8;
  if (experts) c.top_k = 2;
  return c;
}

// How much more a micro-batch of the model keeps with these behaviours than without.
double kept_more(const pcg::models::TransformerConfig& config, const profiles::MemoryBehaviour& behaviours) {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  const pcg::Plan plan = test::megatron(pcg::models::transformer(config, 4), test::megatron_training(4), {}, cluster);
  return memory_with(plan, cluster, with_behaviour(behaviours)).saved.at(0).value() -
         memory_with(plan, cluster, with_behaviour({})).saved.at(0).value();
}

}  // namespace

TEST_CASE("autograd gets one placeholder for all weights of a shape") {
  CHECK(fixed_bytes({.gradient_placeholders = true}) ==
        test::about(2 * (12 * kLibraryWidth * kLibraryWidth + kLibraryEntries * kLibraryWidth)));
  CHECK(fixed_bytes({}) == 0);
}

TEST_CASE("both halves of a gated unit are one weight, and each expert has its own") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  const auto placeholders = [&](bool experts) {
    const pcg::Plan plan = test::megatron(pcg::models::transformer(config_of(experts, true), 4), test::megatron_training(4), {}, cluster);
    return memory_with(plan, cluster, with_behaviour({.gradient_placeholders = true})).fixed.value();
  };
  const double dense = 2 * (4 * kLibraryWidth * kLibraryWidth + 3 * kLibraryWidth * 1024 + 2048 * kLibraryWidth);
  CHECK(placeholders(false) == test::about(dense));
  CHECK(placeholders(true) == test::about(dense + 2 * 8 * kLibraryWidth));  // the router's
}

TEST_CASE("workspaces are as large as the device asks, or as the framework says") {
  CHECK(fixed_bytes({.product_workspaces = 2, .library_workspaces = 1}) == test::about(3 * 4 * kLibraryMiB));
  CHECK(fixed_bytes({.product_workspaces = 2, .library_workspaces = 1}, one_h100()) == test::about(3 * 32 * kLibraryMiB));
  CHECK(fixed_bytes({.product_workspaces = 2, .product_workspace = base::Bytes(32 * kLibraryMiB), .library_workspaces = 1}) ==
        test::about((2 * 32 + 4) * kLibraryMiB));
  CHECK(fixed_bytes({.expert_workspaces = 4}) == 0);  // the model has no experts
}

TEST_CASE("HybridEP has room for the tokens of all ranks at once") {
  // A device has one sample of 256 tokens. All ranks in a host have all 8 experts; each of two hosts has half of them.
  const auto buffer = [](int nodes, int gpus, int expert, pcg::Dispatch by) {
    const topology::Cluster cluster = test::dgx_a100(nodes, gpus);
    search::GridConfig grid;
    grid.data = nodes * gpus;
    grid.expert = expert;
    grid.dispatch = by;
    const pcg::Plan plan = test::megatron(pcg::models::transformer(config_of(true, false), nodes * gpus),
                                          test::megatron_training(nodes * gpus), grid, cluster);
    return memory_with(plan, cluster, with_behaviour({})).fixed.value();
  };
  CHECK(buffer(1, 4, 4, pcg::Dispatch::forwarded_sorted) == test::about(256 * 4 * (2 * kLibraryWidth + 4 * 8)));
  CHECK(buffer(2, 4, 8, pcg::Dispatch::forwarded_sorted) == test::about(256 * 8 * (2 * kLibraryWidth + 4 * 4)));
  CHECK(buffer(1, 4, 4, pcg::Dispatch::forwarded) == 0);
  CHECK(buffer(1, 4, 1, pcg::Dispatch::forwarded_sorted) == 0);
}

TEST_CASE("the loss keeps what the framework says, and needs what it says for a moment") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  const auto memory = [&](double kept, double passing) {
    return memory_with(kLibraryPlan, cluster, with_behaviour({.loss_kept = base::Bytes(kept), .loss_temporaries = base::Bytes(passing)}));
  };
  CHECK(memory(4, 2).saved[0].value() - memory(2, 2).saved[0].value() == test::about(2 * kLibraryTokens * kLibraryEntries));
  // And no more than that: as a model has more entries, each adds a logit for each token, of which nothing else keeps anything.
  const auto kept_of = [&](std::int64_t entries, double bytes) {
    test::Shape shape;
    shape.vocabulary = entries;
    return memory_with(test::megatron(shape, {}, cluster), cluster, with_behaviour({.loss_kept = base::Bytes(bytes)})).saved[0].value();
  };
  for (const double bytes : {2.0, 4.0, 6.0})
    CHECK(kept_of(4096, bytes) - kept_of(1024, bytes) == test::about(bytes * kLibraryTokens * 3072));
  // So much that nothing else is larger.
  CHECK(memory(4, 200).transient[0].value() - memory(4, 100).transient[0].value() == test::about(100 * kLibraryTokens * kLibraryEntries));
}

TEST_CASE("an output of attention that is laid out anew is kept twice") {
  const double more = kept_more(config_of(false, false), {.copied_attention_output = {"a100"}});
  CHECK(more == test::about(2 * 2 * kLibraryTokens * kLibraryWidth));  // two layers
  CHECK(kept_more(config_of(false, false), {.copied_attention_output = {"h100"}}) == 0);
}

TEST_CASE("activations of experts are kept before and after they are weighed, unless a gated unit weighs them in passing") {
  CHECK(kept_more(config_of(true, false), {.weighed_activations = true}) == test::about(2 * 2 * 2 * kLibraryTokens * 1024));
  CHECK(kept_more(config_of(true, true), {.weighed_activations = true}) == 0);
}

TEST_CASE("an RMS norm in pieces keeps what these made in place of what came in") {
  pcg::models::TransformerConfig c = config_of(false, false);
  CHECK(kept_more(c, {.rms_norm = base::Bytes(6)}) == 0);  // norms with a mean
  c.rms_norm = true;
  const auto norms = static_cast<double>(2 * c.layers + 1);
  CHECK(kept_more(c, {.rms_norm = base::Bytes(6)}) == test::about((6 - 2) * norms * kLibraryTokens * kLibraryWidth));
}

TEST_CASE("the peak is that of the passes or that of the update, whichever is larger") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  const std::vector<sim::DeviceMemory> passes = {memory_with(kLibraryPlan, cluster, with_behaviour({}))};
  std::vector<sim::DeviceMemory> update = passes;
  update[0].update = base::Bytes(1e10);
  const auto use = [&](const std::vector<sim::DeviceMemory>& m) { return sim::peak_memory(kLibraryPlan, m, cluster); };
  CHECK((use(update).peak - use(passes).peak).value() == test::about(1e10 - passes[0].saved[0].value() - passes[0].transient[0].value()));
  CHECK((use(update).optimizer - use(passes).optimizer).value() == test::about(1e10));
  CHECK(use(update).activations == base::Bytes(0));
  CHECK(use(update).in_update);
  CHECK_FALSE(use(passes).in_update);
}

TEST_CASE("what the loss needs for a moment is gone when layers are computed again") {
  // Logits of 16384 entries outweigh a layer's 34 + 5 a s / h bytes for each of 512 numbers.
  test::Shape shape;
  shape.vocabulary = 16384;
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  search::GridConfig full;
  full.recompute = pcg::Recompute::full;
  const auto transient = [&](const search::GridConfig& c) {
    return memory_with(test::megatron(shape, c, cluster), cluster, with_behaviour({})).transient.at(0).value();
  };
  CHECK(transient(full) == test::about(transient({})));
  CHECK(transient({}) >= 2 * kLibraryTokens * 16384);
}

TEST_CASE("gradients are reduced from a buffer that ZeRO 2 has in its backward passes, ZeRO 3 always, and ZeRO 1 never") {
  const topology::Cluster cluster = test::dgx_a100(1, 2);
  constexpr double kBuffer = 2 * 1e6;  // bytes
  for (const int zero : {1, 2, 3}) {
    CAPTURE(zero);
    const pcg::Plan plan = test::megatron(test::kShape, {.data = 2, .zero = zero}, cluster);
    const sim::DeviceMemory with = memory_with(plan, cluster, with_behaviour({.reduce_buffer = 1e6}));
    const sim::DeviceMemory without = memory_with(plan, cluster, with_behaviour({}));
    CHECK((with.fixed - without.fixed).value() == (zero == 3 ? kBuffer : 0));
    CHECK((with.transient.at(0) - without.transient.at(0)).value() == test::about(zero == 2 ? kBuffer : 0));
    CHECK(with.saved == without.saved);
  }
}

TEST_CASE(
    "weights stay gathered that come back within the reuse distance: from a layer's pass to its backward pass come those after it, twice") {
  // The peak is in the backward pass of the last layer, whose own weights are there anyway: of the layers before it each stays that few
  // enough parameters follow. The head's are the embedding's, which come first.
  const topology::Cluster cluster = test::dgx_a100(1, 2);
  test::Shape shape;
  shape.layers = 4;
  const pcg::Plan plan = test::megatron(shape, {.data = 2, .zero = 3}, cluster);
  const auto transient = [&](double distance) {
    profiles::FrameworkProfile f = with_behaviour({.reuse_distance = distance});
    f.prefetch_units = 0;
    return memory_with(plan, cluster, f).transient.at(0).value();
  };
  const double layer = 12 * kLibraryWidth * kLibraryWidth + 13 * kLibraryWidth, none = transient(0);
  for (const int stay : {1, 2, 3}) CHECK(transient(2 * stay * layer) - none == test::about(2 * (stay - 1) * layer));
  CHECK(transient(1e12) - none == test::about(2 * (3 * layer + (kLibraryEntries + 256) * kLibraryWidth)));  // the embedding, too
}
