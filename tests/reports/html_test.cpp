#include <doctest/doctest.h>
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/yaml/parse.hpp"
#include "reports/answer.hpp"
#include "reports/html/page.hpp"
#include "reports/html/page_data.hpp"
#include "scenarios/answer/run.hpp"
#include "tests/about.hpp"
#include "tests/reports/made_result.hpp"

namespace {

using nlohmann::json;

sim::Span span_of(std::uint32_t device, const std::string& stream, const std::string& name, double start_s, double duration_s) {
  sim::Span s;
  s.device = device;
  s.stream = stream;
  s.name = name;
  s.start = base::Seconds(start_s);
  s.duration = base::Seconds(duration_s);
  return s;
}

// Two devices whose layers run `kernels` kernels each, one after another without gaps, in an iteration of 0.5 s.
scenarios::Run run_with_spans(int layers, int kernels) {
  scenarios::Run run = test::made_run("p", "base", true, 0.5);
  const double each = 0.5 / (layers * kernels);
  for (std::uint32_t device = 0; device < 2; ++device)
    for (int i = 0; i < layers * kernels; ++i)
      run.simulation->spans.push_back(
          span_of(device, "compute", fmt::format("layer{}.op{} forward, micro-batch {}", i / kernels, i % kernels, 3), i * each, each));
  run.simulation->stands_for = {{0, 2}, {1, 3}};
  return run;
}

double seconds_in(const json& timeline) {
  double sum = 0;
  for (const json& device : timeline["devices"])
    for (const json& lane : device["lanes"])
      for (const json& d : lane["duration"]) sum += d.get<double>() * timeline["unit_s"].get<double>();
  return sum;
}

std::size_t spans_in(const json& timeline) {
  std::size_t spans = 0;
  for (const json& device : timeline["devices"])
    for (const json& lane : device["lanes"]) spans += lane["name"].size();
  return spans;
}

const scenarios::Scenario& bert() {
  static const scenarios::Scenario scenario = scenarios::load_scenario(
      base::parse_yaml("{foreshard: 1, name: small, model: {builtin: bert-large}, cluster: {preset: summit, nodes: 2}, "
                       "training: {batch_per_gpu: 4}, plans: [data-parallel, {megatron: {tensor: 2, pipeline: 2, micro_batch: 8}}]}",
                       "s.yaml"),
      ".");
  return scenario;
}

const scenarios::ScenarioResult& answered() {
  static const scenarios::ScenarioResult result = scenarios::run_scenario(bert(), {.trace = true});
  return result;
}

json data_of(const scenarios::ScenarioResult& result) {
  const reports::ReportedScenario reported{&result, bert().base().cluster.get()};
  return json::parse(reports::scenario_page_data({&reported, 1}));
}

// The network of a cluster section, as the page draws it.
json network_of(const std::string& section) {
  const scenarios::Scenario s = scenarios::load_scenario(
      base::parse_yaml(
          "{foreshard: 1, name: n, model: {builtin: bert-large}, training: {batch_per_gpu: 4}, plans: [data-parallel], cluster: " +
              section + "}",
          "s.yaml"),
      ".");
  const json cluster = reports::cluster_data(*s.base().cluster);
  return cluster["network"];
}

}  // namespace

TEST_CASE("HTML report: results are format 1 with explanations, details are of every base run with a plan") {
  const json data = data_of(answered());
  CHECK(data["results"] == json::array({json::parse(reports::json(answered()))}));
  const json& details = data["details"][0];
  REQUIRE(details["runs"].size() == 2);
  CHECK(details["left_out"].empty());
  CHECK(details["cluster"]["node_types"][0]["count"] == 2);
  CHECK(details["cluster"]["network"]["link"] == "infiniband");
  for (std::size_t r = 0; r < 2; ++r) {
    const sim::SimulationResult& s = *answered().runs[r].simulation;
    const json& timeline = details["runs"][r]["timeline"];
    CHECK_FALSE(timeline.contains("left_out"));
    CHECK(spans_in(timeline) == s.spans.size());
    double sum = 0;
    for (const sim::Span& span : s.spans) sum += span.duration.value();
    CHECK(seconds_in(timeline) == test::about(sum, 1e-3));
    CHECK(timeline["end"].get<double>() * timeline["unit_s"].get<double>() == test::about(s.iteration_time.value(), 1e-5));
  }
}

TEST_CASE("HTML report: a network says how its switches are joined, by its kind") {
  const json tree = network_of("{preset: dgx-h100, nodes: 32, network: {type: fat-tree, nodes_per_leaf: 8, oversubscription: 2}}");
  CHECK(tree["kind"] == "fat tree");
  CHECK(tree["nodes_per_leaf"] == 8);
  CHECK(tree["oversubscription"] == 2);
  CHECK_FALSE(tree.contains("leaves_per_pod"));
  const json pods =
      network_of("{preset: dgx-h100, nodes: 32, network: {type: fat-tree, nodes_per_leaf: 4, leaves_per_pod: 2, pod_oversubscription: 7}}");
  CHECK(pods["leaves_per_pod"] == 2);
  CHECK(pods["pod_oversubscription"] == 7);
  const json rails = network_of("{preset: dgx-h100, nodes: 2, network: {oversubscription: 3}}");
  CHECK(rails["oversubscription"] == 3);
  CHECK_FALSE(rails.contains("nodes_per_leaf"));
  CHECK(network_of("{preset: dgx-h100, nodes: 8, network: {type: torus, dimensions: [2, 4]}}")["dimensions"] == json({2, 4}));
  const json dragonfly = network_of("{preset: dgx-h100, nodes: 8, network: {type: dragonfly, nodes_per_router: 2, routers_per_group: 4}}");
  CHECK(dragonfly["nodes_per_router"] == 2);
  CHECK(dragonfly["routers_per_group"] == 4);
  CHECK(dragonfly["local_links"] == 1);
  CHECK_FALSE(network_of("{preset: summit, nodes: 2, network: {type: switch}}").contains("oversubscription"));
}

TEST_CASE("HTML report: stages of spans are those of their operators") {
  const json data = data_of(answered());
  const json& timeline = data["details"][0]["runs"][1]["timeline"];
  for (std::size_t n = 0; n < timeline["names"].size(); ++n) {
    const std::string name = timeline["names"][n];
    if (name.starts_with("layer0.")) CHECK_MESSAGE(timeline["stages"][n] == 0, name);
    if (name.starts_with("layer23.")) CHECK_MESSAGE(timeline["stages"][n] == 1, name);
  }
}

TEST_CASE("HTML report: alike layers share a part of the graph, and each names its GPUs") {
  const json graph = reports::graph_data(*answered().runs[1].made, 1'000'000);
  const json& blocks = graph["blocks"];
  REQUIRE(blocks.size() == 26);  // embedding, 24 layers, head
  CHECK(graph["parts"].size() < 8);
  CHECK(blocks[2]["part"] == blocks[3]["part"]);
  CHECK(blocks[1]["stages"] == json({0, 0}));
  CHECK(blocks[24]["stages"] == json({1, 1}));
  CHECK(blocks[1]["devices"] != blocks[24]["devices"]);
  const json small = reports::graph_data(*answered().runs[1].made, 4000);
  CHECK(small.contains("left_out"));
  CHECK(small.dump().size() < 5000);
}

TEST_CASE("HTML report: no name ends the element that holds the data, or the table") {
  scenarios::ScenarioResult result = test::made_result();
  result.scenario = "</script><b>&\"";
  result.runs[0].plan = "</script><!--<script>";
  const json data = data_of(result);
  CHECK(data["results"][0]["scenario"] == result.scenario);
  CHECK(data["results"][0]["runs"][0]["plan"] == result.runs[0].plan);
  const reports::ReportedScenario reported{&result, bert().base().cluster.get()};
  const std::string html = reports::scenario_page({&reported, 1});
  CHECK(html.find("</script><b>") == std::string::npos);
  CHECK(html.find("<title>&lt;/script&gt;&lt;b&gt;&amp;&quot; - Foreshard</title>") != std::string::npos);
  CHECK(html.find("<td>&lt;/script&gt;&lt;!--&lt;script&gt;</td>") != std::string::npos);
}

TEST_CASE("HTML report: spans of one layer, pass and micro-batch are joined where room is short, and their time stays") {
  const scenarios::Run run = run_with_spans(10, 100);
  const json all = reports::timeline_data(run, 1'000'000), few = reports::timeline_data(run, 3'000);
  CHECK(spans_in(all) == 2000);
  CHECK_FALSE(all.contains("left_out"));
  CHECK(all["devices"][0]["stands_for"] == json({{0, 0}, {2, 2}}));
  CHECK(spans_in(few) == 20);  // one for each layer and device
  CHECK(few["names"][0] == "layer0 forward");
  CHECK(few["devices"][0]["lanes"][0]["micro_batch"][0] == 3);
  CHECK(few.contains("left_out"));
  CHECK(seconds_in(few) == test::about(seconds_in(all), 1e-4));
}

TEST_CASE("HTML report: where joined spans are too many, devices are left out, and the report says so") {
  const json few = reports::timeline_data(run_with_spans(1000, 2), 50'000);
  REQUIRE(few["devices"].size() == 1);
  CHECK(few["left_out"].get<std::string>().find("first 1 of 2 simulated devices") != std::string::npos);
  const json none = reports::timeline_data(run_with_spans(1000, 2), 100);
  CHECK_FALSE(none.contains("devices"));
  CHECK(none["left_out"].get<std::string>().find("4000 spans") != std::string::npos);
}

TEST_CASE("HTML report: memory over time keeps its peak, however many samples there are") {
  scenarios::Run run = test::made_run("p", "base", true, 0.5);
  for (int i = 0; i < 20000; ++i)
    run.simulation->memory_over_time.push_back({0, base::Seconds(i * 0.5 / 20000), base::Bytes(i == 7777 ? 9e9 : 1e9 + i)});
  const json memory = reports::memory_data(run, 1'000'000);
  const json& bytes = memory["devices"][0]["bytes"];
  CHECK(bytes.size() == 500);
  CHECK(*std::max_element(bytes.begin(), bytes.end()) == 9e9);
  CHECK(reports::memory_data(run, 1'000)["left_out"].get<std::string>().find("0 of 1 simulated devices") != std::string::npos);
}

TEST_CASE("HTML report: it stays below its bound whatever was asked, and says what is left out") {
  scenarios::ScenarioResult result;
  result.scenario = "large";
  const scenarios::Run large = run_with_spans(4000, 4);
  for (int i = 0; i < 8; ++i) result.runs.push_back(large);
  for (int i = 0; i < 3000; ++i) {
    result.runs.push_back(test::made_run("p", fmt::format("point {}", i), true, 0.5));
    for (int n = 0; n < 10; ++n)
      result.runs.back().notes.push_back(
          {base::NoteKind::search, "code", fmt::format("note {} of point {}: {}", n, i, std::string(100, 'x'))});
  }
  const reports::ReportedScenario reported{&result, bert().base().cluster.get()};
  const std::string text = reports::scenario_page_data({&reported, 1});
  MESSAGE("3008 runs, ", 8 * large.simulation->spans.size(), " spans: ", text.size(), " bytes of data");
  CHECK(text.size() < reports::kMostPageBytes - 800'000);
  const json data = json::parse(text);
  CHECK(data["details"][0]["left_out"].size() >= 2);
  CHECK(data["details"][0]["runs"][7]["timeline"].contains("left_out"));
  CHECK(reports::scenario_page({&reported, 1}).size() < reports::kMostPageBytes);
}
