// `training.framework` as a map: what it changes, what is told of it, what is refused.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/yaml/parse.hpp"
#include "pcg/plan/plan_text.hpp"
#include "scenario_text.hpp"
#include "scenarios/answer/check.hpp"
#include "scenarios/answer/run.hpp"
#include "tests/about.hpp"

namespace {

using scenarios::Run;

// kTwoGpus with a framework.
std::string with_framework(const std::string& framework, const std::string& rest = "plans: [{fsdp: {stage: zero3}}]\n") {
  std::string text = test::kTwoGpus;
  const std::string end = "optimizer: sgd}";
  return text.replace(text.find(end), end.size(), "optimizer: sgd, framework: " + framework + "}") + rest;
}

std::vector<Run> runs_of(const std::string& text, const std::filesystem::path& directory = {}) {
  return scenarios::run_scenario(scenarios::load_scenario(base::parse_yaml(text, "s.yaml"), directory), {}).runs;
}
Run run_with(const std::string& framework) { return runs_of(with_framework(framework)).at(0); }
double time_of(const Run& r) { return r.simulation->iteration_time.value(); }

std::string notes_of(const Run& r) {
  std::string all;
  for (const base::Note& n : r.notes) all += n.text + "\n";
  return all;
}
bool says(const Run& r, const std::string& what) { return notes_of(r).find(what) != std::string::npos; }

}  // namespace

TEST_CASE("a map that changes nothing is the framework as it ships") {
  const Run word = run_with("deepspeed"), map = run_with("{name: deepspeed}"), same = run_with("{name: deepspeed, prefetch_units: 1}");
  CHECK(map.notes == word.notes);
  CHECK(same.notes == word.notes);
  CHECK(time_of(map) == time_of(word));
  CHECK(map.interval_high == word.interval_high);
}

// Both passes of each block that ZeRO-3 gathers wait for their host; DDP gathers none.
TEST_CASE("a host takes its time for each unit of ZeRO-3 and pass") {
  const auto seconds = [](const std::string& framework, const std::string& plans) {
    return time_of(runs_of(with_framework(framework, plans)).at(0));
  };
  const std::string fsdp = "plans: [{fsdp: {stage: zero3}}]\n", ddp = "plans: [data-parallel]\n";
  const double units = seconds("{name: pytorch, host.unit: 2 s}", fsdp) - seconds("{name: pytorch, host.unit: 1 s}", fsdp);
  CHECK(units == test::about(std::round(units), 1e-3));
  CHECK(std::round(units) >= 2);
  CHECK(static_cast<int>(std::round(units)) % 2 == 0);
  CHECK(seconds("{name: pytorch, host.unit: 2 s}", ddp) == seconds("{name: pytorch, host.unit: 1 s}", ddp));
}

TEST_CASE("changed keys count for this scenario, and the notes name them") {
  const Run ships = run_with("deepspeed");
  const Run slow = run_with("{name: deepspeed, host: {iteration: 1 s}, prefetch_units: 0}");
  CHECK(time_of(slow) > time_of(ships) + 0.9);
  CHECK(says(slow, "the framework is deepspeed, with the scenario's own prefetch_units, host.iteration\n"));
  CHECK(says(slow, "host times of deepspeed: partly an assumption"));
  CHECK(says(slow, "the GPUs wait for their host"));
  CHECK(says(ships, "host times of deepspeed: fitted to measured iterations"));
  CHECK(!says(ships, "the scenario's own"));
  // Dotted paths and scaling, as beside a preset.
  CHECK(time_of(run_with("{name: pytorch, host.iteration: 10x}")) ==
        test::about(time_of(run_with("{name: pytorch, host.iteration: 40 ms}"))));
}

TEST_CASE("every kind of plan is timed under generic where the scenario names no framework") {
  const std::string plans = "plans: [data-parallel, fsdp, megatron: {tensor: 2}, megatron: {search: true, simulate_best: 1}]\n";
  const auto nothing = runs_of(test::kTwoGpus + plans), generic = runs_of(with_framework("generic", plans));
  REQUIRE(nothing.size() == 4);
  for (std::size_t i = 0; i < nothing.size(); ++i) {
    CHECK(nothing[i].framework == "generic");
    CHECK(nothing[i].made->training.framework == pcg::Framework::generic);
    CHECK(time_of(nothing[i]) == time_of(generic[i]));
    CHECK(says(nothing[i], "framework generic, the practice"));
    CHECK(says(generic[i], "the framework is generic\n"));
  }
}

// Data parallelism is Megatron's grid with tensor 1 and all samples of a replica in one micro-batch, and ZeRO 1 is the same in both: equal
// plans under two names take one time and one memory, under every framework.
TEST_CASE("a plan under two names takes one time") {
  const std::string plans =
      "plans: [data-parallel, {megatron: {tensor: 1, micro_batch: 32}}, {fsdp: {stage: zero1}, name: f1}, {megatron: {zero: 1}, name: "
      "m1}]\n";
  for (const std::string& name : pcg::names<pcg::Framework>()) {
    const auto runs = runs_of(with_framework(name, plans));
    CHECK(time_of(runs[0]) == time_of(runs[1]));
    CHECK(time_of(runs[2]) == time_of(runs[3]));
    CHECK(runs[0].simulation->memory.gradients == runs[1].simulation->memory.gradients);
    CHECK(runs[2].simulation->memory.optimizer == runs[3].simulation->memory.optimizer);
  }
}

TEST_CASE("the search is no worse than plain data parallelism, however few candidates it simulates") {
  for (const std::string& name : pcg::names<pcg::Framework>()) {
    const auto runs = runs_of(with_framework(name, "plans: [data-parallel, megatron: {search: true, simulate_best: 1}]\n"));
    CHECK(time_of(runs[1]) <= time_of(runs[0]));
  }
}

TEST_CASE("an entry's own framework counts for it alone, and the notes say so") {
  const auto runs = runs_of(with_framework(
      "pytorch",
      "plans: [fsdp, {fsdp: {}, framework: deepspeed, name: other}, {fsdp: {}, framework: {name: pytorch, host.iteration: 1 s}, "
      "name: slow}]\nwhat_if: [{name: slower, set: {training.framework.host.micro_batch: 1000x}}]\n"));
  REQUIRE(runs.size() == 9);  // of the what-if each plan twice
  CHECK(time_of(runs[1]) == time_of(runs_of(with_framework("deepspeed", "plans: [fsdp]\n")).at(0)));
  CHECK(runs[0].framework == "pytorch");
  CHECK(!runs[0].has_own_framework);
  CHECK(runs[1].framework == "deepspeed");
  CHECK(runs[1].has_own_framework);
  CHECK(says(runs[0], "the framework is pytorch\n"));
  CHECK(says(runs[1], "the framework is deepspeed, which the entry names for itself\n"));
  CHECK(time_of(runs[2]) > time_of(runs[0]) + 0.9);
  CHECK(says(runs[2], "the framework is pytorch, which the entry names for itself, with its own host.iteration\n"));
  // The what-if changes the scenario's framework, not the entry's.
  CHECK(time_of(runs[3]) > time_of(runs[0]) + 0.5);
  CHECK(time_of(runs[5]) == time_of(runs[1]));
  CHECK(test::problems(test::kTwoGpus + "plans: [{fsdp: {}, framework: megatrn}]\n")
            .find("plans[0].framework: unknown framework \"megatrn\"") != std::string::npos);
}

TEST_CASE("gradients of an entry are kept as its framework keeps them, unless the training section says") {
  const auto gradients = [](const std::string& training) {
    std::string text = test::kTwoGpus;
    text.replace(text.find("v100-sxm2-16gb"), 14, "h100-sxm-80gb");
    const std::string end = "optimizer: sgd}";
    text.replace(text.find(end), end.size(), training + end);
    const auto runs = runs_of(text + "plans: [data-parallel, {data-parallel: {}, framework: megatron}]\n");
    return runs[1].simulation->memory.gradients / runs[0].simulation->memory.gradients;
  };
  for (const std::string precision : {"precision: bf16, ", "precision: fp8, "}) {
    CHECK(gradients(precision) == test::about(2));  // 4 bytes of Megatron's, 2 of generic
    CHECK(gradients(precision + "fp32_gradients: false, ") == test::about(1));
    CHECK(gradients(precision + "fp32_gradients: true, ") == test::about(1));
  }
  CHECK(gradients("precision: fp16, ") == test::about(1));
}

TEST_CASE("a planner searches with the changed profile") {
  const auto r =
      runs_of(with_framework("{name: megatron, host: {iteration: 1 s}}", "plans: [{megatron: {search: true, simulate_best: 2}}]\n")).at(0);
  CHECK(time_of(r) > 1);
  REQUIRE(r.planning);
  REQUIRE(r.planning->objective);
  CHECK(r.planning->objective->value() == test::about(time_of(r)));
}

TEST_CASE("what-ifs reach every key of the profile, whether the scenario spells it out or not") {
  const auto runs =
      runs_of(with_framework("deepspeed",
                             "plans: [{fsdp: {stage: zero3}}]\n"
                             "what_if: [{name: slower, set: {training.framework.host.micro_batch: 1000x}}, {name: other, set: "
                             "{training.framework: {name: pytorch, host: {iteration: 1 s}}}}]\n"));
  REQUIRE(runs.size() == 4);
  CHECK(!runs[1].replanned);  // the profile is no part of the plan
  CHECK(time_of(runs[1]) > time_of(runs[0]) + 0.5);
  CHECK(says(runs[1], "the framework is deepspeed, with the scenario's own host.micro_batch"));
  CHECK(says(runs[3], "the framework is pytorch, with the scenario's own host.iteration"));
  CHECK(test::problems(
            with_framework("deepspeed", "plans: [fsdp]\nwhat_if: [{name: a, set: {training.framework.host.iteratoin: 1 ms}}]\n")) ==
        "s.yaml:15:62: training.framework.host: unknown key \"iteratoin\"\n"
        "   15 | what_if: [{name: a, set: {training.framework.host.iteratoin: 1 ms}}]\n"
        "      |                                                              ^~~ did you mean \"iteration\"?\n");
  CHECK(test::problems(test::kTwoGpus + "plans: [fsdp]\nwhat_if: [{name: a, set: {training.framework.host.iteration: 1 ms}}]\n")
            .find("the scenario names no framework whose key could change") != std::string::npos);
}

TEST_CASE("a profile from a file, named from the scenario's folder, and keys changed beside it") {
  const auto directory = std::filesystem::temp_directory_path() / "foreshard-framework-test";
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "mine.yaml")
      << "foreshard: 1\nframework: {name: pytorch, gradient_bucket: 1 MiB, host: {basis: fitted, iteration: 1 s}}\n";
  CHECK(scenarios::check_file(directory / "mine.yaml", 1).summary == "framework profile pytorch");
  const auto of = [&](const std::string& framework) { return runs_of(with_framework(framework), directory).at(0); };
  const Run mine = of("{file: mine.yaml}");
  CHECK(mine.made->training.framework == pcg::Framework::pytorch);
  CHECK(time_of(mine) > 1);
  CHECK(says(mine, "the framework is pytorch, as mine.yaml describes it\n"));
  CHECK(says(mine, "host times of pytorch: fitted"));
  CHECK(says(of("{file: mine.yaml, host.iteration: 2x}"),
             "the framework is pytorch, as mine.yaml describes it, with the scenario's own host.iteration\n"));
  std::filesystem::remove_all(directory);
}

TEST_CASE("a saved plan is timed under the scenario's framework, and says where it was saved under another") {
  const auto file = std::filesystem::temp_directory_path() / "foreshard-framework-test.plan.yaml";
  std::ofstream(file) << pcg::write_plan(*run_with("pytorch").made);
  const Run r = runs_of(with_framework("{name: deepspeed, host: {iteration: 1 s}}", "plans: [{file: " + file.string() + "}]\n")).at(0);
  CHECK(time_of(r) > 1);
  CHECK(says(r, "the plan was saved under the framework pytorch; it is timed under deepspeed\n"));
  std::filesystem::remove(file);
}

TEST_CASE("problems of a framework stand where they were written") {
  CHECK(test::problems(with_framework("megatrn")) ==
        "s.yaml:13:58: training.framework: unknown framework \"megatrn\"\n"
        "   13 | training: {batch_per_gpu: 32, optimizer: sgd, framework: megatrn}\n"
        "      |                                                          ^~~ did you mean \"megatron\"?\n");
  CHECK(test::problems(with_framework("mine.yaml")).find("write {file: mine.yaml}") != std::string::npos);
  CHECK(test::problems(with_framework("{prefetch_units: 2}")).find("neither name nor file") != std::string::npos);
  CHECK(test::problems(with_framework("{name: pytorch, file: mine.yaml}")).find("both given") != std::string::npos);
  CHECK(test::problems(with_framework("{file: missing.yaml}")).find("framework.file: no file is called \"missing.yaml\"") !=
        std::string::npos);
  const std::string all = test::problems(with_framework("{name: pytorch, host: {iteration: 3, micro_bacth: 1 ms}, prefetch_unit: 2}"));
  CHECK(all.find("\"3\" has no unit") != std::string::npos);
  CHECK(all.find("did you mean \"micro_batch\"?") != std::string::npos);
  CHECK(all.find("did you mean \"prefetch_units\"?") != std::string::npos);
  CHECK(all.find("<framework") == std::string::npos);  // never the file that ships
}

TEST_CASE("any host time, given in any way, is the same forecast; a slower host is never faster") {
  CHECK(rc::check([] {
    const int us = *rc::gen::inRange(1, 2000);
    const std::string key = *rc::gen::element<std::string>("forward_kernel", "backward_kernel", "collective", "micro_batch", "iteration");
    const std::string name = *rc::gen::elementOf(pcg::names<pcg::Framework>());
    const auto time = [&](int t, bool dotted) {
      const std::string value = std::to_string(t) + " us";
      return time_of(
          run_with("{name: " + name + ", " + (dotted ? "host." + key + ": " + value : "host: {" + key + ": " + value + "}") + "}"));
    };
    RC_ASSERT(time(us, true) == time(us, false));
    RC_ASSERT(time(us + 100, true) >= time(us, true) * (1 - 1e-9));
  }));
}
