// Mixtures of experts: bytes of dispatch and combine, tokens of each rank, and model states of experts and of the rest.
//   E experts, top k, width h, n tokens of a rank, degree e: an exchange sends of each rank's k n places the (e-1)/e that lie elsewhere,
//   h elements each. Forward dispatch and combine, backward their mirrors: 4 k n h (e-1)/e elements of each rank.
// One layer is what two more layers add, halved, so embedding and head cancel out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/yaml/parse.hpp"
#include "planning.hpp"
#include "sim/kernels/node_kernels.hpp"
#include "sim/memory/memory.hpp"
#include "tests/about.hpp"

namespace {

constexpr double kTokens = 256, kHidden = 512, kFfn = 1024, kExperts = 8, kTopK = 2;  // of a sample, of the model below
constexpr double kElement = 2;                                                        // bytes, half precision

struct Case {
  search::GridConfig grid;
  int gpus = 4, samples = 4;
  bool gated = false;
  int layers = 2;
  bool biased = false;
};

pcg::Plan plan_of(const Case& c, const topology::Cluster& cluster) {
  pcg::models::TransformerConfig t;
  t.layers = c.layers;
  t.hidden = 512;
  t.heads = 8;
  t.ffn = 1024;
  t.vocab = 1024;
  t.sequence_length = 256;
  t.experts = 8;
  t.top_k = 2;
  t.gated = c.gated;
  t.expert_biases = c.biased;
  t.dropout = 0;
  t.biases = false;
  const pcg::Graph model = pcg::models::transformer(t, c.samples);
  const base::Yaml section;
  const sim::Oracle oracle(cluster);
  pcg::TrainingConfig training;
  training.global_batch = c.samples;
  training.precision = pcg::Precision::bf16;
  training.optimizer = pcg::Optimizer::adam;
  return search::megatron_plan({model, section, cluster, training, oracle}, c.grid).value();
}

template <class Quantity>
double of_a_layer(Case c, Quantity quantity) {
  const topology::Cluster cluster = test::dgx_a100(1, c.gpus);
  const auto of = [&](int layers) {
    c.layers = layers;
    return quantity(plan_of(c, cluster), cluster);
  };
  return (of(4) - of(2)) / 2;
}

double bytes_of(const Case& c, const std::string& collective) {
  return of_a_layer(c, [&](const pcg::Plan& plan, const topology::Cluster& cluster) {
    sim::SimulationConfig ring;  // closed forms are of the ring: other algorithms move other bytes
    ring.collectives.algorithm = sim::Algorithm::ring;
    const auto by_collective = sim::simulate_plan(plan, cluster, ring).bytes.by_collective;
    const auto it = by_collective.find(collective);
    return it == by_collective.end() ? 0.0 : it->second.value();
  });
}

double optimizer_bytes(const Case& c) {
  return of_a_layer(
      c, [](const pcg::Plan& plan, const topology::Cluster& cluster) { return sim::memory_of(plan, cluster).optimizer.value(); });
}

// All exchanges of a layer, of all ranks.
double exchanges(double times, double ranks, double tokens, double degree) {
  return times * kTopK * tokens * kHidden * kElement * (degree - 1) / degree * ranks;
}

search::GridConfig grid(int expert, int context = 1) {
  search::GridConfig g;
  g.expert = expert;
  g.context = context;
  return g;
}

}  // namespace

TEST_CASE("experts among replicas: two exchanges forward, two backward, and nothing else travels") {
  for (const bool gated : {false, true})
    for (const int e : {2, 4}) {
      const Case c{.grid = grid(e), .gated = gated};
      CHECK(bytes_of(c, "all_to_all") == test::about(exchanges(4, 4, kTokens, e)));
      CHECK(bytes_of(c, "send") == 0);
      CHECK(bytes_of(c, "all_gather") == 0);
    }
}

TEST_CASE("experts among ranks of context, and of both: each rank sends its own tokens") {
  // degree 8 of context 4 x data 2: a rank has a quarter of a sample
  CHECK(bytes_of({.grid = grid(4, 4), .samples = 1}, "all_to_all") == test::about(exchanges(4, 4, kTokens / 4, 4)));
  CHECK(bytes_of({.grid = grid(2, 4), .samples = 1}, "all_to_all") == test::about(exchanges(4, 4, kTokens / 4, 2)));
  CHECK(bytes_of({.grid = grid(8, 4), .gpus = 8, .samples = 2}, "all_to_all") == test::about(exchanges(4, 8, kTokens / 4, 8)));
}

TEST_CASE("full recomputation dispatches and combines once more") {
  Case c{.grid = grid(4), .gated = true};
  c.grid.recompute = pcg::Recompute::full;
  CHECK(bytes_of(c, "all_to_all") == test::about(exchanges(6, 4, kTokens, 4)));
}

TEST_CASE("sharded states leave the exchanges alone") {
  for (const int zero : {1, 2, 3}) {
    Case c{.grid = grid(2), .gated = true};
    c.grid.zero = zero;
    CHECK(bytes_of(c, "all_to_all") == test::about(exchanges(4, 4, kTokens, 2)));
  }
}

TEST_CASE("tensor ranks of an expert: each sends its part of the sequence, and they gather what came") {
  // tensor 2, data 2: a rank has half of a sample's tokens. Where experts are cut by their inner width, both tensor ranks need all tokens
  // that came for their experts: a gather of 2 x that after dispatch, a reduce-scatter before combine, and backward the mirrors. Each
  // moves (t-1)/t of what it makes on each rank: k n h elements of the rank's expert group.
  Case c{.grid = grid(2), .samples = 2};
  c.grid.tensor = 2;
  c.grid.sequence_parallel = true;
  CHECK(bytes_of(c, "all_to_all") == test::about(exchanges(4, 4, kTokens / 2, 2)));
  // Attention gathers its input forward and again backward for the weights' gradient, and the gradient of its output: three gathers of a
  // sample's activations, two reduce-scatters; dispatch's gather and combine's gradient two gathers of its places.
  const double activations = kTokens * kHidden * kElement * 4 / 2, places = kTopK * activations;
  CHECK(bytes_of(c, "all_gather") == test::about(3 * activations + 2 * places));
  CHECK(bytes_of(c, "reduce_scatter") == test::about(2 * activations + 2 * places));
  CHECK(bytes_of(c, "send") == 0);
}

TEST_CASE("tensor ranks of an expert without sequence parallelism: each sends all tokens of its replica") {
  // Nobody else's part is wanted: the tensor ranks add up what they hold, a rank's k n h elements twice (2 (t-1)/t S of each).
  Case c{.grid = grid(2), .samples = 2};
  c.grid.tensor = 2;
  CHECK(bytes_of(c, "all_to_all") == test::about(exchanges(4, 4, kTokens, 2)));
  CHECK(bytes_of(c, "send") == 0);
  CHECK(bytes_of(c, "all_gather") == 0);
}

TEST_CASE("context ranks compute their own tokens of the experts") {
  // Work of the experts' products: 3 passes x 2 products x 2 k s h ffn FLOPs of a sample, whoever does it. All FLOPs of a layer are the
  // same on one device as on all ranks of context together, at any expert degree.
  const auto flops = [](const Case& c) {
    return of_a_layer(c, [](const pcg::Plan& plan, const topology::Cluster&) {
      double total = 0;
      for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
        const pcg::PcgNode& node = plan.pcg.nodes()[n];
        if (!node.computes() || !std::holds_alternative<pcg::ExpertLinear>(*node.operation())) continue;
        const auto shard = node.outputs[0].shard();
        const auto inner = plan.pcg.shape(node.inputs[0]).shard().sizes.back();
        total += 2 * static_cast<double>(shard.elements() * inner) * node.sharding.points();
      }
      return total;
    });
  };
  const double once = 2 * 2 * kTopK * kTokens * kHidden * kFfn;
  CHECK(flops({.grid = grid(1), .gpus = 1, .samples = 1}) == test::about(once));
  for (const int e : {1, 2, 8}) CHECK(flops({.grid = grid(e, 8), .gpus = 8, .samples = 1}) == test::about(once));
}

TEST_CASE("ZeRO shards each kind of weight over its own group: 12 bytes of a parameter") {
  // A layer: attention 4 h^2, two norms of 2 h, a router of E h; experts 2 E h ffn. Data 4, expert 2: dense weights lie on 4 ranks, those
  // of an expert on 2, each rank has half of them.
  const double dense = 4 * kHidden * kHidden + 4 * kHidden + kExperts * kHidden, experts = 2 * kExperts * kHidden * kFfn;
  Case c{.grid = grid(2)};
  c.grid.zero = 1;
  CHECK(optimizer_bytes(c) == test::about(12 * (dense / 4 + experts / 2 / 2)));
  c.grid = grid(4);
  c.grid.zero = 1;
  CHECK(optimizer_bytes(c) == test::about(12 * (dense / 4 + experts / 4)));  // an expert's weights have no copies
  c = {.grid = grid(4, 2), .samples = 2};                                    // data 2 x context 2
  c.grid.zero = 1;
  CHECK(optimizer_bytes(c) == test::about(12 * (dense / 4 + experts / 4)));
  c = {.grid = grid(2), .gpus = 8};  // data 4 x tensor 2: norms and router lie on both tensor ranks, over which nothing is sharded
  c.grid.tensor = 2;
  c.grid.sequence_parallel = true;
  c.grid.zero = 1;
  const double shared = 4 * kHidden + kExperts * kHidden;
  CHECK(optimizer_bytes(c) == test::about(12 * ((dense - shared) / 2 / 4 + shared / 4 + experts / 2 / 2 / 2)));
}

TEST_CASE("gradients are reduced and weights gathered over each kind's own group") {
  // A reduce-scatter of S over d ranks sends (d-1)/d S from each, of 2 bytes a parameter; a gather of the weights after it as much.
  const double dense = 4 * kHidden * kHidden + 4 * kHidden + kExperts * kHidden, experts = 2 * kExperts * kHidden * kFfn;
  Case c{.grid = grid(2)};
  c.grid.zero = 1;
  const double each = 4 * kElement * (dense * 3 / 4 + experts / 2 * 1 / 2);  // 4 ranks; experts' groups have 2
  CHECK(bytes_of(c, "reduce_scatter") == test::about(each));
  CHECK(bytes_of(c, "all_gather") == test::about(each));
  CHECK(bytes_of(c, "all_reduce") == 0);
}

TEST_CASE("experts among tensor ranks: whole experts, and each rank's own part of the sequence") {
  // tensor 2, data 2, expert_tensor 1. Expert 4 takes all ranks, expert 2 the two of tensor. A rank has half of a sample's tokens, and
  // sends k n h (e-1)/e of them: nothing is gathered at the experts, so gathers and reduce-scatters are those of attention alone (three and
  // two of a sample's activations, as above), moved by (t-1)/t = 1/2 of each rank.
  const double activations = kTokens * kHidden * kElement * 4 / 2;
  for (const int e : {2, 4}) {
    Case c{.grid = grid(e), .samples = 2};
    c.grid.tensor = 2;
    c.grid.expert_tensor = 1;
    c.grid.sequence_parallel = true;
    CHECK(bytes_of(c, "all_to_all") == test::about(exchanges(4, 4, kTokens / 2, e)));
    CHECK(bytes_of(c, "all_gather") == test::about(3 * activations));
    CHECK(bytes_of(c, "reduce_scatter") == test::about(2 * activations));
    CHECK(bytes_of(c, "send") == 0);
  }
}

TEST_CASE("folded experts shard their states over the ranks that have the same ones: EP x ETP x EDP = DP x CP x TP") {
  // data 4 x tensor 2, ETP 1. Expert 4: two of tensor, two of data; an expert's weights lie on 8 / 4 = 2 ranks.
  const double dense = 4 * kHidden * kHidden + 4 * kHidden + kExperts * kHidden, experts = 2 * kExperts * kHidden * kFfn;
  const double shared = 4 * kHidden + kExperts * kHidden;
  for (const int e : {2, 4, 8}) {
    Case c{.grid = grid(e), .gpus = 8};
    c.grid.tensor = 2;
    c.grid.expert_tensor = 1;
    c.grid.sequence_parallel = true;
    c.grid.zero = 1;
    CHECK(optimizer_bytes(c) == test::about(12 * ((dense - shared) / 2 / 4 + shared / 4 + experts / e / (8.0 / e))));
  }
}

TEST_CASE("what folding cannot do is refused") {
  const auto why = [](search::GridConfig g) {
    const auto made = search::make_grid(g, 16, 16);
    return made ? std::string() : made.refusal().why;
  };
  search::GridConfig g = grid(2);
  g.tensor = 4;
  g.expert_tensor = 3;
  CHECK(why(g) == "expert_tensor 3 does not divide tensor 4");
  g.expert_tensor = 2;
  CHECK(why(g) == "expert_tensor 2 below tensor 4 needs sequence_parallel, so that each tensor rank has tokens of its own");
  g.sequence_parallel = true;
  CHECK(why(g).empty());
  g.expert = 3;
  CHECK(why(g) == "expert 3 does not divide data 4 x context 1 x tensor 4 / expert_tensor 2");
}

TEST_CASE("experts' biases pass over the experts' outputs, k n h elements a layer, in frameworks that add them apart") {
  const topology::Cluster cluster = test::dgx_a100(1, 1);
  const auto bytes = [&](bool biased, const profiles::FrameworkProfile& framework) {
    const pcg::Plan plan = plan_of({.gpus = 1, .samples = 1, .biased = biased}, cluster);
    const sim::Dataflow data = sim::dataflow_of(plan);
    std::pair<double, double> moved;
    for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
      if (!plan.pcg.nodes()[n].computes()) continue;
      const sim::NodeShape shape = sim::node_shape(plan, data.flow, n);
      for (const pcg::Kernel& k : sim::forward_kernels(shape, plan.training, framework))
        if (k.name == "biases of experts") moved.first += k.bytes.value();
      for (const pcg::Kernel& k : sim::input_gradient_kernels(shape, plan.training, framework))
        if (k.name == "biases of experts") moved.second += k.bytes.value();
    }
    return moved;
  };
  profiles::FrameworkProfile apart;
  apart.expert_bias = {base::Bytes(12), base::Bytes(10)};
  const double elements = 2 * kTopK * kTokens * kHidden;  // of two layers
  CHECK(bytes(true, apart).first == test::about(12 * elements));
  CHECK(bytes(true, apart).second == test::about(10 * elements));
  CHECK(bytes(false, apart) == std::pair(0.0, 0.0));
  CHECK(bytes(true, {}) == std::pair(0.0, 0.0));
  apart.expert_bias.forward_strided = base::Bytes(4);
  apart.expert_bias.backward_strided = base::Bytes(8);
  CHECK(bytes(true, apart).first == test::about(16 * elements));
  CHECK(bytes(true, apart).second == test::about(18 * elements));
}
