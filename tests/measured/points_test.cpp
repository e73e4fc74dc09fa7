#include "profiles/measured/points.hpp"
#include "base/yaml/parse.hpp"

#include <doctest/doctest.h>

#include "scenarios/question/scenario.hpp"
#include "tests/measured/made_points.hpp"

using namespace measured;

namespace {

// The first problem of a table as a user reads it, "" when there is none.
std::string problem(const std::string& text) {
  try {
    (void)read_points(text, "p.csv");
  } catch (const base::InputError& e) {
    const std::string shown = base::render(e.diagnostics().front());
    return shown.substr(0, shown.find('\n'));
  }
  return {};
}

std::string scenario_text(const std::string& row, const std::string& header = test::kHeader) {
  return base::emit_yaml(scenario_of(read_points(header + row, "p.csv").at(0)));
}

}  // namespace

TEST_CASE("a row may tell of memory alone, but of something") {
  std::string header = test::kHeader, row = test::row_with("0.01", "");
  header.insert(header.find('\n'), ",measured_peak_bytes,measured_reserved_bytes");
  const auto with = [&](const std::string& cells) {
    std::string text = row;
    text.insert(text.find('\n'), cells);
    return header + text;
  };
  const Point p = read_points(with(",1000,1100"), "p.csv").at(0);
  CHECK(!p.measured);
  CHECK(p.measured_peak == base::Bytes(1000));
  CHECK(p.measured_reserved == base::Bytes(1100));
  CHECK(problem(with(",,")) == "p.csv:2:1: measured_s: \"\" is no number above 0");
}

TEST_CASE("a row becomes the scenario that asks for it") {
  // Two of the node's eight GPUs ran.
  CHECK(scenario_text(test::kRow) ==
        "foreshard: 1\n"
        "name: a\n"
        "model: {transformer: {layers: 2, hidden: 64, heads: 2, ffn: 256, vocab: 128, sequence_length: 16, attention: flash}}\n"
        "cluster: {preset: dgx-a100-80gb, nodes: 1, node.gpus.count: 2}\n"
        "training: {global_batch: 4, precision: fp16, optimizer: adam, framework: megatron}\n"
        "plans:\n"
        "  - {megatron: {micro_batch: 1, recompute: none, tensor: 1, pipeline: 1, data: 2, sequence_parallel: false}}\n");
}

TEST_CASE("sharding alone is FSDP, beside other degrees the sharded optimizer; chunks make the schedule interleaved") {
  const std::string header = "sharding,chunks," + test::kHeader;
  CHECK(scenario_text("zero3,1," + test::kRow, header).find("fsdp: {micro_batch: 1, recompute: none, stage: zero3}") != std::string::npos);
  const std::string grid = scenario_text("zero1,2," + test::row_with(",1,1,2,1,4,", ",1,2,1,1,4,"), header);
  CHECK(grid.find("zero: 1") != std::string::npos);
  CHECK(grid.find("schedule: interleaved") != std::string::npos);
  CHECK(grid.find("chunks: 2") != std::string::npos);
}

TEST_CASE("a builtin needs no shape, and no framework is inferred") {
  const std::string header = "id,group,model,cluster,nodes,n_gpus,seq,tp,pp,dp,micro_batch,global_batch,precision,measured_s\n";
  const std::string text = scenario_text("x,g,bert-large,dgx-1v,1,8,512,1,1,8,4,32,fp16,1.5\n", header);
  CHECK(text.find("model: {builtin: bert-large}") != std::string::npos);
  CHECK(text.find("framework: generic") != std::string::npos);
  CHECK(text.find("node.gpus.count") == std::string::npos);
}

TEST_CASE("every made scenario can be loaded, and what is wrong with it points into the table") {
  (void)scenarios::load_scenario(scenario_of(read_points(test::kHeader + test::kRow, "p.csv").at(0)), {});
  const Point p = read_points(test::kHeader + test::kRow + test::row_with(",2,256,", ",3,256,"), "p.csv").at(1);  // 64 / 3 heads
  try {
    (void)scenarios::load_scenario(scenario_of(p), {});
    FAIL("64 hidden, 3 heads");
  } catch (const base::InputError& e) { CHECK(base::render(e.diagnostics()[0]).starts_with("p.csv:3:")); }
}

TEST_CASE("settings reach the transformer, the cluster, the training and the plan's options, and may change what columns say") {
  const std::string header = "settings," + test::kHeader;
  const std::string text = scenario_text(
      "\"{model.window: 8, model.layers: 3, cluster.links.infiniband.bandwidth: 2x, training.clip_gradients: true, plan.overlap: "
      "{gradients: "
      "true}, plan.moments: bf16, training.framework.host.iteration: 1 ms}\"," +
          test::kRow,
      header);
  CHECK(text.find("attention: flash, window: 8") != std::string::npos);
  CHECK(text.find("layers: 3") != std::string::npos);
  CHECK(text.find("links.infiniband.bandwidth: 2x") != std::string::npos);
  CHECK(text.find("clip_gradients: true") != std::string::npos);
  CHECK(text.find("framework: {name: megatron, host.iteration: 1 ms}") != std::string::npos);
  CHECK(text.find("moments: bf16") != std::string::npos);
  (void)scenarios::load_scenario(base::parse_yaml(text, "s"), {});
  CHECK(problem(header + "{plan: 1}," + test::kRow) == "p.csv:2:1: settings: \"plan\" is no path into model, cluster, training or plan");
  CHECK(problem(header + "{what.zero: 1}," + test::kRow) ==
        "p.csv:2:1: settings: \"what.zero\" is no path into model, cluster, training or plan");
  CHECK(problem(header + "7," + test::kRow) == "p.csv:2:1: settings: is no map");
  CHECK(problem(header + "{a: [," + test::kRow).starts_with("p.csv:2:1: settings: "));
}

// A setting that no section knows is found where the scenario is read, at the table's line.
TEST_CASE("a setting of an unknown key points into the table") {
  const Point p = read_points("settings," + test::kHeader + "{plan.zeroo: 1}," + test::kRow, "p.csv").at(0);
  try {
    (void)scenarios::load_scenario(scenario_of(p), {});
    FAIL("zeroo");
  } catch (const base::InputError& e) {
    const std::string shown = base::render(e.diagnostics()[0]);
    CHECK(shown.starts_with("p.csv:2:1: plans[0]."));
    CHECK(shown.find("zeroo") != std::string::npos);
  }
}

TEST_CASE("the recipe of fp8 is the training's") {
  const std::string header = "fp8_recipe," + test::kHeader;
  CHECK(scenario_text("current," + test::kRow, header).find("fp8_recipe: current") != std::string::npos);
  CHECK(scenario_text("," + test::kRow, header).find("fp8_recipe") == std::string::npos);
}

TEST_CASE("bad tables: place, column and cure") {
  CHECK(problem("") == "p.csv:1:1: the file is empty");
  CHECK(problem(test::kHeader) == "p.csv:1:1: there are no rows below the header");
  CHECK(problem(test::kHeader + "a,b\n") == "p.csv:2:1: 2 cells, but the header has 21 columns");
  CHECK(problem(test::kHeader + "\"a,b\n") == "p.csv:2:1: a quote in this row is never closed");
  CHECK(problem(std::string("a\0b", 3)) == "p.csv:1:1: this is no text");
  CHECK(problem(test::kHeader + test::row_with("0.01", "-1")) == "p.csv:2:1: measured_s: \"-1\" is no number above 0");
  CHECK(problem(test::kHeader + test::row_with("0.01", "inf")) == "p.csv:2:1: measured_s: \"inf\" is no number above 0");
  CHECK(problem(test::kHeader + test::row_with(",64,", ",6.4,")) == "p.csv:2:1: hidden: \"6.4\" is no integer from 1 to 1099511627776");
  CHECK(problem(test::kHeader + test::row_with("dgx-a100-80gb", "dgx-a100-90gb")) ==
        "p.csv:2:1: cluster: no preset is called \"dgx-a100-90gb\"");
  CHECK(problem(test::kHeader + test::row_with("fp16", "half")) == "p.csv:2:1: precision: unknown word \"half\"");
  CHECK(problem(test::kHeader + test::row_with("small", "")) == "p.csv:2:1: group: the cell is empty");
  CHECK(problem(test::kHeader + test::row_with("fp16", "")) == "p.csv:2:1: precision: the cell is empty");
  CHECK(problem(test::kHeader + test::row_with("flash,1,1", "flash,,1")) == "p.csv:2:1: tp: the cell is empty");
  CHECK(problem("colour," + test::kHeader + "red," + test::kRow) == "p.csv:1:1: colour: a points table has no such column");
  CHECK(problem("id,measured_s,micro_batch\na,1,1\n").find("the column is missing") != std::string::npos);
  CHECK(problem("id," + test::kHeader + "a," + test::kRow) == "p.csv:1:1: two columns are called \"id\"");
}

TEST_CASE("quotes, carriage returns and a byte-order mark, as spreadsheets write them") {
  const std::string header = "\xEF\xBB\xBF" + test::kHeader.substr(0, test::kHeader.size() - 1) + ",source\r\n";
  const std::string row = test::kRow.substr(0, test::kRow.size() - 1) + ",\"a \"\"b\"\", c\"\r\n";
  CHECK(read_points(header + row, "p.csv").at(0).source == "a \"b\", c");
}

TEST_CASE("which tables are points") {
  CHECK(is_points_header(test::kHeader));
  CHECK_FALSE(is_points_header("device,precision,kind,measured\n1,2,3,measured_s micro_batch\n"));
}
