#include <doctest/doctest.h>

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "pcg/graph/pcg.hpp"
#include "pcg/models/load.hpp"
#include "reports/layout/table.hpp"
#include "reports/show/show.hpp"
#include "topology/load.hpp"

TEST_CASE("a model: parameters are counted once, FLOPs per sample whatever the batch") {
  const pcg::Graph g = pcg::models::builtin("mlp-mnist", 8);
  const auto j = nlohmann::json::parse(reports::model_json(g));
  CHECK(j["name"] == "mlp-mnist");
  CHECK(j["parameters"] == g.parameters());
  CHECK(j["forward_flops_per_sample"] == 2 * (784 * 512 + 512 * 10));
  std::int64_t parameters = 0;
  double flops = 0;
  for (const auto& layer : j["layers"]) {
    parameters += layer["parameters"].get<std::int64_t>();
    flops += layer["forward_flops_per_sample"].get<double>();
  }
  CHECK(parameters == g.parameters());
  CHECK(flops == j["forward_flops_per_sample"]);
  CHECK(j["operators"] == j["layers"].size());
}

TEST_CASE("a model: what serves training alone stands apart, FLOPs are given per token, notes are told") {
  pcg::GraphBuilder b("two");
  const auto x =
      b.add("x", pcg::Embedding{.vocabulary = 7, .width = 4}, {b.input("tokens", {.sizes = {1, 5}, .element = pcg::Element::index})});
  b.begin_block(pcg::Block{.name = "more", .auxiliary = true});
  b.add("y", pcg::Linear{.out = 3}, {x});
  const pcg::Graph g = std::move(b).build();
  const std::vector<std::string> notes{"one thing is left out"};
  const auto j = nlohmann::json::parse(reports::model_json(g, notes));
  CHECK(j["parameters"] == 28);
  CHECK(j["auxiliary_parameters"] == 12);
  CHECK(j["training_flops_per_token"] == 3 * 2 * 12);
  CHECK(j["notes"] == notes);
  const std::string text = reports::model_text(g, notes);
  CHECK(text.find("72FLOP per token in training") != std::string::npos);
  CHECK(text.find("12 (12) parameters more serve training alone") != std::string::npos);
  CHECK(text.find("note: one thing is left out") != std::string::npos);
}

TEST_CASE("a model as text: equal blocks are one row") {
  const std::string text = reports::model_text(pcg::models::builtin("bert-large", 1));
  CHECK(text.find("layer 0 .. layer 23     24") != std::string::npos);
}

TEST_CASE("a cluster: what there is, and the kinds of ways between GPUs") {
  const auto c = topology::load_cluster_argument("dgx-1v");
  const auto j = nlohmann::json::parse(reports::cluster_json(c));
  CHECK(j["gpus"] == c.device_count());
  CHECK(j["devices"].size() == 1);
  const std::string text = reports::cluster_text(c);
  CHECK(text.find("nvlink") != std::string::npos);
  CHECK(text.find("GPU 0 to GPU 1") != std::string::npos);
}

TEST_CASE("a plan: where zero shards some blocks alone, these are marked") {
  pcg::GraphBuilder b("two");
  const auto x = b.input("x", pcg::real({4, 8})), y = b.input("y", pcg::real({4, 8}));
  b.begin_block("first");
  const auto h = b.add("up", pcg::Linear{.out = 8}, {x});
  b.begin_block("second");
  const auto z = b.add("down", pcg::Linear{.out = 8}, {h});
  b.begin_weightless_block("end");
  b.add("loss", pcg::SquaredError{}, {z, y});
  const pcg::Graph g = std::move(b).build();
  pcg::Plan p;
  p.name = "halves";
  p.pcg = pcg::parallelize(g, pcg::unsharded(g));
  p.mapping.resize(p.pcg.nodes().size());
  p.stage.assign(p.pcg.nodes().size(), 0);
  p.training.global_batch = 4;
  p.zero = 3;
  CHECK(reports::plan_text(p, {}, 120).find(", zero 3\n") != std::string::npos);
  CHECK(!nlohmann::json::parse(reports::plan_json(p, {})).contains("zero_blocks"));
  const auto second = static_cast<int>(std::ranges::find(p.pcg.blocks(), "second", &pcg::Block::name) - p.pcg.blocks().begin());
  p.memory.zero.blocks = {second};
  REQUIRE(pcg::violations(p).empty());
  const std::string text = reports::plan_text(p, {}, 120);
  CHECK(text.find(fmt::format(", zero 3 for 1 of {} blocks\n", p.pcg.blocks().size())) != std::string::npos);
  CHECK(text.find("second (zero 3): as first\n") != std::string::npos);
  CHECK(nlohmann::json::parse(reports::plan_json(p, {}))["zero_blocks"] == std::vector<std::string>{"second"});
}

TEST_CASE("two plans: settings that differ, and operators that run alike") {
  pcg::GraphBuilder b("one");
  const auto x = b.input("x", pcg::real({4, 8})), y = b.input("y", pcg::real({4, 8}));
  b.add("loss", pcg::SquaredError{}, {b.add("up", pcg::Linear{.out = 8}, {x}), y});
  const pcg::Graph g = std::move(b).build();
  pcg::Plan first;
  first.name = "first";
  first.summary = "whole";
  first.gpus = 2;
  first.pcg = pcg::parallelize(g, pcg::unsharded(g));
  first.mapping.resize(first.pcg.nodes().size());
  first.stage.assign(first.pcg.nodes().size(), 0);
  pcg::Plan second = first;
  second.name = "second";
  second.zero = 1;
  for (std::size_t n = 0; n < second.mapping.size(); ++n)
    if (second.pcg.nodes()[n].name == "up") second.mapping[n].start = base::DeviceId(1);
  CHECK(reports::plan_comparison_text(first, second, 120) ==
        "first   first: whole\n"
        "second  second: whole\n"
        "\n"
        "setting      first  second\n"
        "memory.zero  0      1\n"
        "\n"
        "1 of 2 operators run alike\n"
        "  operators  kind    first       second      named\n"
        "          1  linear  whole on 0  whole on 1  up\n");
  const auto j = nlohmann::json::parse(reports::plan_comparison_json(first, second));
  CHECK(j["settings"].dump() == R"([{"first":"0","key":"memory.zero","second":"1"}])");
  CHECK(j["alike"] == 1);
  CHECK(
      j["others"].dump() ==
      R"([{"count":1,"first":{"cut":"whole","devices":[0]},"kind":"linear","named":"up","reordered":false,"second":{"cut":"whole","devices":[1]}}])");
}

TEST_CASE("planners and their options fit the screen") {
  for (const std::size_t width : {80U, 100U, 120U}) {
    std::istringstream text(reports::planners_text("", width));
    for (std::string line; std::getline(text, line);) {
      CAPTURE(line);
      CHECK(reports::width_of(line) <= width);
    }
  }
}
