// Plans as values and as text.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "base/yaml/parse.hpp"
#include "operator_zoo.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/evaluator/evaluator.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/low_precision.hpp"
#include "pcg/plan/plan.hpp"
#include "pcg/plan/plan_text.hpp"

namespace pcg {
namespace {

Graph two_blocks() {
  GraphBuilder b("two_blocks");
  b.begin_weightless_block("front");
  const GraphTensorRef x = b.input("x", real({4, 6}));
  const GraphTensorRef up = b.add("up", Linear{.out = 12, .activation = Activation::gelu}, {x});
  b.begin_block("back");
  b.add("down", Linear{.out = 6, .has_bias = true}, {up});
  return std::move(b).build();
}

// Fills in views and stages that are lawful.
Plan plan_of(Pcg pcg, int gpus) {
  Plan p;
  p.name = "a plan";
  p.summary = "tensor 3";
  p.model = base::parse_yaml("{builtin: two_blocks-mnist, layers: \"2\"}", "m");
  p.gpus = gpus;
  p.pcg = std::move(pcg);
  p.mapping.resize(p.pcg.nodes().size());
  p.stage.assign(p.pcg.nodes().size(), 0);
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n)
    if (const PcgNode& node = p.pcg.nodes()[n]; node.computes()) p.mapping[n].strides.assign(axes(node.sharding).size(), 0);
  for (const PcgNode& n : p.pcg.nodes())
    if (n.is_input()) p.training.global_batch = n.outputs[0].dims[0].size;
  return p;
}

Plan tensor_parallel() {
  const Graph g = two_blocks();
  std::vector<Sharding> s = unsharded(g);
  s[2].degrees = {1, 1, 3};  // up: n
  s[5].degrees = {1, 3, 1};  // down: k
  Plan p = plan_of(parallelize(g, s), 3);
  for (MachineView& v : p.mapping)
    if (!v.strides.empty()) v.strides = {1};
  return p;
}

std::string error_of(const std::string& text) {
  try {
    (void)read_plan(base::parse_yaml(text, "p.yaml"));
  } catch (const base::InputError& e) {
    std::string all;
    for (const base::Diagnostic& d : e.diagnostics())
      all += std::to_string(d.mark.line) + ":" + std::to_string(d.mark.column) + ": " + d.path + ": " + d.message +
             (d.hint.empty() ? "" : " (" + d.hint + ")") + "\n";
    return all;
  }
  return "none";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from, " is not in\n", text);
  return text.replace(at, from.size(), to);
}

const char* const kText = R"(foreshard: 1
plan:
  name: a plan
  summary: tensor 3
  model: {builtin: two_blocks-mnist, layers: "2"}
  training: {global_batch: 4, precision: fp32, optimizer: sgd, framework: generic}
  gpus: 3
  schedule: {kind: 1f1b, stages: 1, chunks: 1, micro_batches: 1}
  memory: {recompute: none, zero: 0}
  graph: two_blocks
  blocks: [{name: front, weighty: false}, {name: back}]
  operators:
    - {name: x, op: input, shape: [4, 6]}
    - {name: up.weight, op: weight, shape: [6, 12], shard: {d1: 3}}
    - {name: x.replicate, op: replicate, degree: 3, in: [x]}
    - name: up
      op: linear
      out: 12
      activation: gelu
      in: [x.replicate, up.weight]
      shard: {n: 3}
      view: {start: 0, strides: [1]}
    - {name: down.weight, op: weight, shape: [12, 6], shard: {d0: 3}, block: 1}
    - {name: down.bias, op: weight, shape: [6], block: 1}
    - {name: down.bias.replicate, op: replicate, degree: 3, in: [down.bias], block: 1}
    - name: down
      op: linear
      out: 6
      bias: true
      in: [up, down.weight, down.bias.replicate]
      shard: {k: 3}
      view: {start: 0, strides: [1]}
      block: 1
)";

TEST_CASE("the text of a plan") {
  CHECK(write_plan(tensor_parallel()) == kText);
  CHECK(read_plan(base::parse_yaml(kText, "p.yaml")) == tensor_parallel());
}

// Every input holds as many samples as the first.
bool samples_first(const Graph& g) {
  return std::ranges::all_of(
      g.nodes(), [&](const GraphNode& n) { return !std::holds_alternative<Input>(n.op) || n.outputs[0].sizes[0] == g.batch(); });
}

TEST_CASE("reading what was written gives the plan again") {
  CHECK(rc::check([] {
    std::vector<zoo::Exhibit> all = zoo::exhibits();
    std::erase_if(all, [](const zoo::Exhibit& e) { return !samples_first(e.graph); });
    const Graph& g = all[*rc::gen::inRange<std::size_t>(0, all.size())].graph;
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    Plan p = plan_of(parallelize(g, zoo::random_shardings(g, random)), 128);
    const auto operators = static_cast<std::size_t>(std::ranges::count_if(p.pcg.nodes(), [](const PcgNode& n) { return n.computes(); }));
    const bool pipelined = operators >= 4;  // else not every stage would have an operator
    p.schedule = pipelined ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
    p.stages = pipelined ? 4 : 1;
    p.chunks = pipelined ? 2 : 1;
    const int ranks = p.stages / p.chunks;
    p.micro_batches = ranks * static_cast<int>(1 + random.below(3));
    p.training.global_batch *= p.micro_batches;
    p.training.precision = static_cast<Precision>(random.below(7));
    if (p.training.precision == Precision::fp8) p.training.fp8_recipe = static_cast<pcg::Fp8Scaling>(random.below(3));
    p.training.fp8_attention = pcg::has_fp8_attention(p.training.precision) && random.below(2) == 0;
    if (casts_products(p.training.precision))
      p.training.bf16_layers = {static_cast<int>(random.below(3)), static_cast<int>(random.below(3)), random.below(2) == 0};
    p.training.optimizer = static_cast<Optimizer>(random.below(3));
    p.training.framework = static_cast<Framework>(random.below(4));
    p.training.fp32_gradients = random.below(2) == 0;
    p.training.clip_gradients = random.below(2) == 0;
    p.training.constant_tokens = random.below(2) == 0;
    p.recompute = static_cast<Recompute>(random.below(3));
    p.zero = static_cast<int>(random.below(4));
    if (p.zero > 0) p.memory.zero.groups = 1 << random.below(4);
    if (p.zero > 1) p.memory.zero.accumulates = random.below(2) == 0;
    if (p.zero > 2) p.memory.zero.keeps_weights = random.below(2) == 0;
    if (p.zero > 0)
      for (std::size_t b = 0; b < p.pcg.blocks().size(); ++b)
        if (random.below(2) == 0) p.memory.zero.blocks.push_back(static_cast<int>(b));
    if (p.zero > 2 && random.below(2) == 0) p.memory.zero.prefetch = static_cast<int>(random.below(3));
    p.memory.weights = static_cast<WeightStorage>(random.below(5));
    if (pcg::wrong_weights(p.memory.weights, p.training.precision)) p.memory.weights = WeightStorage::bf16;
    p.memory.bf16_moments = random.below(2) == 0;
    p.memory.fp8_activation_inputs = random.below(2) == 0;
    p.memory.recomputed.blocks = static_cast<int>(random.below(3));
    if (p.recompute == Recompute::full && p.memory.recomputed.blocks == 0 && random.below(2) == 0)
      for (std::size_t b = 0; b < p.pcg.blocks().size(); b += 2) p.memory.recomputed.only.push_back(static_cast<int>(b));
    if (p.recompute == Recompute::none && random.below(2) == 0) p.memory.recomputed.modules = {Module::norm, Module::mlp};
    for (const pcg::OverlapWord& w : pcg::kOverlapWords)
      if (random.below(2) == 0) p.overlap.*w.choice = random.below(2) == 0;
    p.between_stages = static_cast<BetweenStages>(random.below(3));
    if (random.below(2) == 0) p.padding = {{50257, 50304}, {7, 8, Padded::expert_capacity}};
    std::size_t seen = 0;
    for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
      const PcgNode& node = p.pcg.nodes()[n];
      p.stage[n] = static_cast<int>(std::min(seen, operators - 1) * static_cast<std::size_t>(p.stages) / operators);
      if (!node.computes()) continue;
      ++seen;
      const auto first = static_cast<std::size_t>(64 * (p.stage[n] % ranks));  // each rank has devices of its own
      p.mapping[n].start = DeviceId(first);
      if (random.below(2) == 0) continue;
      p.mapping[n] = {};
      for (int i = 0; i < node.sharding.points(); ++i) p.mapping[n].devices.emplace_back(first + random.below(64));
    }
    RC_ASSERT(violations(p).empty());
    RC_ASSERT(read_plan(base::parse_yaml(write_plan(p), "p.yaml")) == p);
  }));
}

TEST_CASE("each mistake in a plan file is one message at its place") {
  CHECK(error_of(replaced(kText, "shard: {k: 3}", "shard: {k: 5}")) ==
        "31:14: plan.operators[7].shard: loop k of size 12 does not divide into 5\n");
  CHECK(error_of(replaced(kText, "shard: {k: 3}", "shard: {kk: 3}")) ==
        "31:15: plan.operators[7].shard: unknown key \"kk\" (did you mean \"k\"?)\n");
  CHECK(error_of(replaced(kText, "in: [x.replicate,", "in: [x.replicat,")) ==
        "20:12: plan.operators[3].in[0]: no operator before this one is called \"x.replicat\" (did you mean \"x.replicate\"?)\n");
  CHECK(error_of(replaced(kText, "in: [x]", "in: [\"x:1\"]")) == "15:58: plan.operators[2].in[0]: \"x\" has 1 outputs, numbered from 0\n");
  CHECK(error_of(replaced(kText, "op: replicate, degree: 3, in: [x]", "op: replicat, degree: 3, in: [x]")) ==
        "15:31: plan.operators[2].op: unknown op \"replicat\" (did you mean \"replicate\"?)\n");
  CHECK(error_of(replaced(kText, "strides: [1]", "strides: [2]")) == "22:13: plan.operators[3].view: device 4 is not one of 0 .. 2\n");
  CHECK(error_of(replaced(kText, "gpus: 3", "gpus: 0")) == "7:9: plan.gpus: gpus must be at least 1, found 0\n");
  CHECK(error_of(replaced(kText, "global_batch: 4", "global_batch: 6")) ==
        "3:3: plan: x: 4 samples in each of 1 micro-batches are not the 6 of global_batch\n");
  CHECK(error_of(replaced(kText, "down.bias, op: weight, shape: [6], block: 1", "down.bias, op: weight, shape: [6], block: 0")) ==
        "24:56: plan.operators[5].block: block 0 comes after block 1: operators are in the order of their blocks\n");
  CHECK(error_of(replaced(kText, "name: up.weight,", "name: x,")).starts_with("14:"));
  CHECK(error_of(replaced(kText, "foreshard: 1", "foreshard: 2")).starts_with("1:12: foreshard: format 2 is not known"));
}

TEST_CASE("all mistakes come at once, and what reads a wrong operator adds none") {
  const std::string text = replaced(replaced(replaced(kText, "shard: {n: 3}", "shard: {n: 5}"), "kind: 1f1b", "kind: 1f2b"),
                                    "degree: 3, in: [down.bias]", "degree: 0, in: [down.bias]");
  CHECK(error_of(text) ==
        "8:20: plan.schedule.kind: unknown kind \"1f2b\" (did you mean \"1f1b\"?)\n"
        "21:14: plan.operators[3].shard: loop n of size 12 does not divide into 5\n"
        "25:58: plan.operators[6].degree: degree must be at least 1, found 0\n");
}

TEST_CASE("a plan file that was damaged is read or refused, nothing else") {
  CHECK(rc::check([] {
    std::string text = kText;
    base::Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::size_t at = random.below(text.size()), length = random.below(8);
      const std::size_t from = random.below(text.size());
      text = text.substr(0, at) + text.substr(from, random.below(8)) + text.substr(std::min(at + length, text.size()));
    }
    try {
      const Plan p = read_plan(base::parse_yaml(text, "p.yaml"));
      RC_ASSERT(violations(p).empty());
      RC_ASSERT(check_equivalence(p, two_blocks(), 1, 1).detail != "");  // a healthy answer, whichever
    } catch (const base::InputError& e) { RC_ASSERT(!e.diagnostics().empty()); }
  }));
  CHECK(error_of(replaced(kText, "degree: 3, in: [x]", "degree: 1000000000, in: [x]")) ==
        "15:7: plan.operators[2]: x.replicate: replicate: more than 16777216 shards of [4, 6]\n");
}

TEST_CASE("a plan without its reduce cannot be read") {
  std::string text = kText;
  text += "    - {name: loss, op: unary, function: relu, in: [down], block: 1, view: {start: 0}}\n";
  CHECK(error_of(text) == "34:7: plan.operators[8]: loss: input 0 (down) lies as [4, 6] sum 3, the sharding reads it as [4, 6]\n");
  text = replaced(text, "    - {name: loss", "    - {name: down.discard, op: discard, degree: 3, in: [down], block: 1}\n    - {name: loss");
  text = replaced(text, "function: relu, in: [down]", "function: relu, in: [down.discard]");
  CHECK(error_of(text) == "34:7: plan.operators[8]: down.discard: discard: copy 1 of [4, 6] sum 3 does not divide by 3\n");
}

TEST_CASE("what a plan file says of memory is in order, and does not contradict itself") {
  const auto memory = [](const std::string& map) { return replaced(kText, "memory: {recompute: none, zero: 0}", "memory: " + map); };
  const auto modules = read_plan(base::parse_yaml(memory("{recomputed_modules: [mlp, norm]}"), "p.yaml")).memory.recomputed.modules;
  CHECK(modules == std::vector{Module::norm, Module::mlp});
  CHECK(error_of(memory("{recomputed_modules: [mlp, mlp]}")) == "9:38: plan.memory.recomputed_modules[1]: mlp is listed twice\n");
  CHECK(read_plan(base::parse_yaml(memory("{offload: {activations: true, blocks: 2}}"), "p.yaml")).memory.offload.blocks == 2);
  const auto refused = [&](const std::string& map) { return error_of(memory(map)); };
  CHECK(refused("{recompute: full, recomputed_modules: [mlp]}") ==
        "3:3: plan: recompute is full: modules are recomputed where it is none\n");
  CHECK(refused("{offload: {optimizer: true, blocks: 2}}") == "3:3: plan: no activations are offloaded, of 2 layers or of all\n");
  CHECK(refused("{weights: fp8}") == "3:3: plan: weights are kept in fp8 where products are in fp8, and the precision is fp32\n");
  CHECK(refused("{shard_groups: 3}") == "3:3: plan: without zero nothing is shared out in 3 groups\n");
  CHECK(refused("{zero: 3, shard_groups: 2}") == "3:3: plan: 3 GPUs do not divide into 2 groups that share out\n");
  CHECK(refused("{zero: 2, prefetch: 1}") == "3:3: plan: prefetch is at least 0, and for zero 3 alone\n");
  CHECK(refused("{zero: 1, synchronise: iteration}") ==
        "3:3: plan: without zero 2 or 3 gradients are synchronised once per iteration in any case\n");
  CHECK(refused("{zero: 2, reshard_after_forward: false}") ==
        "3:3: plan: without zero 3 weights are kept after the forward pass in any case\n");
}

TEST_CASE("a plan file lists the blocks that are recomputed, each once, in order") {
  const auto memory = [](const std::string& map) { return replaced(kText, "memory: {recompute: none, zero: 0}", "memory: " + map); };
  const Plan p = read_plan(base::parse_yaml(memory("{recompute: full, recomputed_only: [1]}"), "p.yaml"));
  CHECK(p.memory.recomputed.only == std::vector{1});
  CHECK(write_plan(p).find("recomputed_only: [1]") != std::string::npos);
  const auto refused = [&](const std::string& map) { return error_of(memory(map)); };
  CHECK(refused("{recompute: full, recomputed_only: []}") ==
        "9:46: plan.memory.recomputed_only: no block is listed (write recompute: none where none is meant, or leave recomputed_only out "
        "where "
        "all are)\n");
  CHECK(refused("{recomputed_only: [1]}") ==
        "3:3: plan: recomputed_only lists blocks, and neither are they recomputed whole nor any modules of theirs\n");
  CHECK(refused("{recompute: full, recomputed_only: [1], recomputed_blocks: 1}") ==
        "3:3: plan: recomputed_only lists blocks, and recomputed_blocks counts others\n");
  CHECK(refused("{recompute: full, recomputed_only: [1, 0]}") == "3:3: plan: recomputed_only is not in ascending order, each block once\n");
}

TEST_CASE("a plan file says which parts of layers are CUDA graphs") {
  Plan p = read_plan(base::parse_yaml(kText, "p.yaml"));
  CHECK(p.graphed == GraphedParts{});
  p.graphed.router = true;
  const std::string text = write_plan(p);
  CHECK(text.find("graphed: {router: true}") != std::string::npos);
  CHECK(read_plan(base::parse_yaml(text, "p.yaml")).graphed == p.graphed);
}

TEST_CASE("a plan file lists the blocks that zero shards, each once, in order") {
  const auto memory = [](const std::string& map) { return replaced(kText, "memory: {recompute: none, zero: 0}", "memory: " + map); };
  const Plan p = read_plan(base::parse_yaml(memory("{zero: 3, zero_blocks: [1]}"), "p.yaml"));
  CHECK(p.memory.zero.blocks == std::vector{1});
  CHECK(write_plan(p).find("zero_blocks: [1]") != std::string::npos);
  const auto refused = [&](const std::string& map) { return error_of(memory(map)); };
  CHECK(refused("{zero: 3, zero_blocks: [0, 2]}") == "9:38: plan.memory.zero_blocks[1]: 2 is not one of 0 .. 1\n");
  CHECK(refused("{zero: 3, zero_blocks: []}") ==
        "9:34: plan.memory.zero_blocks: no block is listed (write zero: 0 where none is meant, or leave zero_blocks out where all are)\n");
  CHECK(refused("{zero: 3, zero_blocks: 1}") == "9:34: plan.memory.zero_blocks: expected a list\n");
  CHECK(refused("{zero: 3, zero_blocks: [1, 0]}") == "3:3: plan: zero_blocks is not in ascending order, each block once\n");
  CHECK(refused("{zero: 3, zero_blocks: [1, 1]}") == "3:3: plan: zero_blocks is not in ascending order, each block once\n");
  CHECK(refused("{zero_blocks: [1]}") == "3:3: plan: without zero nothing is shared out, of some blocks or of all\n");
  Plan other = p;
  other.memory.zero.blocks = {0};
  CHECK_FALSE(other == p);
  other.memory.zero.blocks = {7};
  CHECK(violations(other) == std::vector<std::string>{"zero_blocks has block 7, which is not one of 0 .. 1"});
}

TEST_CASE("rewrites are written and read back to the last digit") {
  Plan p = tensor_parallel();
  p.rewrites = {{"a12", "down", base::Seconds(1.0 / 3), base::Seconds(0.1)},
                {"my rule: 2", "down", base::Seconds(0.1), base::Seconds(1e-7 / 3)}};
  const std::string text = write_plan(p);
  CHECK(read_plan(base::parse_yaml(text, "p.yaml")) == p);
  Plan other = p;
  other.rewrites[1].after = base::Seconds();
  CHECK_FALSE(other == p);
  CHECK(error_of(replaced(text, "before: 0.1 s", "before: 0.1")).find("plan.rewrites[1].before: \"0.1\" has no unit") != std::string::npos);
  CHECK(error_of(replaced(text, "rule: a12", "rul: a12")).find("missing key \"rule\"") != std::string::npos);
}

TEST_CASE("how tensors go between stages is written unless it is the local all-gather, and tells plans apart") {
  const Plan p = tensor_parallel();
  CHECK(write_plan(p).find("between_stages") == std::string::npos);
  for (const auto& [how, word] : {std::pair(BetweenStages::send_recv, "send-recv"), std::pair(BetweenStages::signal, "signal")}) {
    Plan other = p;
    other.between_stages = how;
    const std::string text = write_plan(other);
    CHECK(text.find(std::string("  between_stages: ") + word + "\n") != std::string::npos);
    CHECK(read_plan(base::parse_yaml(text, "p.yaml")) == other);
    CHECK_FALSE(other == p);
  }
}

TEST_CASE("violations name what does not fit together") {
  Plan p = tensor_parallel();
  CHECK(violations(p).empty());
  p.gpus = 2;
  p.chunks = 2;
  p.micro_batches = 3;
  p.zero = 4;
  p.stage.back() = 1;
  const std::vector<std::string> v = violations(p);
  auto has = [&](const std::string& text) { return std::ranges::find(v, text) != v.end(); };
  CHECK(has("up: device 2 is not one of 0 .. 1"));
  CHECK(has("1 virtual stages do not divide into 2 chunks for each device"));
  CHECK(has("x: 4 samples in each of 3 micro-batches are not the 4 of global_batch"));
  CHECK(has("zero is 4, it must be 0, 1, 2 or 3"));
  CHECK(has("down: stage 1 is not one of 0 .. 0"));
  p = tensor_parallel();
  p.stages = 2;
  p.stage[3] = 1;
  CHECK(violations(p) == std::vector<std::string>{"down: stage 0 reads up of stage 1, which comes later"});
  p = tensor_parallel();
  PcgBuilder backwards("backwards", {{"first", true}, {"second", true}});
  const TensorRef x{backwards.add("x", Input{real({4, 6})}, {}, {.degrees = {1, 1}}, 0), 0};
  const TensorRef y{backwards.add("y", Unary{}, {x}, {.degrees = {1, 1}}, 1), 0};
  (void)backwards.add("z", Unary{}, {y}, {.degrees = {1, 1}}, 0);
  CHECK(violations(plan_of(std::move(backwards).build(), 1)) == std::vector<std::string>{"z: block 0 comes after block 1"});
  p.mapping.pop_back();
  CHECK(violations(p)[0] == "7 machine views are given for 8 nodes");
}

TEST_CASE("partial sums through one input and summands are written and read back") {
  PcgBuilder b("sums", {{"all", true}});
  const TensorRef x{b.add("x", Input{real({4, 6})}, {}, {.degrees = {1, 1}}, 0), 0},
      y{b.add("y", Input{real({4, 6})}, {}, {.degrees = {1, 1}}, 0), 0};
  const TensorRef w{b.add("w", Weight{real({6, 8})}, {}, {.degrees = {1, 1}}, 0), 0};
  const TensorRef both{b.add("both", Summands{}, {x, y}, {.degrees = {1, 1}, .sums = 2}, 0), 0};
  const TensorRef copies{b.add("copies", Replicate{2}, w, 0), 0};
  const TensorRef product{b.add("product", Linear{.out = 8}, {both, copies}, {.degrees = {1, 1, 1}, .sums = 2, .through = 0}, 0), 0};
  b.add("sum", Reduce{2}, product, 0);
  Plan p = plan_of(std::move(b).build(), 2);
  for (MachineView& v : p.mapping)
    if (!v.strides.empty()) v.strides = {1};
  const std::string text = write_plan(p);
  CHECK(text.find("through: 0") != std::string::npos);
  CHECK(read_plan(base::parse_yaml(text, "p.yaml")) == p);
}

}  // namespace
}  // namespace pcg
