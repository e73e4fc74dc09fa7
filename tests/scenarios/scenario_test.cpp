#include "scenarios/question/scenario.hpp"

#include <doctest/doctest.h>

#include "scenario_text.hpp"

namespace {

const std::string kGood =
    "foreshard: 1\nname: x\nmodel: {builtin: bert-large}\ncluster: {preset: summit, nodes: 1}\ntraining: {batch_per_gpu: 4}\nplans: "
    "[data-parallel]\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a good scenario") {
  const scenarios::Scenario s = test::load(kGood + "what_if:\n  - {name: faster, set: {cluster.links.infiniband.bandwidth: 4x}}\n");
  CHECK(s.name == "x");
  CHECK(s.plans.size() == 1);
  CHECK(s.plans[0].name == "data-parallel");
  REQUIRE(s.variants.size() == 2);
  CHECK(s.variants[0].name == "base");
  CHECK(s.variants[1].name == "faster");
  CHECK(s.base().document.find("cluster")->find("links") != nullptr);  // the preset is spelled out
  CHECK(s.variants.load(1).cluster->name() == s.base().cluster->name());
  CHECK(s.variants.load(1).cluster != s.base().cluster);
  CHECK(s.variants.load(1).model == s.base().model);  // what a what-if leaves alone is loaded once
}

TEST_CASE("every problem of every section at once, in order") {
  CHECK(test::problems("foreshard: 1\n"
                       "model: {builtin: bert-lage}\n"
                       "cluster: {preset: sumit}\n"
                       "training: {batch_per_gpu: 0, precision: fp12}\n"
                       "plans: [data-paralel, {megatron: {tensr: 2}}]\n"
                       "color: red\n") ==
        "s.yaml:2:18: model.builtin: unknown model \"bert-lage\"\n"
        "    2 | model: {builtin: bert-lage}\n"
        "      |                  ^~~ did you mean \"bert-large\"?\n"
        "s.yaml:3:19: cluster.preset: no preset is called \"sumit\"\n"
        "    3 | cluster: {preset: sumit}\n"
        "      |                   ^~~ did you mean \"summit\"?\n"
        "s.yaml:4:27: training.batch_per_gpu: batch_per_gpu must be at least 1, found 0\n"
        "    4 | training: {batch_per_gpu: 0, precision: fp12}\n"
        "      |                           ^\n"
        "s.yaml:4:41: training.precision: unknown precision \"fp12\"\n"
        "    4 | training: {batch_per_gpu: 0, precision: fp12}\n"
        "      |                                         ^~~ did you mean \"fp32\"?\n"
        "s.yaml:5:9: plans[0]: unknown plan \"data-paralel\"\n"
        "    5 | plans: [data-paralel, {megatron: {tensr: 2}}]\n"
        "      |         ^~~ did you mean \"data-parallel\"?\n"
        "s.yaml:5:35: plans[1].megatron: unknown key \"tensr\"\n"
        "    5 | plans: [data-paralel, {megatron: {tensr: 2}}]\n"
        "      |                                   ^~~ did you mean \"tensor\"?\n"
        "s.yaml:6:1: unknown key \"color\"\n"
        "    6 | color: red\n"
        "      | ^~~ one of: foreshard, name, model, cluster, training, plans, what_if, sensitivity, capacity\n");
}

TEST_CASE("what is missing is said, and what is there is checked all the same") {
  CHECK(test::problems("foreshard: 1\nmodel: {builtin: bert-large}\ntraining: {}\n") ==
        "s.yaml:1:1: missing key \"cluster\"\n"
        "    1 | foreshard: 1\n"
        "      | ^\n"
        "s.yaml:1:1: missing key \"plans\"\n"
        "    1 | foreshard: 1\n"
        "      | ^\n"
        "s.yaml:3:11: training: the batch is missing\n"
        "    3 | training: {}\n"
        "      |           ^~~ write batch_per_gpu: 4, or global_batch: 96\n");
}

TEST_CASE("another version stops everything else") {
  CHECK(test::problems("foreshard: 99\nplanz: 1\n") ==
        "s.yaml:1:12: foreshard: format 99 is not known\n"
        "    1 | foreshard: 99\n"
        "      |            ^~~ files to read have format 1; results of run --json have another\n");
}

TEST_CASE("what-ifs are tried when the scenario is loaded") {
  CHECK(test::problems(kGood + "what_if:\n  - {name: a, set: {cluster.links.infiniband.bandwidth: 400}}\n") ==
        "s.yaml:8:57: what_if[0].set[cluster.links.infiniband.bandwidth]: \"400\" has no unit\n"
        "    8 |   - {name: a, set: {cluster.links.infiniband.bandwidth: 400}}\n"
        "      |                                                         ^~~ write e.g. \"400 Gbit/s\" or \"50 GB/s\"\n");
  CHECK(test::problems(kGood + "what_if:\n  - {name: a, set: {cluster.links.infinband.bandwidth: 4x}}\n") ==
        "s.yaml:8:56: what_if[0].set[cluster.links.infinband.bandwidth]: unknown key \"cluster.links.infinband\"\n"
        "    8 |   - {name: a, set: {cluster.links.infinband.bandwidth: 4x}}\n"
        "      |                                                        ^~~ did you mean \"cluster.links.infiniband.bandwidth\"?\n");
  CHECK(test::problems(kGood + "what_if:\n  - {name: a, set: {training.precision: bf16}}\n").find("bf16") !=
        std::string::npos);  // a V100 has none
  CHECK(test::problems(kGood + "what_if:\n  - {name: a, set: {training.optimiser: sgd}}\n").find("unknown key \"optimiser\"") !=
        std::string::npos);
  CHECK(test::problems(kGood + "what_if:\n  - {name: a, set: {nodes: 2x}}\n")
            .find("\"nodes\" is no part of model, cluster, training or plans") != std::string::npos);
  CHECK(test::problems(kGood + "what_if:\n  - {name: base, set: {cluster.nodes: 2x}}\n").find("\"base\" is the scenario itself") !=
        std::string::npos);
  CHECK(test::problems(kGood + "what_if:\n  - {name: a, set: {cluster.nodes: 2x}}\n  - {name: a, set: {cluster.nodes: 3x}}\n")
            .find("another what-if is called \"a\" too") != std::string::npos);
  CHECK(test::problems(kGood +
                       "what_if:\n  - {name: a, set: {training.global_batch: 48, cluster.nodes: 2, cluster.node.gpus.memory: 8 GiB}}\n") ==
        "");
}

TEST_CASE("a GPU that nobody has described is pointed at") {
  CHECK(test::problems(with(test::kTwoGpus, "v100-sxm2-16gb", "v100-smx2-16gb") + "plans: [data-parallel]\n") ==
        "s.yaml:9:18: cluster.node.gpus.type: unknown GPU \"v100-smx2-16gb\"\n"
        "    9 |     gpus: {type: v100-smx2-16gb, count: 2}\n"
        "      |                  ^~~ did you mean \"v100-sxm2-16gb\"?\n");
}

TEST_CASE("gradients are clipped by a word, or by the largest norm") {
  const auto text = [](const std::string& value) {
    return "foreshard: 1\nname: x\nmodel: {builtin: bert-large}\ncluster: {preset: summit, nodes: 1}\ntraining: {global_batch: 6, "
           "clip_gradients: " +
           value + "}\nplans: [data-parallel]\n";
  };
  const auto clips = [&](const std::string& value) { return test::load(text(value)).base().training.clip_gradients; };
  CHECK(clips("true"));
  CHECK(clips("1.0"));
  CHECK_FALSE(clips("false"));
  CHECK_FALSE(clips("0"));
  CHECK(test::problems(text("-1")).find("training.clip_gradients") != std::string::npos);
  CHECK(test::problems(text("norm")).find("training.clip_gradients") != std::string::npos);
}

TEST_CASE("no more layers stay in bf16 than the model has") {
  const auto said = [](const char* layers) {
    return test::problems(std::string("foreshard: 1\nmodel: {builtin: bert-large}\ncluster: {preset: dgx-h100}\n"
                                      "training: {global_batch: 64, precision: fp8, bf16_layers: ") +
                          layers + "}\nplans: [data-parallel]\n");
  };
  CHECK(said("{first: 12, last: 12}") == "");
  CHECK(said("{first: 20, last: 20}").find("first 20 and last 20 are more than the 24 layers of bert-large") != std::string::npos);
}
