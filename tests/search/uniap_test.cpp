// UniAP and Galvatron on small models: costs of layers by hand, plans that compute what the model does, and answers that hold what they
// say.
#include "search/planners/uniap/uniap.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "pcg/evaluator/equivalence.hpp"
#include "problem.hpp"
#include "search/problem/search_result.hpp"
#include "search/solve/layers/chain_costs.hpp"
#include "tests/about.hpp"

namespace {

const std::string kFourLayers =
    "{transformer: {layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 96, sequence_length: 16, causal: true, attention: unfused}}";

// Layers large enough for kernels, not launches, to take the time.
const std::string kWideLayers =
    "{transformer: {layers: 4, hidden: 1024, heads: 16, ffn: 4096, vocab: 4096, sequence_length: 512, causal: true, attention: unfused}}";

search::LayerChain chain_of(const search::Problem& problem, const search::ChainSetting& setting, int micro_batches) {
  const search::ShortModel model = search::short_model(problem.model);
  search::OperatorCatalog catalog(problem, 2);
  return search::ChainCosts(problem, model, catalog, micro_batches).chain(setting).value();
}

}  // namespace

TEST_CASE("strategies of four devices") {
  std::vector<std::string> texts;
  for (const search::LayerStrategy& s : search::layer_strategies(4)) texts.push_back(search::to_text(s));
  const std::vector<std::string> kept{"data 4",
                                      "shards 4",
                                      "data 2 x tensor 2",
                                      "shards 2 x tensor 2",
                                      "data 2 x tensor 2 (data inside)",
                                      "shards 2 x tensor 2 (data inside)",
                                      "tensor 4"};
  REQUIRE(texts.size() == 2 * kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(texts[i] == kept[i]);
    CHECK(texts[kept.size() + i] == kept[i] + ", recomputed");
  }
}

TEST_CASE("layers that repeat have one table") {
  const test::Question q(kFourLayers, 1, 4, 8);
  const search::ShortModel model = search::short_model(q.model);
  CHECK(model.split.layers == 4);  // embedding, two layers, head
  CHECK(model.layer_like == std::vector<std::size_t>{0, 1, 2, 2, 2, 3});
}

TEST_CASE("one device: the costs of the layers are the kernels of the iteration") {
  const test::Question q(kWideLayers, 1, 1, 8);
  const search::Problem problem = q.problem();
  const search::LayerChain chain = chain_of(problem, {}, 1);
  search::ChainAnswer all{{0}, std::vector<std::uint32_t>(6, 0), 0};
  all.seconds = search::chain_seconds(chain, all);
  const pcg::Plan plan = search::layered_plan(problem, {}, 1, all);
  const double simulated = q.oracle.plan(plan).iteration_time.value();
  CHECK(all.seconds == test::about(simulated, 0.01));
  // Weights, gradients and optimizer state of a tied embedding count once; what is kept is what the simulator keeps.
  const sim::MemoryUse memory = q.oracle.memory(plan);
  double bytes = 0;
  for (const std::size_t kind : chain.kinds) bytes += chain.tables[0][kind].bytes[0];
  CHECK(bytes == test::about((memory.weights + memory.gradients + memory.optimizer + memory.activations).value(), 0.01));
}

TEST_CASE("stages of GPipe keep all micro-batches, those of 1F1B as many as are behind") {
  const test::Question q(kFourLayers, 1, 4, 8);
  const search::Problem problem = q.problem();
  const search::LayerChain gpipe = chain_of(problem, {.stages = 4, .schedule = pcg::ScheduleKind::gpipe}, 8);
  const search::LayerChain one = chain_of(problem, {.stages = 4, .schedule = pcg::ScheduleKind::one_f_one_b}, 8);
  const auto bytes = [](const search::LayerChain& c, std::size_t stage) { return c.tables[c.table_of_stage[stage]][2].bytes[0]; };
  // Kept bytes of a micro-batch are the difference between two stages of 1F1B: 4, 3, 2 and 1 are kept.
  const double kept = bytes(one, 0) - bytes(one, 1);
  CHECK(kept > 0);
  CHECK(bytes(one, 1) - bytes(one, 2) == test::about(kept));
  CHECK(bytes(gpipe, 0) - bytes(one, 0) == test::about(4 * kept));
  CHECK(bytes(gpipe, 3) == test::about(bytes(gpipe, 0)));
}

TEST_CASE("updates of stages run side by side: an iteration has one of them, however few its micro-batches") {
  // Few samples for many weights, so that the update is a large part; layers large enough for kernels, not launches, to take the time. The
  // embedding and the head are small.
  const std::string model =
      "{transformer: {layers: 8, hidden: 2048, heads: 16, ffn: 8192, vocab: 64, sequence_length: 32, causal: true, attention: unfused}}";
  const test::Question q(model, 1, 4, 16);
  const search::Problem problem = q.problem();
  for (const int stages : {2, 4})
    for (const pcg::ScheduleKind schedule : {pcg::ScheduleKind::one_f_one_b, pcg::ScheduleKind::gpipe})
      for (const int micro_batches : {1, 2, 4}) {
        CAPTURE(stages);
        CAPTURE(micro_batches);
        const search::ChainSetting setting{.stages = stages, .schedule = schedule};
        search::ChainAnswer even{{}, std::vector<std::uint32_t>(10, 0), 0};
        for (int s = 0; s < stages; ++s) even.begins.push_back(s == 0 ? 0 : 1 + static_cast<std::size_t>(s * 8 / stages));
        even.seconds = search::chain_seconds(chain_of(problem, setting, micro_batches), even);
        const pcg::Plan plan = search::layered_plan(problem, setting, micro_batches, even);
        const double of_simulation = even.seconds / q.oracle.plan(plan).iteration_time.value();
        CHECK(of_simulation > 0.95);
        CHECK(of_simulation < 1.06);
      }
}

TEST_CASE("UniAP's plan, its objective and its bound") {
  const test::Question q(kFourLayers, 2, 2, 8);
  const search::Problem problem = q.problem();
  const search::SearchResult uniap = search::uniap_search(problem, {}, {});
  const search::SearchResult galvatron = search::galvatron_search(problem, {}, {});
  REQUIRE(uniap.best);
  REQUIRE(galvatron.best);
  CHECK(pcg::violations(*uniap.best).empty());
  CHECK(uniap.bound <= uniap.objective);
  CHECK(uniap.bound <= galvatron.objective);
  CHECK(uniap.simulation->iteration_time <= galvatron.simulation->iteration_time);
  CHECK(uniap.best->name == "uniap");
  CHECK(galvatron.best->name == "galvatron");
  CHECK(uniap.notes.at(0).code == "cost-and-simulation");
}

TEST_CASE("UniAP and Galvatron simulate the quickest replicas with ZeRO, too, unless the question is narrower") {
  const test::Question q(kWideLayers, 2, 2, 8);
  const search::Problem problem = q.problem();
  const search::SearchContext context;
  search::Confirmation replicas(problem, context, "replicas");
  search::Budget budget(context, search::kDefaultEffort);
  search::confirm_sharded(problem, context, budget, replicas);
  const std::string quickest = replicas.best_plan()->summary;  // "data 4, zero ..."; plans of layers say "1 micro-batch, zero ..."
  const auto simulates = [&](const search::SearchResult& r) {
    return r.best->summary == quickest || std::ranges::count(r.lost, quickest, &search::LostCandidate::candidate) > 0;
  };
  for (const auto& search : {search::uniap_search, search::galvatron_search}) {
    const search::SearchResult all = search(problem, {.simulated = 1}, {});
    CHECK(simulates(all));
    CHECK(all.simulation->iteration_time <= *replicas.best_time() * search::kTie);
    for (const search::ChainSearchConfig& narrow : {search::ChainSearchConfig{.as_published = true}, {.stages = 1}, {.micro_batches = 1}})
      CHECK_FALSE(simulates(search(problem, narrow, {})));
  }
}

TEST_CASE("whenever the time is up, UniAP's plan is not worse than Galvatron's in the same time") {
  const test::Question q(kFourLayers, 2, 2, 8);
  for (const double looks : {1.0, 10.0, 20.0, 40.0, 80.0}) {  // at a clock that runs a second on with each
    CAPTURE(looks);
    const auto in_time = [&](auto search) {
      double now = 0;
      const search::SearchContext context{.clock = [&] { return base::Seconds(++now); }};
      return search(q.problem(), search::ChainSearchConfig{.budget = base::Seconds(looks)}, context).simulation->iteration_time;
    };
    const auto uniap = [](const auto&... given) { return search::uniap_search(given...); };
    const auto galvatron = [](const auto&... given) { return search::galvatron_search(given...); };
    CHECK(in_time(uniap) <= in_time(galvatron));
  }
}

TEST_CASE("memory that is too small is said, by how much") {
  const test::Question q(kFourLayers, 1, 2, 8);
  const topology::Cluster tiny = test::switched(1, 2, 0.5);
  const sim::Oracle oracle(tiny);
  const search::Problem problem{q.model, q.section, tiny, q.training, oracle};
  for (const search::SearchResult& r : {search::uniap_search(problem, {}, {}), search::galvatron_search(problem, {}, {})}) {
    REQUIRE(r.termination.is_infeasible());
    REQUIRE(std::holds_alternative<search::ClosestMiss>(*r.termination.binding()));
    const auto& miss = std::get<search::ClosestMiss>(*r.termination.binding());
    CHECK(miss.memory.needed > miss.memory.available);
  }
}

TEST_CASE("stages and micro-batches that are asked for are given, or refused") {
  const test::Question q(kFourLayers, 1, 4, 8);
  const search::Problem problem = q.problem();
  for (const search::SearchResult& r : {search::uniap_search(problem, {.stages = 2, .micro_batches = 4}, {}),
                                        search::galvatron_search(problem, {.stages = 2, .micro_batches = 4}, {})}) {
    REQUIRE(r.best);
    CHECK(r.best->stages == 2);
    CHECK(r.best->micro_batches == 4);
  }
  CHECK(search::uniap_search(problem, {.stages = 3}, {}).termination.is_infeasible());             // of 4 GPUs
  CHECK(search::galvatron_search(problem, {.micro_batches = 3}, {}).termination.is_infeasible());  // of 8 samples
  const search::SearchResult many = search::uniap_search(problem, {.micro_batches = (std::int64_t{1} << 32) + 2}, {});
  REQUIRE(many.termination.is_infeasible());
  CHECK(std::get<search::Refusal>(*many.termination.binding()).why == "4294967298 micro-batches do not divide a global batch of 8");
}

TEST_CASE("as many plans are simulated as are asked for, though answers without shares are one plan with ZeRO 2 and 3") {
  const test::Question q(kFourLayers, 1, 4, 8);
  const search::SearchResult r = search::galvatron_search(q.problem(), {.simulated = 3, .stages = 2, .micro_batches = 4}, {});
  CHECK(r.candidates == 3);
}

TEST_CASE("micro-batches that are asked for may be more than are tried unasked") {
  const test::Question q("{builtin: mlp-mnist}", 1, 1, 1 << 17);
  const search::Problem problem = q.problem();
  CHECK(search::ChainSearch(problem, {.micro_batches = 1 << 17}, {}, "uniap").micro_batches() == std::vector{1 << 17});
  CHECK(search::ChainSearch(problem, {}, {}, "uniap").micro_batches().back() == 1 << 16);
}

TEST_CASE("a batch that no stage can share is refused") {
  const test::Question q("{builtin: mlp-mnist}", 1, 5, 3);
  const search::SearchResult r = search::galvatron_search(q.problem(), {}, {});
  REQUIRE(r.termination.is_infeasible());
  CHECK(std::get<search::Refusal>(*r.termination.binding()).why.find("cannot be cut for all GPUs of its stage") != std::string::npos);
}

TEST_CASE("layers in different strategies: the plan computes what the model does, and shares and recomputes what it says") {
  const test::Question q(kFourLayers, 1, 4, 8);
  const search::Problem problem = q.problem();
  const pcg::Plan whole = search::layered_plan(problem, {.stages = 1}, 2, {{0}, {0, 2, 4, 6, 2, 0}, 0});
  CHECK(pcg::check_equivalence(whole, q.model, 3, 1).equivalent);
  CHECK(whole.zero == 0);
  CHECK(whole.recompute == pcg::Recompute::none);
  // Of layers in one strategy or another, some share out their weights, and some are recomputed.
  const pcg::Plan mixed = search::layered_plan(problem, {.stages = 1}, 2, {{0}, {0, 1, 3, 6 + 7, 2 + 7, 0}, 0});
  CHECK(pcg::check_equivalence(mixed, q.model, 3, 1).equivalent);
  CHECK(mixed.zero == 3);
  CHECK(mixed.memory.zero.blocks == std::vector{1, 2});
  CHECK(mixed.recompute == pcg::Recompute::full);
  CHECK(mixed.memory.recomputed.only == std::vector{3, 4});
  CHECK(mixed.summary ==
        "2 micro-batches, zero 3; 2 layers data 4, 1 layer shards 4, 1 layer shards 2 x tensor 2, 1 layer tensor 4, recomputed, 1 other "
        "strategy");
  // Nothing is listed where all do: a layer in `tensor 4` has nobody to share with, an embedding nothing to recompute.
  const pcg::Plan all = search::layered_plan(problem, {.stages = 2}, 4, {{0, 2}, {1, 1 + 3, 1 + 3, 2 + 3, 1 + 3, 1}, 0});
  CHECK(pcg::check_equivalence(all, q.model, 3, 1).equivalent);
  CHECK(all.recompute == pcg::Recompute::full);
  CHECK(all.memory.recomputed.only.empty());
  CHECK(q.oracle.plan(all).iteration_time > base::Seconds(0));
}

TEST_CASE("a layer that is recomputed keeps its input, and takes its forward pass once more") {
  const test::Question q(kWideLayers, 1, 1, 8);
  const search::Problem problem = q.problem();
  const search::LayerChain chain = chain_of(problem, {}, 1);
  const auto costs = [&](std::uint32_t strategy) {
    search::ChainAnswer all{{0}, std::vector<std::uint32_t>(6, strategy), 0};
    const double seconds = search::chain_seconds(chain, all);
    const pcg::Plan plan = search::layered_plan(problem, {}, 1, all);
    double bytes = 0;
    for (const std::size_t kind : chain.kinds) bytes += chain.tables[0][kind].bytes[strategy];
    CHECK(seconds == test::about(q.oracle.plan(plan).iteration_time.value(), 0.01));
    return std::pair(seconds, bytes);
  };
  const auto kept = costs(0), recomputed = costs(1);
  CHECK(recomputed.first > 1.1 * kept.first);
  // Four layers keep their inputs of 8 x 16 x 64 numbers; one embedding and one head keep what they kept.
  CHECK(recomputed.second < kept.second);
}

TEST_CASE("a summary says of no layer without weight that it is recomputed") {
  // The embedding and the head are none of the layers that a framework computes again.
  const test::Question q(kFourLayers, 1, 4, 8);
  const pcg::Plan plan = search::layered_plan(q.problem(), {.stages = 1}, 2, {{0}, std::vector<std::uint32_t>(6, 7), 0});
  CHECK(plan.summary == "2 micro-batches; 4 layers data 4, recomputed, 2 layers data 4");
}
