// Alpa and the planners that it contains.
#include "search/planners/alpa/alpa.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "problem.hpp"

namespace {

search::SearchResult in_space(const test::Question& q, search::AlpaSpace space, const search::AlpaConfig& config = {}) {
  return search::alpa_search(q.problem(), space, config, {});
}

pcg::Graph chain_of_layers(const std::vector<std::int64_t>& widths) {
  pcg::GraphBuilder g("chain");
  auto x = g.input("x", {{32, 256}, pcg::Element::real});
  for (std::size_t l = 0; l < widths.size(); ++l) {
    x = g.add(fmt::format("layer{}", l), pcg::Linear{.out = widths[l]}, {x});
    x = g.add(fmt::format("relu{}", l), pcg::Unary{pcg::Unary::Kind::relu}, {x});
  }
  return std::move(g).build();
}

test::Question of_small_gpt() { return test::Question(test::kSmallGpt, 2, 2, 16); }

}  // namespace

TEST_CASE("Alpa is not worse than its parts alone") {
  const test::Question q = of_small_gpt();
  const search::SearchResult alpa = in_space(q, search::AlpaSpace::all);
  REQUIRE(alpa.best);
  CHECK(pcg::violations(*alpa.best).empty());
  const search::SearchResult stages = in_space(q, search::AlpaSpace::stages_alone);
  const search::SearchResult operators = search::alpa_search(q.problem(), search::AlpaSpace::one_stage, {}, {});
  REQUIRE(stages.best);
  REQUIRE(operators.best);
  CHECK(*alpa.objective <= *stages.objective);
  CHECK(alpa.objective->value() <= operators.objective->value() * 1.001);
}

TEST_CASE("Alpa with its own space is not worse than that alone, where sums of costs prefer other stages") {
  test::Question q("{builtin: mlp-mnist}", 1, 4, 32);
  q.model = chain_of_layers({1280, 2048, 1280, 1024, 512, 1536, 4096, 256, 1024, 1024});
  const auto seconds = [&](search::AlpaConfig config) {
    config.settings.micro_batches = 4;
    config.parts.layers = 4;
    return in_space(q, search::AlpaSpace::all, config).objective->value();
  };
  const double published = seconds({.replicas = false, .transfers = false, .parts = {.by = search::Clustering::layers}});
  CHECK(seconds({}) > 1.02 * published);
  CHECK(seconds({.has_published = true}) <= published);
}

TEST_CASE("Alpa simulates replicas with ZeRO by rule, too, unless updates are not shared out or its own space alone is asked for") {
  // Wide layers: sharing out the update is worth it.
  const test::Question q(
      "{transformer: {layers: 2, hidden: 1024, heads: 16, ffn: 4096, vocab: 4096, sequence_length: 128, causal: true, attention: unfused}}",
      1, 4, 8);
  const auto simulates = [&](const search::AlpaConfig& config) {
    bool found = false;  // "data 4, zero ..."; other plans list operators
    const auto progress = [&](std::string_view plan) { found = found || plan.starts_with("data 4, zero"); };
    (void)search::alpa_search(q.problem(), search::AlpaSpace::one_stage, config, {.progress = progress});
    return found;
  };
  CHECK(simulates({}));
  CHECK_FALSE(simulates({.settings = {.update_sharding = false}}));
  CHECK_FALSE(simulates({.replicas = false}));
}

TEST_CASE("stages alone are single GPUs") {
  const search::SearchResult r = in_space(of_small_gpt(), search::AlpaSpace::stages_alone);
  REQUIRE(r.best);
  CHECK(r.best->name == "inter-op");
  CHECK(r.best->stages == 4);
  for (const pcg::PcgNode& n : r.best->pcg.nodes())
    if (n.computes()) CHECK(n.sharding.points() == 1);
}

TEST_CASE("stages of replicas share out samples and nothing else") {
  const search::SearchResult r = in_space(of_small_gpt(), search::AlpaSpace::samples);
  REQUIRE(r.best);
  for (const pcg::PcgNode& n : r.best->pcg.nodes())
    for (std::size_t l = 0; n.computes() && l < n.sharding.degrees.size(); ++l)
      if (n.space->loops[l].name != "b") CHECK(n.sharding.degrees[l] == 1);
}

TEST_CASE("tensors go between stages as asked; what is one stage has no such tensors") {
  using How = pcg::BetweenStages;
  const test::Question q = of_small_gpt();
  for (const How how : {How::local_all_gather, How::send_recv, How::signal}) {
    const search::SearchResult r =
        in_space(q, search::AlpaSpace::all, {.stages = 2, .settings = {.micro_batches = 4}, .between_stages = how});
    REQUIRE(r.best);
    CHECK(r.best->between_stages == how);
    const search::SearchResult one = in_space(q, search::AlpaSpace::all, {.stages = 1, .between_stages = how});
    REQUIRE(one.best);
    CHECK(one.best->between_stages == How::local_all_gather);
  }
}

TEST_CASE("signals do not go together with hand-overs that take time") {
  const search::Planner alpa = search::alpa_planner();
  const auto key_of_problem = [&](const char* map) {
    base::Diagnostics sink;
    const base::Yaml y = base::parse_yaml(map, "o");
    base::MapReader in(y, "plan", sink);
    const auto problem = alpa.contradiction(search::read_options(in, alpa.options, {}));
    sink.throw_if_any();
    return problem ? problem->key : "";
  };
  CHECK(key_of_problem("{between_stages: signal}").empty());
  CHECK(key_of_problem("{between_stages: signal, transfers: false}").empty());
  CHECK(key_of_problem("{between_stages: send-recv, transfers: true}").empty());
  CHECK(key_of_problem("{between_stages: signal, transfers: true}") == "transfers");
  CHECK(key_of_problem("{layers: 8}") == "layers");
  CHECK(key_of_problem("{gpus_per_stage: [2, 2], layers_per_stage: [3, 3], clustering: dp, stages: 2}").empty());
  CHECK(key_of_problem("{layers_per_stage: [3, 3]}") == "layers_per_stage");
  CHECK(key_of_problem("{gpus_per_stage: [2, 2], layers_per_stage: [6], clustering: dp}") == "layers_per_stage");
  CHECK(key_of_problem("{gpus_per_stage: [2, 2], stages: 3}") == "stages");
  CHECK(key_of_problem("{stages: 33}") == "stages");
  CHECK(key_of_problem("{stages: 17, clustering: dp}") == "stages");
  CHECK(key_of_problem("{stages: 17, clustering: dp, layers: 17}").empty());
}

TEST_CASE("what is asked for is given") {
  const search::SearchResult r = in_space(of_small_gpt(), search::AlpaSpace::all, {.stages = 2, .settings = {.micro_batches = 4}});
  REQUIRE(r.best);
  CHECK(r.best->stages == 2);
  CHECK(r.best->micro_batches == 4);
  for (const search::PipelineSetting& s : search::candidate_settings(16, {.recompute = false, .update_sharding = false})) {
    CHECK(s.recompute == pcg::Recompute::none);
    CHECK(s.zero == 0);
  }
  CHECK(in_space(of_small_gpt(), search::AlpaSpace::all, {.settings = {.micro_batches = 5}}).termination.is_infeasible());  // of 16 samples
  std::set<int> counts;
  for (const search::PipelineSetting& s : search::candidate_settings(12, {})) counts.insert(s.micro_batches);
  CHECK(counts == std::set<int>{1, 2, 4, 6, 12});
}

TEST_CASE("stages have the GPUs and the layers that are asked for") {
  const test::Question q = of_small_gpt();
  const auto given = [&](search::GivenStages stages, search::Clustering by = search::Clustering::segments) {
    const auto count = static_cast<int>(stages.count());
    return in_space(q, search::AlpaSpace::all,
                    {.stages = count, .given = std::move(stages), .settings = {.micro_batches = 4}, .parts = {.by = by, .layers = 3}});
  };
  const search::SearchResult r = given({{1, 1, 2}, {}});
  REQUIRE(r.best);
  CHECK(r.best->summary.starts_with("3 stages of 1 + 1 + 2 GPUs"));
  const search::SearchResult both = given({{2, 2}, {2, 1}}, search::Clustering::layers);
  REQUIRE(both.best);
  CHECK(both.best->summary.starts_with("2 stages of 2 GPUs"));
  CHECK(given({{2, 1}, {}}).termination.is_infeasible());  // of four GPUs
  CHECK(given({{1, 3}, {}}).termination.is_infeasible());  // 3 do not divide 4
  CHECK(given({{}, {2, 2}}, search::Clustering::layers).termination.is_infeasible());
}

TEST_CASE("there are up to as many stages as layers that operators are clustered into") {
  const test::Question q("{transformer: {layers: 20, hidden: 64, heads: 4, vocab: 96, sequence_length: 16}}", 5, 4, 20);
  const search::SearchResult r =
      in_space(q, search::AlpaSpace::all,
               {.stages = 20, .settings = {.micro_batches = 20}, .parts = {.by = search::Clustering::layers, .layers = 20}});
  REQUIRE(r.best);
  CHECK(r.best->stages == 20);
}

TEST_CASE("stages of one and of two GPUs make any number of stages in between") {
  const test::Question q("{transformer: {layers: 24, hidden: 64, heads: 4, vocab: 96, sequence_length: 16}}", 4, 8, 24);
  for (const search::PartsConfig& parts : {search::PartsConfig{}, search::PartsConfig{.by = search::Clustering::layers, .layers = 24}}) {
    const search::SearchResult r =
        in_space(q, search::AlpaSpace::all, {.stages = 24, .settings = {.micro_batches = 24, .recompute = false}, .parts = parts});
    REQUIRE(r.best);
    CHECK(r.best->stages == 24);
  }
  CHECK(in_space(q, search::AlpaSpace::stages_alone).best.has_value());  // 32 stages
}

TEST_CASE("Alpa is not worse than given stages, with any number of micro-batches") {
  const bool ok = rc::check([] {
    test::Question q("{builtin: mlp-mnist}", 1, 4, 24);
    q.model = chain_of_layers({*rc::gen::element(256, 1024, 2048), 1024, *rc::gen::element(512, 4096), 1024});
    const auto devices =
        *rc::gen::element(std::vector<int>{4}, std::vector<int>{2, 2}, std::vector<int>{1, 1, 2}, std::vector<int>{2, 1, 1});
    const search::SearchResult stages = in_space(q, search::AlpaSpace::all,
                                                 {.stages = static_cast<int>(devices.size()),
                                                  .given = {.devices = devices, .parts = {}},
                                                  .settings = {.micro_batches = *rc::gen::element(1, 2, 3, 6, 12, 24)}});
    const search::SearchResult alpa = in_space(q, search::AlpaSpace::all);
    RC_ASSERT(alpa.best.has_value());
    if (stages.best) RC_ASSERT(alpa.objective->value() <= 1.01 * stages.objective->value());  // the slowest stage is as exact
  });
  CHECK(ok);
}

TEST_CASE("Alpa is not worse than its parts alone on any chain of layers") {
  const bool ok = rc::check([] {
    const auto sizes =
        *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(1, 6), rc::gen::inRange<std::int64_t>(1, 9));
    std::vector<std::int64_t> widths;
    for (const std::int64_t s : sizes) widths.push_back(s * 256);
    test::Question q("{builtin: mlp-mnist}", *rc::gen::element(1, 2), *rc::gen::element(1, 2), 32);
    q.model = chain_of_layers(widths);
    const search::SearchResult alpa = in_space(q, search::AlpaSpace::all);
    RC_ASSERT(alpa.best.has_value());
    RC_ASSERT(pcg::violations(*alpa.best).empty());
    const search::SearchResult stages = in_space(q, search::AlpaSpace::stages_alone);
    if (stages.best) RC_ASSERT(*alpa.objective <= *stages.objective);
    RC_ASSERT(*alpa.objective <= *search::alpa_search(q.problem(), search::AlpaSpace::one_stage, {}, {}).objective);
  });
  CHECK(ok);
}

TEST_CASE("the choices of the ablations are what they say") {
  const test::Question q = of_small_gpt();
  for (const auto way : {search::IntraOp::data, search::IntraOp::zero_2, search::IntraOp::zero_3}) {
    const search::SearchResult r = in_space(q, search::AlpaSpace::all, {.stages = 1, .intra_op = way});
    REQUIRE(r.best);
    CHECK(r.best->stages == 1);
    CHECK(r.best->zero == (way == search::IntraOp::zero_2 ? 2 : way == search::IntraOp::zero_3 ? 3 : 0));
    for (const pcg::PcgNode& n : r.best->pcg.nodes())
      for (std::size_t l = 0; n.computes() && l < n.sharding.degrees.size(); ++l)
        if (n.space->loops[l].name != "b") CHECK(n.sharding.degrees[l] == 1);
  }
  const search::SearchResult largest = in_space(q, search::AlpaSpace::all, {.stages = 1, .intra_op = search::IntraOp::largest_dimension});
  REQUIRE(largest.best);
  for (const pcg::PcgNode& n : largest.best->pcg.nodes())
    if (n.computes()) CHECK(std::ranges::count_if(n.sharding.degrees, [](int d) { return d > 1; }) <= 1);
  for (const auto by : {search::Clustering::layers, search::Clustering::equal_operators, search::Clustering::equal_layers}) {
    const search::SearchResult r =
        in_space(q, search::AlpaSpace::all, {.stages = 2, .settings = {.micro_batches = 4}, .parts = {.by = by, .layers = 4}});
    REQUIRE(r.best);
    CHECK(r.best->stages == 2);
    CHECK(pcg::violations(*r.best).empty());
  }
}
