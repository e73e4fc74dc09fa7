// Low-rank adapters: what the frozen weights of a model ask for no more. A layer of width h, its MLP f wide, with adapters of rank r on qkv
// (3 h wide): 4 h r parameters of a layer are trained.
//   - Gradients, moments and their exchange are those of 4 h r L parameters; weights lie there whole.
//   - A product of a frozen weight has two passes instead of three: 4 FLOPs per weight and token. What lies before the first adapter has
//   one.
//   - It keeps its operand for no gradient: of a layer stay what norms, attention, activations and adapters read.
#include <doctest/doctest.h>

#include "base/yaml/parse.hpp"
#include "pcg/models/adapters.hpp"
#include "planning.hpp"
#include "search/cost/estimate.hpp"
#include "sim/dataflow/dataflow.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/model_states.hpp"
#include "tests/about.hpp"

namespace {

constexpr int kLoraLayers = 4;
constexpr double kLoraHidden = 512, kLoraWide = 1024, kLoraRank = 16, kLoraWords = 1024, kLoraTokens = 256;
constexpr double kLoraTrained = kLoraLayers * 4 * kLoraHidden * kLoraRank;

pcg::Graph without_lora(std::int64_t samples = 8) {
  pcg::models::TransformerConfig t;
  t.layers = kLoraLayers;
  t.hidden = static_cast<std::int64_t>(kLoraHidden);
  t.heads = 8;
  t.ffn = static_cast<std::int64_t>(kLoraWide);
  t.vocab = static_cast<std::int64_t>(kLoraWords);
  t.sequence_length = static_cast<std::int64_t>(kLoraTokens);
  t.attention = pcg::models::AttentionKind::flash;
  t.dropout = 0;
  t.biases = false;
  return pcg::models::transformer(t, samples);
}
pcg::Graph with_lora(std::int64_t samples = 8, std::vector<std::string> on = {"qkv"}) {
  return pcg::models::with_adapters(without_lora(samples), {static_cast<std::int64_t>(kLoraRank), std::move(on)});
}

template <class Quantity>
auto of_lora_plan(const pcg::Graph& model, const search::GridConfig& grid, Quantity quantity) {
  const topology::Cluster cluster = test::dgx_a100(1, 8);
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  pcg::TrainingConfig training;
  training.global_batch = 8;
  training.precision = pcg::Precision::bf16;
  training.optimizer = pcg::Optimizer::adam;
  return quantity(search::megatron_plan({model, section, cluster, training, oracle}, grid).value(), cluster);
}

sim::SimulationResult lora_simulated(const pcg::Graph& model, const search::GridConfig& grid) {
  return of_lora_plan(model, grid,
                      [](const pcg::Plan& plan, const topology::Cluster& cluster) { return sim::simulate_plan(plan, cluster); });
}

}  // namespace

TEST_CASE("adapters of rank r on qkv train 4 h r parameters of a layer") {
  const pcg::Graph model = with_lora(), before = without_lora();
  CHECK(static_cast<double>(model.parameters() - model.frozen_parameters()) == kLoraTrained);
  CHECK(model.frozen_parameters() == before.parameters());
  // Of 2 FLOPs per weight and token, frozen weights lack one of three passes; those of adapters and attention have all.
  const double tokens = 8 * kLoraTokens,
               frozen =
                   2 * (kLoraLayers * (4 * kLoraHidden * kLoraHidden + 2 * kLoraHidden * kLoraWide) + kLoraHidden * kLoraWords) * tokens;
  CHECK(model.iteration_flops().value() == test::about(3 * model.forward_flops().value() - frozen));
  CHECK(before.iteration_flops().value() == test::about(3 * before.forward_flops().value()));
  CHECK(model.forward_flops().value() - before.forward_flops().value() == test::about(2 * kLoraTrained * tokens));
}

TEST_CASE("only linear layers inside of layers are adapted, and activations that are fused are left alone") {
  CHECK(pcg::models::adaptable(without_lora()) == std::vector<std::string>{"qkv", "out", "up", "down"});
  CHECK(with_lora(8, {"up", "down"}).parameters() - without_lora().parameters() ==
        std::int64_t(kLoraLayers * 2 * (kLoraHidden + kLoraWide) * kLoraRank));
}

TEST_CASE("gradients of adapters alone are added up, and their moments alone are kept") {
  search::GridConfig data;
  data.data = 8;
  data.zero = 0;
  const sim::SimulationResult r = lora_simulated(with_lora(), data);
  // A ring sends 2 (n-1) times the bytes of the gradients, summed over its n members.
  CHECK(r.bytes.by_collective.at("all_reduce").value() == test::about(2 * 7 * 2 * kLoraTrained));
  const auto memory = [&](const pcg::Graph& model, int zero) {
    search::GridConfig g = data;
    g.zero = zero;
    return of_lora_plan(model, g, [](const pcg::Plan& plan, const topology::Cluster& cluster) { return sim::memory_of(plan, cluster); });
  };
  const double weights = 2 * static_cast<double>(with_lora().parameters());
  CHECK(memory(with_lora(), 0).weights.value() == test::about(weights));
  CHECK(memory(with_lora(), 0).gradients.value() == test::about(2 * kLoraTrained));
  CHECK(memory(with_lora(), 0).optimizer.value() == test::about(12 * kLoraTrained));
  CHECK(memory(with_lora(), 1).optimizer.value() == test::about(12 * kLoraTrained / 8));
  CHECK(memory(with_lora(), 3).weights.value() == test::about(weights / 8));
}

TEST_CASE("frozen products keep nothing for gradients of weights") {
  // Of a sample, 2 bytes each: the MLP's down keeps its input no more (f), the output projection that of attention, which attention keeps
  // itself, up that of its norm (h); qkv's input is the adapter's, too.
  search::GridConfig one;
  one.recompute = pcg::Recompute::none;
  const auto kept = [&](const pcg::Graph& model) {
    return of_lora_plan(model, one, [](const pcg::Plan& plan, const topology::Cluster& cluster) {
      const auto& framework = profiles::framework_profile(plan.training.framework);
      return sim::device_memory(plan, sim::dataflow_of(plan), cluster, framework).at(0).saved[0].value();
    });
  };
  // The adapters keep what lies between their two products. The head keeps its input no more, and the first layer's norm has no gradient.
  const double each = 2 * kLoraTokens, more = kLoraLayers * kLoraRank, less = kLoraLayers * (kLoraHidden + kLoraWide) + 2 * kLoraHidden;
  CHECK(kept(without_lora()) - kept(with_lora()) == test::about(each * (less - more), 0.01));
}

TEST_CASE("gathers of frozen weights go on, and nothing of them is reduced") {
  search::GridConfig shards;
  shards.data = 8;
  shards.zero = 3;
  const auto bytes = [&](const pcg::Graph& model, const char* kind) {
    return lora_simulated(model, shards).bytes.by_collective[kind].value();
  };
  CHECK(bytes(with_lora(), "reduce_scatter") == test::about(7 * 2 * kLoraTrained));
  // Once for either pass, but for the embedding of words and positions, which has no gradient.
  CHECK(bytes(without_lora(), "all_gather") + 7 * 2 * (2 * kLoraTrained - (kLoraWords + kLoraTokens) * kLoraHidden) ==
        test::about(bytes(with_lora(), "all_gather"), 1e-3));
}

TEST_CASE("tensor parallelism cuts an adapter's second product with the layer beside it") {
  search::GridConfig tensor;
  tensor.tensor = 4;
  tensor.data = 2;
  const pcg::Graph model = with_lora(8, {"qkv", "out", "up", "down"});
  of_lora_plan(model, tensor, [&](const pcg::Plan& plan, const topology::Cluster& cluster) {
    for (const pcg::PcgNode& n : plan.pcg.nodes()) {
      if (!n.computes() || !n.name.ends_with("qkv.lora_b")) continue;
      CHECK(n.sharding.degrees.back() * n.sharding.degrees[n.sharding.degrees.size() - 2] >= 4);
    }
    const sim::Oracle oracle(cluster);
    const double seconds = sim::simulate_plan(plan, cluster).iteration_time.value();
    CHECK(search::Estimator(plan, oracle).time(sim::variant_of(plan)).value() == test::about(seconds, 0.03));
    return 0;
  });
}

// Of d ranks each has 2 F / d bytes of F frozen weights, and of T trained ones, whose shards are fp32, 4 T / d of weights and of gradients.
TEST_CASE("shards in fp32 are those of trained weights alone") {
  profiles::FrameworkProfile framework;
  framework.memory.fp32_shards = true;
  const pcg::Graph model = with_lora();
  const auto states = of_lora_plan(model, {.zero = 3}, [&](const pcg::Plan& plan, const topology::Cluster&) {
    return sim::model_states(plan, sim::dataflow_of(plan), framework, 3).at(0);
  });
  CHECK(states.weights.value() == test::about((2 * static_cast<double>(model.frozen_parameters()) + 4 * kLoraTrained) / 8));
  CHECK(states.gradients.value() == test::about(4 * kLoraTrained / 8));
  CHECK(states.optimizer.value() == test::about(8 * kLoraTrained / 8));
  CHECK(states.lazy_gradients == states.gradients);
}
