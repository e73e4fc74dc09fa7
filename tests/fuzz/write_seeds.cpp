// Writes seeds that are no text, or that come from our own writers, into DIRECTORY/TARGET: traces, ONNX, topologies, plans.
// The makers of files are the tests', whose requirements hold here, too.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "pcg/plan/plan_text.hpp"
#include "scenarios/answer/run.hpp"
#include "tests/imports/made_files.hpp"
#include "tests/pcg/onnx_file.hpp"
#include "tests/topology/imports_samples.hpp"

namespace {

std::filesystem::path root;

void write_seed(const std::string& target, const std::string& name, std::string_view bytes) {
  std::filesystem::create_directories(root / target);
  std::ofstream(root / target / name, std::ios::binary) << bytes;
}

std::string small_onnx() {
  test::OnnxModel m;
  m.input("x", {test::OnnxSize("n"), test::OnnxSize(std::int64_t{8})});
  const std::string w = m.weight("w", {8, 4}), b = m.weight("b", {4}), v = m.weight("v", {4, 2});
  const std::string h = m.node("up", "Gemm", {"x", w, b});
  const std::string r = m.node("relu", "Relu", {h});
  m.node("down", "MatMul", {r, v});
  m.ends();
  return m.bytes();
}

void write_plans() {
  for (const std::string plan : {"data-parallel", "{megatron: {tensor: 2, pipeline: 2, micro_batch: 1}}", "{fsdp: {stage: zero3}}"}) {
    const std::string text =
        "foreshard: 1\nmodel: {transformer: {layers: 2, hidden: 16, heads: 2, vocab: 10, sequence_length: 4}}\n"
        "cluster: {preset: pcie-v100, nodes: 1}\ntraining: {global_batch: 8}\nplans: [" +
        plan + "]\n";
    const scenarios::ScenarioResult r = scenarios::run_scenario(scenarios::load_scenario(base::parse_yaml(text, "seed"), {}), {});
    write_seed("plan", "plan" + std::to_string(plan.size()), pcg::write_plan(*r.runs.at(0).made));
    write_seed("scenario", "small" + std::to_string(plan.size()), text);
    write_seed("run", "small" + std::to_string(plan.size()), text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  doctest::Context requirements;
  requirements.setAsDefaultForAssertsOutOfTestCases();
  root = argv[1];
  write_seed("trace", "kineto.json", made::kineto());
  write_seed("trace", "kineto.json.gz", made::gzipped(made::kineto()));
  write_seed("trace", "nsys.sqlite", made::nsys());
  write_seed("trace", "nccl-tests.txt", made::nccl_tests());
  write_seed("trace", "chakra.et", made::chakra());
  write_seed("onnx", "mlp.onnx", small_onnx());
  for (const std::string* text : {&topology_test::kDgx1, &topology_test::kPcieBox, &topology_test::kPower9, &topology_test::kHgx,
                                  &topology_test::kSlurmTree, &topology_test::kSlurmYaml, &topology_test::kRocm})
    write_seed("topology", std::to_string(text->size()), *text);
  write_seed("model", "mlp.graph.yaml", pcg::models::write_graph(pcg::models::builtin("mlp-mnist", 4)));
  write_plans();
  return 0;
}
