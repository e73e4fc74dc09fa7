// Every plan that is built computes what the model computes.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/yaml/parse.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/evaluator/evaluator.hpp"
#include "pcg/plan/plan_text.hpp"
#include "problem.hpp"

namespace {

std::string difference(const pcg::Plan& plan, const pcg::Graph& model) {
  const auto wrong = pcg::violations(plan);
  if (!wrong.empty()) return wrong.front();
  const pcg::EquivalenceResult r = pcg::check_equivalence(plan, model, 2, 7);
  return r.equivalent ? "" : r.detail;
}

}  // namespace

TEST_CASE("plans of each kind") {
  const test::Question gpt(test::kSmallGpt, 1, 4, 8);
  CHECK(difference(search::data_parallel_plan(gpt.problem()).value(), gpt.model) == "");
  CHECK(difference(search::grid_plan(gpt.problem(), {.zero = 3}, "fsdp").value(), gpt.model) == "");
  CHECK(difference(search::grid_plan(gpt.problem(), {.tensor = 2, .zero = 3, .shard = 1}, "fsdp").value(), gpt.model) == "");
  for (const search::GridConfig& c : {search::GridConfig{.tensor = 2},
                                      {.tensor = 2, .sequence_parallel = true},
                                      {.context = 2},
                                      {.context = 4, .context_kind = search::ContextKind::gather},
                                      {.context = 2, .context_kind = search::ContextKind::ulysses},
                                      {.context = 4, .context_all_to_all = 2},
                                      {.pipeline = 2},
                                      {.tensor = 2, .pipeline = 2},
                                      {.tensor = 2, .context = 2, .sequence_parallel = true},
                                      {.tensor = 2, .pipeline = 2, .sequence_parallel = true, .zero = 1}})
    CHECK(difference(search::megatron_plan(gpt.problem(), c).value(), gpt.model) == "");
  const test::Question moe(test::kSmallMoe, 1, 4, 8);
  for (const search::GridConfig& c : {search::GridConfig{.expert = 4},
                                      {.tensor = 2, .expert = 2},
                                      {.tensor = 2, .expert = 2, .sequence_parallel = true},
                                      {.context = 2, .expert = 2},
                                      {.context = 2, .expert = 4},
                                      {.context = 4},
                                      {.context = 4, .expert = 2},
                                      {.context = 4, .expert = 4, .context_all_to_all = 2},
                                      {.tensor = 2, .context = 2, .expert = 2, .sequence_parallel = true}})
    CHECK(difference(search::megatron_plan(moe.problem(), c).value(), moe.model) == "");
}

TEST_CASE("models of today are cut as the others are") {
  // Latent attention, dense first layers, a shared expert and multi-token prediction; windows, sinks, norms of heads and biases of experts.
  const test::Question deepseek(
      "{transformer: {layers: 3, hidden: 32, heads: 4, head_dim: 8, ffn: 48, vocab: 96, sequence_length: 16, gated: true, rms_norm: true, "
      "rope: true, biases: false, tied_embeddings: false, query_rank: 24, kv_rank: 16, rope_dim: 4, value_dim: 6, experts: 4, top_k: 2, "
      "expert_ffn: 20, shared_experts: 1, dense_layers: 1, router: sigmoid, mtp_layers: 1}}",
      1, 8, 16);
  const test::Question oss(
      "{transformer: {layers: 4, hidden: 32, heads: 8, kv_heads: 4, head_dim: 6, ffn: 20, vocab: 96, sequence_length: 16, gated: true, "
      "rms_norm: true, rope: true, biases: false, qkv_biases: true, out_biases: true, tied_embeddings: false, qk_norm: true, sinks: true, "
      "repeated_keys: true, "
      "window: 6, global_every: 2, experts: 4, top_k: 2, expert_biases: true, shared_ffn: 12, shared_gate: true}}",
      1, 8, 16);
  // Mamba layers, experts that see a latent token, and modules of prediction that are one.
  const test::Question hybrid(
      "{transformer: {layers: 8, hidden: 32, heads: 4, head_dim: 8, ffn: 48, vocab: 96, sequence_length: 16, rms_norm: true, biases: "
      "false, "
      "positions: none, tied_embeddings: false, activation: relu2, experts: 4, top_k: 2, expert_ffn: 20, shared_ffn: 40, expert_latent: "
      "12, "
      "pattern: ME*-MEME, mamba_heads: 8, mamba_head_dim: 2, mamba_groups: 4, mamba_state: 3, mtp_layers: 2, mtp_pattern: '*E', "
      "mtp_shared: true}}",
      1, 8, 16);
  for (const test::Question* q : {&deepseek, &oss, &hybrid})
    for (const search::GridConfig& c : {search::GridConfig{.tensor = 2},
                                        {.tensor = 4, .sequence_parallel = true},
                                        {.context = 2},
                                        {.context = 4, .context_kind = search::ContextKind::ulysses},
                                        {.tensor = 2, .context = 2, .context_kind = search::ContextKind::ulysses},
                                        {.pipeline = 2},
                                        {.expert = 4},
                                        {.pipeline = 4, .expert = 2},
                                        {.tensor = 2, .context = 2, .expert = 2, .sequence_parallel = true},
                                        {.tensor = 2, .pipeline = 2, .expert = 2, .sequence_parallel = true, .zero = 1}}) {
      const auto plan = search::megatron_plan(q->problem(), c);
      REQUIRE_MESSAGE(plan, plan.refusal().why);
      CHECK(difference(*plan, q->model) == "");
    }
}

TEST_CASE("any grid on any small transformer gives a sound plan or a reason") {
  CHECK(rc::check([] {
    const int layers = *rc::gen::inRange(1, 5);
    const int kv_heads = *rc::gen::element(1, 2, 4), heads = kv_heads * *rc::gen::element(1, 2);
    const bool gated = *rc::gen::arbitrary<bool>(), tied = *rc::gen::arbitrary<bool>(), post_norm = *rc::gen::arbitrary<bool>();
    const int experts = *rc::gen::element(0, 4);
    const test::Question q(
        fmt::format("{{transformer: {{layers: {}, hidden: {}, heads: {}, kv_heads: {}, vocab: 96, sequence_length: 16, gated: {}, "
                    "tied_embeddings: {}, post_norm: {}, experts: {}, top_k: {}}}}}",
                    layers, heads * 8, heads, kv_heads, gated, tied, post_norm, experts, experts > 0 ? 2 : 1),
        1, 8, 16);
    search::GridConfig c;
    c.tensor = *rc::gen::element(1, 2, 4);
    c.pipeline = *rc::gen::element(1, 2, 4);
    c.context = *rc::gen::element(1, 2, 4);
    c.expert = *rc::gen::element(1, 1, 2, 4);
    c.chunks = *rc::gen::element(1, 1, 2);
    if (c.chunks > 1) c.schedule = pcg::ScheduleKind::interleaved;
    c.sequence_parallel = *rc::gen::arbitrary<bool>();
    c.zero = *rc::gen::inRange(0, 4);
    if (c.zero > 0) c.shard = *rc::gen::element(0, 0, 1, 2);
    const auto p = search::megatron_plan(q.problem(), c);
    if (!p) {
      RC_ASSERT(p.refusal().why != "");
      return;
    }
    RC_LOG() << p->summary;
    RC_ASSERT(difference(*p, q.model) == "");
    RC_ASSERT(pcg::read_plan(base::parse_yaml(pcg::write_plan(*p), "<test>")) == *p);
  }));
}
