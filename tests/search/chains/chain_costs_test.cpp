// Seconds and bytes of a layer in each of its strategies, from those of its operators. On n devices that share samples, of a layer whose
// operators take F forward and B backward, whose gradients of G bytes take S to add up, and whose update takes U, with p stages, m
// micro-batches and w bytes of a weight for each byte of its gradient:
//   whole weights         F + B + (S or what of it B does not hide + U) / (m + p - 1)
//   shards, ZeRO 2        F + B + (S/2 or what of it B does not hide + U/n + w S/2) / (m + p - 1)
//   shards, ZeRO 3        max(F, w S/2) + max(B, w S/2 + S/2) + U/n / (m + p - 1)
//   recomputed            F more; of attention's scores alone, what these take
// An all-reduce is a scattering and a gathering of half the time each (ZeRO, SC'20, section 7).
#include "search/solve/layers/chain_costs.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "../problem.hpp"
#include "pcg/work/work.hpp"
#include "sim/memory/model_states.hpp"
#include "tests/about.hpp"

namespace {

// Wide layers of few tokens, whose gradients take longer than their kernels.
const std::string kWide =
    "{transformer: {layers: 4, hidden: 2048, heads: 4, ffn: 4096, vocab: 96, sequence_length: 16, causal: true, attention: unfused}}";
constexpr int kLayer = 1;  // the first layer behind the embedding

struct LayerSums {
  double forward = 0, scores = 0, backward = 0, synchronisation = 0, update = 0;
  std::array<double, 4> state_bytes{};
};

// Sums over a layer's operators, cut by samples for `devices`.
LayerSums sums_of(const search::Problem& problem, int devices, int micro_batches) {
  const search::ShortModel model = search::short_model(problem.model);
  search::OperatorCatalog catalog(problem, 2);
  const pcg::Graph graph = pcg::with_batch(model.graph, problem.training.global_batch / micro_batches);
  const auto kinds = catalog.kinds_of(graph);
  const auto operators = search::operators_of_cut(graph, model.split, {.samples = devices}).value();
  LayerSums sums;
  for (std::size_t n = 0; n < kinds.size(); ++n) {
    const pcg::GraphNode& node = graph.nodes()[n];
    if (kinds[n] == search::kSource || model.split.of_block[static_cast<std::size_t>(node.block)] != kLayer) continue;
    const search::StrategyCost c = catalog.table_of(kinds[n], {operators[n]}, devices).costs[0];
    sums.forward += c.forward;
    if (pcg::keeps_scores(node.op)) sums.scores += c.forward;
    sums.backward += c.kernels + c.inside - c.forward + (micro_batches > 1 ? c.buffering : 0);
    sums.synchronisation += c.synchronisation;
    sums.update += c.update;
    for (std::size_t zero = 0; zero < 4; ++zero) sums.state_bytes[zero] += c.state_bytes[zero];
  }
  return sums;
}

struct Costs {
  search::LayerChain chain;
  std::vector<search::LayerStrategy> strategies;
  [[nodiscard]] std::size_t number(const std::string& strategy) const {
    const auto at = std::ranges::find_if(strategies, [&](const auto& s) { return search::to_text(s) == strategy; });
    REQUIRE(at != strategies.end());
    return static_cast<std::size_t>(at - strategies.begin());
  }
  [[nodiscard]] double seconds(const std::string& strategy) const { return chain.tables[0][kLayer].seconds[number(strategy)]; }
  [[nodiscard]] double bytes(const std::string& strategy) const { return chain.tables[0][kLayer].bytes[number(strategy)]; }
};

Costs costs_of(const search::Problem& problem, const search::ChainSetting& setting, int micro_batches) {
  const search::ShortModel model = search::short_model(problem.model);
  search::OperatorCatalog catalog(problem, 2);
  return {search::ChainCosts(problem, model, catalog, micro_batches).chain(setting).value(),
          search::layer_strategies(problem.cluster.device_count() / setting.stages)};
}

}  // namespace

TEST_CASE("a layer takes what its operators take, and what its strategy adds to them") {
  for (const auto framework : {pcg::Framework::generic, pcg::Framework::megatron}) {  // the first hides gradients behind the backward pass
    const bool hides = framework == pcg::Framework::generic;
    for (const int stages : {1, 2})
      for (const int micro_batches : {1, 2}) {
        CAPTURE(hides);
        CAPTURE(stages);
        CAPTURE(micro_batches);
        test::Question q(kWide, 1, 2 * stages, 8);
        q.training.framework = framework;
        q.training.precision = pcg::Precision::fp16;
        q.training.fp32_gradients = true;
        const search::Problem problem = q.problem();
        const LayerSums o = sums_of(problem, 2, micro_batches);
        REQUIRE((micro_batches > 1 || o.synchronisation / 2 > o.backward));  // so that not all of it is hidden, even scattered
        const double rounds = micro_batches + stages - 1, half = o.synchronisation / 2, gathering = 0.5 * half;
        const auto left = [&](double seconds, double backward) { return hides ? std::max(0.0, seconds - backward) : seconds; };

        const Costs three = costs_of(problem, {.stages = stages, .zero = 3}, micro_batches);
        const double whole = o.forward + o.backward + (left(o.synchronisation, o.backward) + o.update) / rounds;
        CHECK(three.seconds("data 2") == test::about(whole));
        CHECK(three.seconds("shards 2") ==
              test::about(std::max(o.forward, gathering) + std::max(o.backward, gathering + half) + o.update / 2 / rounds));
        const double longer = o.backward + o.forward;
        CHECK(three.seconds("data 2, recomputed") ==
              test::about(o.forward + longer + (left(o.synchronisation, longer) + o.update) / rounds));

        const Costs two = costs_of(problem, {.stages = stages, .zero = 2}, micro_batches);
        CHECK(two.seconds("data 2") == test::about(whole));
        CHECK(two.seconds("shards 2") ==
              test::about(o.forward + o.backward + (left(half, o.backward) + o.update / 2 + gathering) / rounds));

        const Costs selective = costs_of(problem, {.stages = stages, .zero = 3, .selective = true}, micro_batches);
        const double scores = o.backward + o.scores;
        CHECK(selective.seconds("data 2") == test::about(o.forward + scores + (left(o.synchronisation, scores) + o.update) / rounds));
        CHECK(o.scores < o.forward);
      }
  }
}

TEST_CASE("transfers of ZeRO 3 overlap with kernels as they do in the simulation") {
  for (const auto framework : {pcg::Framework::generic, pcg::Framework::megatron, pcg::Framework::pytorch})
    for (const int tokens : {256, 1024})  // transfers take longer, and kernels do
      for (const int micro_batches : {1, 2}) {
        CAPTURE(tokens);
        CAPTURE(micro_batches);
        test::Question q(fmt::format("{{transformer: {{layers: 12, hidden: 2048, heads: 16, ffn: 8192, vocab: 96, sequence_length: {}, "
                                     "causal: true, attention: unfused}}}}",
                                     tokens),
                         1, 4, 8);
        q.training.framework = framework;
        const search::Problem problem = q.problem();
        const Costs c = costs_of(problem, {.zero = 3}, micro_batches);
        search::ChainAnswer all{{0}, std::vector<std::uint32_t>(14, static_cast<std::uint32_t>(c.number("shards 4"))), 0};
        const pcg::Plan plan = search::layered_plan(problem, {.zero = 3}, micro_batches, all);
        const double of_simulation = search::chain_seconds(c.chain, all) / q.oracle.plan(plan).iteration_time.value();
        CHECK(of_simulation > 0.92);
        CHECK(of_simulation < 1.08);
      }
}

TEST_CASE("micro-batches add up whole gradients in ZeRO 2, a single one shares them out") {
  const test::Question q(kWide, 1, 2, 8);
  const search::Problem problem = q.problem();
  for (const int micro_batches : {1, 2}) {
    const LayerSums o = sums_of(problem, 2, micro_batches);
    for (const int zero : {2, 3}) {
      const Costs c = costs_of(problem, {.zero = zero}, micro_batches);
      const std::size_t held = zero == 3 ? 3 : micro_batches == 1 ? 2 : 1;
      CHECK(c.bytes("data 2") - c.bytes("shards 2") == test::about(o.state_bytes[0] - o.state_bytes[held]));
    }
  }
}

TEST_CASE("the first stage and the last one add up the gradient of a word embedding that both hold") {
  const test::Question q(kWide, 1, 4, 8);
  const search::Problem problem = q.problem();
  const base::Bytes gradient(4.0 * 96 * 2048);  // fp32, of every entry
  const auto sum_of = [&](std::vector<std::size_t> devices) {
    std::vector<base::DeviceId> group;
    for (const std::size_t d : devices) group.emplace_back(d);
    return q.oracle.collective(sim::CollectiveKind::all_reduce, gradient, group).time.value();
  };
  CHECK(costs_of(problem, {.stages = 4}, 8).chain.once == test::about(sum_of({0, 3})));
  CHECK(costs_of(problem, {.stages = 2}, 4).chain.once == test::about(sum_of({0, 1, 2, 3})));
  CHECK(costs_of(problem, {.stages = 1}, 1).chain.once == 0);
}

TEST_CASE("a tensor that a layer further on reads, too, is there for it where the next layer has read it") {
  // Layers a, b and c: c reads what a makes and what b makes. With b reading a's tensor, or another one.
  for (const bool next_reads : {true, false}) {
    test::Question q(test::kSmallGpt, 1, 2, 8);
    pcg::GraphBuilder g("skip");
    g.begin_block("a");
    const auto image = g.input("image", {{8, 16}, pcg::Element::real});
    const auto a = g.add("a.one", pcg::Linear{.out = 16}, {image}), other = g.add("a.two", pcg::Linear{.out = 16}, {image});
    g.begin_block("b");
    const auto b = g.add("b.one", pcg::Linear{.out = 16}, {next_reads ? a : other});
    g.begin_block("c");
    g.add("c.sum", pcg::Binary{.kind = pcg::Binary::Kind::add}, {a, b});
    q.model = std::move(g).build();
    const search::Problem problem = q.problem();
    const search::LayerChain chain = costs_of(problem, {}, 1).chain;
    REQUIRE(chain.long_edges.size() == 1);
    CHECK(chain.long_edges[0].from == 0);
    CHECK(chain.long_edges[0].readers == std::vector<std::size_t>{2});
    CHECK(chain.long_edges[0].next_reads == next_reads);
  }
}

TEST_CASE("a tensor that two operators of the next layer read in one layout is brought there once") {
  // The norm of a layer and the sum around its attention read what the layer before makes: whole, where the layer is cut into tensor
  // groups.
  const test::Question q(kWide, 1, 2, 8);
  const search::Problem problem = q.problem();
  const search::ShortModel model = search::short_model(problem.model);
  search::OperatorCatalog catalog(problem, 2);
  const pcg::Graph graph = pcg::with_batch(model.graph, 8);
  const auto kinds = catalog.kinds_of(graph);
  const auto from = search::operators_of_cut(graph, model.split, {.samples = 2}).value(),
             to = search::operators_of_cut(graph, model.split, {.tensor = 2}).value();
  const auto layouts = [&](std::uint32_t n, const search::Strategy& s) { return catalog.table_of(kinds[n], {s}, 2).layouts[0]; };
  const auto layer = [&](const pcg::GraphNode& n) { return model.split.of_block[static_cast<std::size_t>(n.block)]; };
  std::vector<double> moves;  // by edge
  for (std::uint32_t n = 0; n < kinds.size(); ++n)
    for (std::uint32_t i = 0; i < graph.nodes()[n].inputs.size(); ++i) {
      const std::uint32_t maker = graph.nodes()[n].inputs[i].node.value;
      if (kinds[maker] == search::kSource || layer(graph.nodes()[maker]) != kLayer || layer(graph.nodes()[n]) != kLayer + 1) continue;
      moves.push_back(catalog.movement(*catalog.edge_at(graph, kinds, n, i), layouts(maker, from[maker]), layouts(n, to[n])));
    }
  REQUIRE(moves.size() == 2);
  REQUIRE(moves[0] > 0);
  CHECK(moves[0] == moves[1]);
  const Costs costs = costs_of(problem, {}, 1);
  const search::StrategyPairs& before = costs.chain.tables[0].at(costs.chain.kinds.at(kLayer + 1)).from_before;
  CHECK(before[costs.number("data 2")][costs.number("tensor 2")] == test::about(moves[0]));
}

TEST_CASE("devices of a tensor group are neighbours, or those of a group of samples are") {
  const test::Question q(test::kSmallGpt, 1, 4, 8);
  const pcg::Graph graph = pcg::with_batch(q.model, 8);
  const search::LayerSplit split = search::split_into_layers(graph.blocks());
  const auto devices = [&](bool tensor_is_inside) {
    const auto cut = search::operators_of_cut(graph, split, {.samples = 2, .tensor = 2, .tensor_is_inside = tensor_is_inside}).value();
    for (std::size_t n = 0; n < cut.size(); ++n) {
      std::vector<std::size_t> found;
      if (!graph.nodes()[n].name.ends_with("mlp.up")) continue;
      for (const base::DeviceId d : pcg::devices_of(cut[n].view, cut[n].sharding)) found.push_back(d.value);
      return found;
    }
    return std::vector<std::size_t>{};
  };
  // In the order of samples, and of each half of them of the two halves of the width.
  CHECK(devices(true) == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(devices(false) == std::vector<std::size_t>{0, 2, 1, 3});
}
