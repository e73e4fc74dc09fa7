#include "pcg/plan/plan.hpp"

#include <fmt/core.h>

#include <functional>

#include "base/yaml/parse.hpp"
#include "pcg/plan/low_precision.hpp"

namespace pcg {
namespace {

using Problems = std::vector<std::string>;

template <class... A>
void complain(Problems& problems, fmt::format_string<A...> text, A&&... values) {
  problems.push_back(fmt::format(text, std::forward<A>(values)...));
}

void check_counts(const Plan& plan, Problems& problems) {
  if (plan.gpus < 1) complain(problems, "a plan needs at least 1 GPU, not {}", plan.gpus);
  if (plan.micro_batches < 1) complain(problems, "micro_batches is {}, it must be at least 1", plan.micro_batches);
  if (plan.zero < 0 || plan.zero > 3) complain(problems, "zero is {}, it must be 0, 1, 2 or 3", plan.zero);
  if (plan.stages < 1) complain(problems, "stages is {}, it must be at least 1", plan.stages);
  if (plan.chunks < 1) complain(problems, "chunks is {}, it must be at least 1", plan.chunks);
  else if (plan.stages % plan.chunks != 0)
    complain(problems, "{} virtual stages do not divide into {} chunks for each device", plan.stages, plan.chunks);
  const bool chunked =
      plan.schedule == ScheduleKind::interleaved || plan.schedule == ScheduleKind::flexible || plan.schedule == ScheduleKind::breadth_first;
  if (plan.schedule == ScheduleKind::dual_pipe && plan.chunks != 2) complain(problems, "dualpipe has 2 chunks, not {}", plan.chunks);
  if (plan.chunks > 1 && !chunked && plan.schedule != ScheduleKind::dual_pipe)
    complain(problems, "{} chunks need an interleaved schedule", plan.chunks);
  if (plan.lean_warm_up && plan.schedule != ScheduleKind::interleaved && plan.schedule != ScheduleKind::flexible)
    complain(problems, "the warm-up is lean: only interleaved and flexible schedules have another one");
  if (plan.micro_batch_group < 0 || (plan.micro_batch_group > 0) != (plan.schedule == ScheduleKind::flexible))
    complain(problems, "micro_batch_group is {}: a flexible schedule has a group of at least 1, and others have none",
             plan.micro_batch_group);
}

void check_listed(const Plan& plan, const char* key, const std::vector<int>& numbers, Problems& problems) {
  if (std::ranges::adjacent_find(numbers, std::greater_equal()) != numbers.end())
    complain(problems, "{} is not in ascending order, each block once", key);
  const auto blocks = static_cast<int>(plan.pcg.blocks().size());
  for (const int b : numbers)
    if (b < 0 || b >= blocks) complain(problems, "{} has block {}, which is not one of 0 .. {}", key, b, blocks - 1);
}

void check_memory(const Plan& plan, Problems& problems) {
  const ZeroPolicy& zero = plan.memory.zero;
  if (plan.recompute != Recompute::none && !plan.memory.recomputed.modules.empty())
    complain(problems, "recompute is {}: modules are recomputed where it is none", name_of(plan.recompute));
  if (const auto why = wrong_weights(plan.memory.weights, plan.training.precision)) complain(problems, "{}", *why);
  if (plan.training.fp8_recipe != Fp8Scaling::delayed && plan.training.precision != Precision::fp8)
    complain(problems, "fp8_recipe is {}, and the precision is {}", name_of(plan.training.fp8_recipe), to_text(plan.training.precision));
  if (plan.training.fp8_attention && !has_fp8_attention(plan.training.precision))
    complain(problems, "fp8_attention is of fp8 and mxfp8, and the precision is {}", to_text(plan.training.precision));
  if (plan.training.bf16_layers != Bf16Layers{} && !casts_products(plan.training.precision))
    complain(problems, "bf16_layers is of low precision, and the precision is {}", to_text(plan.training.precision));
  if (plan.memory.offload.blocks > 0 && !plan.memory.offload.activations)
    complain(problems, "no activations are offloaded, of {} layers or of all", plan.memory.offload.blocks);
  if (zero.groups < 1) complain(problems, "shard_groups is {}, it must be at least 1", zero.groups);
  else if (zero.groups > 1 && plan.zero == 0) complain(problems, "without zero nothing is shared out in {} groups", zero.groups);
  else if (plan.gpus % zero.groups != 0) complain(problems, "{} GPUs do not divide into {} groups that share out", plan.gpus, zero.groups);
  if (zero.prefetch && (plan.zero < 3 || *zero.prefetch < 0)) complain(problems, "prefetch is at least 0, and for zero 3 alone");
  if (zero.accumulates && plan.zero < 2)
    complain(problems, "without zero 2 or 3 gradients are synchronised once per iteration in any case");
  if (zero.keeps_weights && plan.zero < 3) complain(problems, "without zero 3 weights are kept after the forward pass in any case");
  if (!zero.blocks.empty() && plan.zero == 0) complain(problems, "without zero nothing is shared out, of some blocks or of all");
  check_listed(plan, "zero_blocks", zero.blocks, problems);
  const RecomputedParts& parts = plan.memory.recomputed;
  if (!parts.only.empty() && parts.modules.empty() && plan.recompute != Recompute::full)
    complain(problems, "recomputed_only lists blocks, and neither are they recomputed whole nor any modules of theirs");
  if (!parts.only.empty() && parts.blocks > 0) complain(problems, "recomputed_only lists blocks, and recomputed_blocks counts others");
  check_listed(plan, "recomputed_only", parts.only, problems);
}

void check_views(const Plan& plan, Problems& problems) {
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const PcgNode& node = plan.pcg.nodes()[n];
    if (!node.computes()) {
      if (plan.mapping[n] != MachineView{}) complain(problems, "{}: a view is given, though its data lie where they are used", node.name);
    } else if (auto v = violation(plan.mapping[n], node.sharding, plan.gpus)) {
      complain(problems, "{}: {}", node.name, *v);
    }
  }
}

// Stages never decrease along an edge: a pipeline passes activations forward only.
void check_stages(const Plan& plan, Problems& problems) {
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const PcgNode& node = plan.pcg.nodes()[n];
    const int stage = plan.stage[n];
    if (stage < 0 || stage >= plan.stages) complain(problems, "{}: stage {} is not one of 0 .. {}", node.name, stage, plan.stages - 1);
    for (TensorRef t : node.inputs)
      if (const int before = plan.stage[t.node.value]; before > stage)
        complain(problems, "{}: stage {} reads {} of stage {}, which comes later", node.name, stage, plan.pcg.node(t.node).name, before);
    if (node.parallel_operator() &&
        (std::holds_alternative<Pipeline>(*node.parallel_operator()) || std::holds_alternative<Batch>(*node.parallel_operator())))
      complain(problems, "{}: a plan says micro_batches and describes one of them, without pipeline and batch operators", node.name);
  }
}

void check_blocks(const Plan& plan, Problems& problems) {
  int last = 0;
  for (const PcgNode& node : plan.pcg.nodes()) {
    if (node.parallel_operator()) continue;
    if (node.block < last) complain(problems, "{}: block {} comes after block {}", node.name, node.block, last);
    last = std::max(last, node.block);
  }
}

// Requires: all else is sound.
void check_pipeline(const Plan& plan, Problems& problems) {
  const int ranks = ranks_of(plan);
  if (plan.schedule == ScheduleKind::interleaved && plan.micro_batches % ranks != 0)
    complain(problems, "the interleaved schedule takes turns of {} micro-batches: {} are not a multiple; flexible takes any number", ranks,
             plan.micro_batches);
  if (plan.schedule == ScheduleKind::two_bw && plan.micro_batches < ranks)
    complain(problems, "2bw wants at least as many micro-batches as stages: there are {} and {}", plan.micro_batches, ranks);
  // A round that is shorter than the pipeline is deep would let ranks wait for each other.
  if (plan.schedule == ScheduleKind::flexible && plan.micro_batch_group < std::min(ranks, plan.micro_batches))
    complain(problems, "groups of {} micro-batches do not fill {} stages", plan.micro_batch_group, ranks);
  std::vector<int> operators(static_cast<std::size_t>(plan.stages), 0);
  // A device belongs to one rank of the pipeline; its chunks are the virtual stages that are equal modulo the number of ranks.
  std::vector<int> rank_of(static_cast<std::size_t>(plan.gpus), -1);
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const PcgNode& node = plan.pcg.nodes()[n];
    if (!node.computes()) continue;
    ++operators[static_cast<std::size_t>(plan.stage[n])];
    const int rank = pcg::rank_of(plan, plan.stage[n]);
    for (DeviceId d : devices_of(plan.mapping[n], node.sharding)) {
      int& known = rank_of[d.value];
      if (known >= 0 && known != rank) {
        complain(
            problems,
            "{}: device {} is in rank {} of the pipeline and in rank {}: stages have devices of their own, unless they are chunks of one",
            node.name, d.value, known, rank);
        return;
      }
      known = rank;
    }
  }
  for (std::size_t s = 0; s < operators.size(); ++s)
    if (operators[s] == 0) complain(problems, "stage {} has no operators", s);
}

// Inputs that hold samples hold those of one micro-batch.
void check_batch(const Plan& plan, Problems& problems) {
  for (const PcgNode& node : plan.pcg.nodes()) {
    if (!node.is_input() || node.outputs[0].dims.empty()) continue;
    const std::int64_t samples = node.outputs[0].dims[0].size;
    if (samples * plan.micro_batches != plan.training.global_batch)
      complain(problems, "{}: {} samples in each of {} micro-batches are not the {} of global_batch", node.name, samples,
               plan.micro_batches, plan.training.global_batch);
  }
}

}  // namespace

bool merges_passes(const Plan& plan) { return plan.overlap.experts.value_or(plan.schedule == ScheduleKind::dual_pipe); }

std::vector<std::string> violations(const Plan& plan) {
  Problems problems;
  check_counts(plan, problems);
  check_memory(plan, problems);
  const std::size_t nodes = plan.pcg.nodes().size();
  if (plan.mapping.size() != nodes) complain(problems, "{} machine views are given for {} nodes", plan.mapping.size(), nodes);
  else check_views(plan, problems);
  if (plan.stage.size() != nodes) complain(problems, "{} stages are given for {} nodes", plan.stage.size(), nodes);
  else check_stages(plan, problems);
  check_blocks(plan, problems);
  check_batch(plan, problems);
  if (problems.empty()) check_pipeline(plan, problems);
  return problems;
}

bool Plan::operator==(const Plan& o) const {
  return name == o.name && base::emit_yaml(model) == base::emit_yaml(o.model) && padding == o.padding && training == o.training &&
         gpus == o.gpus && pcg == o.pcg && mapping == o.mapping && stage == o.stage && stages == o.stages && chunks == o.chunks &&
         schedule == o.schedule && micro_batches == o.micro_batches && micro_batch_group == o.micro_batch_group &&
         lean_warm_up == o.lean_warm_up && key_exchange == o.key_exchange && recompute == o.recompute && zero == o.zero &&
         overlap == o.overlap && memory == o.memory && dispatch == o.dispatch && between_stages == o.between_stages &&
         cuda_graphs == o.cuda_graphs && graphed == o.graphed && summary == o.summary && rewrites == o.rewrites;
}

}  // namespace pcg
