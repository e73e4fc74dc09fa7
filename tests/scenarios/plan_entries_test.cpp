#include "scenarios/question/plan_entries.hpp"
#include "base/yaml/parse.hpp"

#include <doctest/doctest.h>

namespace {

std::vector<scenarios::PlanEntry> entries(const std::string& list, std::string* error = nullptr) {
  base::Diagnostics sink;
  auto result = scenarios::read_plan_entries(base::parse_yaml(list, "p"), "plans", {}, sink);
  try {
    sink.throw_if_any();
  } catch (const base::InputError& e) {
    if (error == nullptr) throw;
    for (const base::Diagnostic& d : e.diagnostics()) *error += d.path + ": " + d.message + "\n";
  }
  return result;
}

std::string error(const std::string& list) {
  std::string text;
  (void)entries(list, &text);
  return text;
}

const scenarios::PlannerEntry& planner(const scenarios::PlanEntry& e) { return std::get<scenarios::PlannerEntry>(e.kind); }

}  // namespace

TEST_CASE("entries are named after their kind, repeats are numbered, a name wins") {
  const auto e = entries("[data-parallel, {megatron: {tensor: 2}}, {megatron: {tensor: 4}}, {megatron: search, name: ours}, fsdp]");
  std::string names;
  for (const auto& entry : e) names += entry.name + " ";
  CHECK(names == "data-parallel megatron megatron#2 ours fsdp ");
  CHECK(planner(e[2]).planner->name() == "megatron");
  CHECK(planner(e[2]).options.whole_number("tensor") == 4);
  CHECK(planner(e[3]).planner->name() == "megatron: search");
  CHECK(planner(e[4]).options.choice("stage") == 2);  // zero1, zero2, zero3
}

TEST_CASE("every key of a grid") {
  const auto e = entries(
      "[{megatron: {tensor: 2, pipeline: 4, data: 8, context: 2, expert: 2, micro_batch: 3, chunks: 2, sequence_parallel: true, recompute: "
      "full, zero: 1}}]");
  const search::OptionValues& o = planner(e[0]).options;
  CHECK(o.whole_number("tensor") == 2);
  CHECK(o.whole_number("pipeline") == 4);
  CHECK(o.whole_number("data") == 8);
  CHECK(o.whole_number("context") == 2);
  CHECK(o.whole_number("expert") == 2);
  CHECK(o.whole_number("micro_batch") == 3);
  CHECK(o.whole_number("chunks") == 2);
  CHECK_FALSE(o.given("schedule"));
  CHECK(o.flag("sequence_parallel"));
  CHECK(o.parts("recompute").word == static_cast<std::size_t>(pcg::Recompute::full));
  CHECK(o.whole_number("zero") == 1);
}

TEST_CASE("options of the search and of sharded data parallelism") {
  const auto e =
      entries("[{megatron: {search: true, budget: 5 s, simulate_best: 3}}, {fsdp: {stage: zero2, recompute: selective, micro_batch: 2}}]");
  CHECK(planner(e[0]).options.effort("budget").least == base::Seconds(5));
  CHECK(planner(e[0]).options.whole_number("simulate_best") == 3);
  CHECK(planner(e[1]).options.choice("stage") == 1);
  CHECK(planner(e[1]).options.parts("recompute").word == static_cast<std::size_t>(pcg::Recompute::selective));
  CHECK(planner(e[1]).options.whole_number("micro_batch") == 2);
}

TEST_CASE("every key of sharding") {
  const auto e = entries(
      "[{fsdp: {shard: 8, tensor: 2, context: 4, prefetch: 0, synchronise: iteration, reshard_after_forward: false}}, {megatron: {zero: 1, "
      "shard: 4}}, {fsdp: {}}]");
  const search::OptionValues& o = planner(e[0]).options;
  CHECK(o.whole_number("shard") == 8);
  CHECK(o.whole_number("tensor") == 2);
  CHECK(o.whole_number("context") == 4);
  CHECK(o.whole_number("prefetch") == 0);
  CHECK(o.choice("synchronise") == 0);
  CHECK_FALSE(o.flag("reshard_after_forward"));
  CHECK(planner(e[1]).options.whole_number("shard") == 4);
  for (const char* key : {"shard", "prefetch", "synchronise"}) CHECK_FALSE(planner(e[2]).options.given(key));
  CHECK(planner(e[2]).options.flag("reshard_after_forward"));
  CHECK(error("[{fsdp: {stage: zero2, prefetch: 1}}]") ==
        "plans[0].fsdp.prefetch: zero2 keeps whole weights: there are none to gather ahead\n");
  CHECK(error("[{fsdp: {stage: zero2, reshard_after_forward: false}}]") ==
        "plans[0].fsdp.reshard_after_forward: zero2 keeps whole weights in any case\n");
  CHECK(error("[{fsdp: {stage: zero1, synchronise: micro_batch}}]") ==
        "plans[0].fsdp.synchronise: zero1 keeps whole gradients, and synchronises them once per iteration\n");
  CHECK(error("[{megatron: {shard: 4}}]") == "plans[0].megatron.shard: without zero nothing is shared out\n");
}

TEST_CASE("recomputation names modules, or so many blocks, in place of a word") {
  const auto e = entries("[{megatron: {recompute: {modules: [mlp, norm], blocks: 2}}}, {fsdp: {recompute: {blocks: 3}}}]");
  CHECK(planner(e[0]).options.parts("recompute") ==
        search::PartsChosen{.blocks = 2, .modules = {1, 2}});  // norm, mlp: as the words are listed
  CHECK(planner(e[1]).options.parts("recompute") == search::PartsChosen{.blocks = 3});
  CHECK(error("[{megatron: {recompute: {}}}]") == "plans[0].megatron.recompute: expected modules or blocks, or both\n");
  CHECK(error("[{megatron: {recompute: {modules: [mpl]}}}]") == "plans[0].megatron.recompute.modules: \"mpl\" is not known\n");
  CHECK(error("[{megatron: {recompute: {blocks: 0}}}]") == "plans[0].megatron.recompute.blocks: blocks must be at least 1, found 0\n");
}

TEST_CASE("what is wrong with an entry") {
  CHECK(error("[megatron]") == "plans[0]: megatron needs its degrees\n");
  CHECK(error("[{name: ours}]") == "plans[0]: the entry names no plan\n");
  CHECK(error("[{megatron: {tensor: 2}, fsdp: {}}]") == "plans[0]: one entry asks for megatron and for fsdp\n");
  CHECK(error("[{megatron: {tensor: 0}}]") == "plans[0].megatron.tensor: tensor must be at least 1, found 0\n");
  CHECK(error("[{megatron: {schedule: 1f1b, chunks: 2}}]") == "plans[0].megatron.chunks: 1f1b has one chunk per device\n");
  CHECK(error("[{megatron: {pipeline: 4, layers_per_stage: [1, 1]}}]") ==
        "plans[0].megatron.layers_per_stage: 2 stages are listed, there are 4\n");
  CHECK(error("[{megatron: {pipeline: 2, chunks: 2, layers_per_stage: [1, 1]}}]") ==
        "plans[0].megatron.layers_per_stage: 2 virtual stages are listed, pipeline 2 x chunks 2 are 4\n");
  CHECK(error("[{megatron: {layers_per_stage: [1, 1]}}]") ==
        "plans[0].megatron.layers_per_stage: without a pipeline there are no stages to list\n");
  CHECK(error("[{megatron: {pipeline: 2, layers_per_stage: [-1, 3]}}]") ==
        "plans[0].megatron.layers_per_stage[0]: layers_per_stage[0] must be at least 0, found -1\n");
  CHECK(error("[{megatron: {overlap: {experts: true}}}]") ==
        "plans[0].megatron.overlap: experts overlaps the exchanges of tokens among ranks that share the experts out, and there are none\n");
  CHECK(error("[{megatron: {expert: 2, schedule: gpipe, overlap: {experts: true}}}]") ==
        "plans[0].megatron.overlap: experts merges forward passes with backward passes, and gpipe runs all forward passes first\n");
  CHECK(error("[{megatron: {expert: 2, pipeline: 2, schedule: zb-h1, overlap: {experts: true}}}]") ==
        "plans[0].megatron.overlap: experts merges forward passes with whole backward passes, and zb-h1 has none\n");
  CHECK(error("[{megatron: {pipeline: 3, schedule: dualpipe}}]") ==
        "plans[0].megatron.pipeline: dualpipe pairs stages, and 3 are not even\n");
  CHECK(error("[{megatron: {pipeline: 2, micro_batch_group: 4}}]") ==
        "plans[0].megatron.micro_batch_group: only the flexible schedule has groups of any size\n");
  CHECK(error("[{megatron: {tensor: 2, overlap: {tensor: true}}}]") ==
        "plans[0].megatron.overlap: tensor overlaps the gathers and reduce-scatters of sequence parallelism, and there are none\n");
  CHECK(error("[{megatron: {zero: 2, overlap: {gradients: false}}}]") ==
        "plans[0].megatron.overlap: zero 2 keeps shards of the gradients, and reduces them as they come\n");
  CHECK(error("[{megatron: {tensor: 2, overlap: {parameters: true}}}]") ==
        "plans[0].megatron.overlap: without zero every replica updates all weights: there are none to gather\n");
  CHECK(error("[{fsdp: {overlap: {parameters: true}}}]") ==
        "plans[0].fsdp.overlap: zero 3 gathers weights for every pass, not after the step\n");
  CHECK(error("[{data-parallel: {overlap: {parameters: true}}}]") == "plans[0].data-parallel.overlap: unknown key \"parameters\"\n");
  CHECK(error("[{megatron: {pipeline: 2, warm_up: lean}}]") ==
        "plans[0].megatron.warm_up: only schedules that interleave chunks have a warm-up to shorten\n");
  CHECK(error("[{megatron: {pipeline: 2, schedule: zb-h1, offload: {activations: true}}}]") ==
        "plans[0].megatron.offload: a schedule that leaves gradients of weights for later needs the activations until then\n");
  CHECK(error("[{megatron: fast}]") == "plans[0].megatron: found \"fast\", expected a map of degrees or the word search\n");
  CHECK(error("[{fsdp: {}, name: \"\"}]") == "plans[0].name: expected a name of one line\n");
  CHECK(error("[{fsdp: full_shard}]") == "plans[0].fsdp: expected a map of options, found \"full_shard\"\n");
  CHECK(error("[{megatron: {search: false}}]") == "plans[0].megatron.search: the degrees are missing\n");
  CHECK(error("[{fsdp: {stage: zero4}}]") == "plans[0].fsdp.stage: unknown stage \"zero4\"\n");
  CHECK(error("data-parallel") == "plans: expected a list of plans\n");
  CHECK(error("[{file: /nowhere.plan.yaml}]") == "plans[0].file: no file is called \"/nowhere.plan.yaml\"\n");
  CHECK(error("[{megatron: {tensor: 2}, nam: ours}]") == "plans[0]: unknown key \"nam\"\n");
  CHECK(error("[{nam: ours, megatron: {tensor: 2}}]") == "plans[0]: unknown key \"nam\"\n");
  CHECK(error("[{megatron: , tensor: 2}]") == "plans[0]: \"tensor\" is beside megatron, not among its options\n");
  CHECK(error("[ddp, tensor: 2]") == "plans[0]: unknown plan \"ddp\"\nplans[1]: unknown plan \"tensor\"\n");
}
