// Why a plan is what it is, as text and as JSON.
#include "reports/explanation.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/yaml/parse.hpp"
#include "made_result.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/models/load.hpp"
#include "reports/answer.hpp"
#include "reports/show/show.hpp"

namespace {

// Both layers by rows over two GPUs, the loss on one of them; and a rewrite that says so of itself.
pcg::Plan half_cut() {
  pcg::Plan p;
  p.name = "halves";
  p.model = base::parse_yaml("{builtin: mlp-mnist}", "m");
  p.gpus = 2;
  p.training.global_batch = 8;
  const pcg::Graph g = pcg::models::load_model(p.model, "model", {}, 8);
  std::vector<pcg::Sharding> s = pcg::unsharded(g);
  for (std::size_t n = 0; n < g.nodes().size(); ++n)
    if (std::holds_alternative<pcg::Linear>(g.nodes()[n].op)) s[n].degrees[0] = 2;
  p.pcg = pcg::parallelize(g, s);
  p.mapping.resize(p.pcg.nodes().size());
  p.stage.assign(p.pcg.nodes().size(), 0);
  for (std::size_t n = 0; n < p.mapping.size(); ++n)
    if (p.pcg.nodes()[n].computes() && p.pcg.nodes()[n].sharding.points() > 1) p.mapping[n].strides = {1};
  p.rewrites = {{"a12", "loss", base::Seconds(0.004), base::Seconds(0.003)}};
  return p;
}

scenarios::ScenarioResult searched() {
  scenarios::ScenarioResult r = test::made_result();
  r.runs.resize(1);
  r.runs[0].made = std::make_shared<const pcg::Plan>(half_cut());
  r.runs[0].planning = scenarios::Planning{.searched = true,
                                           .lost = {{"data 8", search::Slower{base::Seconds(0.75), base::Seconds(0.5)}},
                                                    {"tensor 8", search::NeedsMemory{base::Bytes(3e9), base::Bytes(2e9)}}}};
  return r;
}

const char* const kExplanation =
    "substitutions, in order, with what the part of the graph that they rewrite takes by the search's estimate\n"
    "substitution  up to  before  after    gain\n"
    "  a12         loss     4 ms   3 ms  25.0 %\n"
    "\n"
    "against data parallelism over 2 GPUs\n"
    "  2 of 3 operators run as there\n"
    "  operators  kind           cut    GPUs    the first\n"
    "          1  cross_entropy  whole  0       loss\n";

}  // namespace

TEST_CASE("a plan explains itself") {
  CHECK(reports::plan_explanation_text(half_cut(), {}, 120) == kExplanation);
  CHECK(reports::plan_text(half_cut(), {}, 120).find(kExplanation) != std::string::npos);
}

TEST_CASE("a plan whose model is gone is compared without it") {
  pcg::Plan p = half_cut();
  p.model = base::parse_yaml("{onnx: /nowhere/model.onnx}", "m");
  const std::string text = reports::plan_explanation_text(p, {}, 120);
  CHECK(text.find("  the model cannot be read, so that new operators are not marked: ") != std::string::npos);
  CHECK(text.find("  2 of 3 operators run as there\n") != std::string::npos);
}

TEST_CASE("a run explained: its plan, and all that lost, which the notes then leave out") {
  const std::string text = reports::text_table(searched(), {}, reports::Explained::yes);
  CHECK(text.ends_with("notes\n  caution  not calibrated\n\ndata-parallel: data 8\n" + std::string(kExplanation) +
                       "runners-up\n  data 8: 750 ms against 500 ms\n  tensor 8: needs 2.8 GiB of 1.9 GiB\n"));
  CHECK(reports::text_table(searched(), {}).find("data 8 lost: 750 ms against 500 ms") != std::string::npos);
}

TEST_CASE("JSON has rewrites and runners-up, and differences where they are asked for") {
  const auto run = [](reports::Explained e) { return nlohmann::json::parse(reports::json(searched(), e))["runs"][0]; };
  const nlohmann::json brief = run(reports::Explained::no), whole = run(reports::Explained::yes);
  CHECK(brief["rewrites"].dump() == R"([{"after_s":0.003,"before_s":0.004,"rule":"a12","up_to":"loss"}])");
  CHECK(brief["runners_up"].dump() ==
        R"([{"iteration_time_s":0.75,"plan":"data 8"},{"available_bytes":2000000000,"needed_bytes":3000000000,"plan":"tensor 8"}])");
  CHECK(brief["notes"].dump() == R"([{"code":"code","kind":"caution","text":"not calibrated"}])");
  CHECK(!brief.contains("against_data_parallel"));
  CHECK(whole["rewrites"] == brief["rewrites"]);
  CHECK(
      whole["against_data_parallel"].dump() ==
      R"({"alike":2,"gone":{},"operators":3,"others":[{"count":1,"cut":"whole","devices":[0],"first":"loss","kind":"cross_entropy","reordered":false,"rewritten":false}]})");
  CHECK(nlohmann::json::parse(reports::plan_json(half_cut(), {}))["against_data_parallel"] == whole["against_data_parallel"]);
}
