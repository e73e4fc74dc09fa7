// What an answer repeats of its question, and what it takes where nothing is written.
#include "scenarios/question/subject.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/yaml/parse.hpp"
#include "scenario_text.hpp"
#include "scenarios/answer/run.hpp"
#include "tests/about.hpp"

namespace {

scenarios::Scenario load(const std::string& cluster, const std::string& training, const std::string& more = "plans: [data-parallel]") {
  return test::load("foreshard: 1\nmodel: {builtin: bert-large}\ncluster: " + cluster + "\ntraining: {global_batch: 64" + training + "}\n" +
                    more + "\n");
}

bool has_note(const scenarios::Run& r, const std::string& code, const std::string& words) {
  return std::ranges::any_of(r.notes, [&](const base::Note& n) { return n.code == code && n.text.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("an unsaid precision is bf16 where every GPU has it, else fp16, else fp32") {
  CHECK(load("{preset: dgx-a100-80gb, nodes: 1}", "").base().training.precision == pcg::Precision::bf16);
  CHECK(load("{preset: summit, nodes: 1}", "").base().training.precision == pcg::Precision::fp16);
  CHECK(load("{preset: titan-xp-4, nodes: 1}", "").base().training.precision == pcg::Precision::fp32);
  CHECK(load("{preset: dgx-a100-80gb, nodes: 1}", ", precision: tf32").base().training.precision == pcg::Precision::tf32);
}

TEST_CASE("what was not written is said in one note, with what is taken; nothing where all was written") {
  const auto unsaid = scenarios::unsaid_note(load("{preset: dgx-a100-80gb, nodes: 1}", "").base());
  REQUIRE(unsaid.size() == 1);
  for (const char* words : {"precision bf16", "sequences of 512 tokens", "optimizer adam", "framework generic"})
    CHECK(unsaid[0].text.find(words) != std::string::npos);
  const scenarios::Scenario said = test::load(
      "foreshard: 1\nmodel: {builtin: bert-large, sequence_length: 512}\ncluster: {preset: dgx-a100-80gb, nodes: 1}\n"
      "training: {global_batch: 64, precision: bf16, optimizer: adam, framework: pytorch}\nplans: [data-parallel]\n");
  CHECK(scenarios::unsaid_note(said.base()).empty());
}

TEST_CASE("a faster precision of all GPUs is noted") {
  CHECK(scenarios::faster_precision_note(load("{preset: dgx-a100-80gb, nodes: 1}", ", precision: bf16").base()).empty());
  const auto of_tf32 = scenarios::faster_precision_note(load("{preset: dgx-a100-80gb, nodes: 1}", ", precision: tf32").base());
  REQUIRE(of_tf32.size() == 1);
  CHECK(of_tf32[0].text.find("bf16 (2x)") != std::string::npos);  // 312 over 156 TFLOP/s
}

TEST_CASE("the normalised question is complete, and its answers are equal to the last digit") {
  const scenarios::Scenario s = load("{preset: dgx-a100-80gb, nodes: 1}", "", "plans: [data-parallel, {megatron: {tensor: 2}}]");
  const scenarios::Scenario again = test::load(base::emit_yaml(s.question));
  CHECK(base::emit_yaml(again.question) == base::emit_yaml(s.question));
  CHECK(scenarios::unsaid_note(again.base()).empty());
  const auto first = scenarios::run_scenario(s, {}), second = scenarios::run_scenario(again, {});
  for (std::size_t i = 0; i < first.runs.size(); ++i)
    CHECK(first.runs[i].simulation->iteration_time == second.runs[i].simulation->iteration_time);
  CHECK(s.subject.model == "bert-large");
  CHECK(s.subject.sequence_length == 512);
  CHECK(s.subject.gpus == 8);
}

TEST_CASE("a sweep over options of a plan asks about that plan alone, each point with the option") {
  const scenarios::Scenario s =
      load("{preset: dgx-a100-80gb, nodes: 1}", "",
           "plans: [data-parallel, {megatron: {micro_batch: 1}, name: a.b}]\n"
           "what_if: [{name: t, sweep: {plans.a.b.tensor: [1, 2, 4]}}, {name: f, set: {plans.a.b.framework: pytorch}}]");
  const auto r = scenarios::run_scenario(s, {});
  REQUIRE(r.runs.size() == 2 + 4);
  for (const auto& [i, plan] : {std::pair(2, "data 8, 8 micro-batches of 1"), std::pair(3, "data 4 x tensor 2, 16 micro-batches of 1"),
                                std::pair(4, "data 2 x tensor 4, 32 micro-batches of 1, vocabulary padded from 30522 to 30720")}) {
    CHECK(r.runs[static_cast<std::size_t>(i)].plan == "a.b");
    CHECK(r.runs[static_cast<std::size_t>(i)].plan_summary == plan);
  }
  CHECK(r.runs[5].framework == "pytorch");
  // The same plan by hand takes the same time.
  const auto by_hand =
      scenarios::run_scenario(load("{preset: dgx-a100-80gb, nodes: 1}", "", "plans: [{megatron: {micro_batch: 1, tensor: 2}}]"), {});
  CHECK(r.runs[3].simulation->iteration_time == by_hand.runs[0].simulation->iteration_time);
}

TEST_CASE("what is wrong with a change of a plan is said where it is written") {
  const auto problems = [](const std::string& set) {
    try {
      (void)load("{preset: dgx-a100-80gb, nodes: 1}", "",
                 "plans: [{megatron: {tensor: 2}, name: a}]\nwhat_if: [{name: w, set: {" + set + "}}]");
    } catch (const base::InputError& e) { return e.diagnostics().at(0).message + "; " + e.diagnostics().at(0).hint; }
    return std::string();
  };
  CHECK(problems("plans.b.tensor: 4") == "no option of a plan is called \"plans.b.tensor\"; one of: a");
  CHECK(problems("plans.a.tensr: 4").find("did you mean \"tensor\"?") != std::string::npos);
  CHECK(problems("plans.a.tensor: 0").find("at least 1") != std::string::npos);
  CHECK(problems("plans.a.tensor: 2x").empty());
}

TEST_CASE("a run says what was not written, and a note has a code") {
  const auto r = scenarios::run_scenario(load("{preset: dgx-a100-80gb, nodes: 1}", ""), {});
  CHECK(has_note(r.runs[0], "unsaid", "precision bf16"));
  CHECK(std::ranges::none_of(scenarios::run_notes(r.runs[0]), [](const base::Note& n) { return n.code.empty(); }));
}
