#include "pcg/plan/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "base/yaml/emit.hpp"
#include "pcg/plan/low_precision.hpp"
#include "pcg/plan/ranks.hpp"

namespace pcg {
namespace {

class Checker {
 public:
  explicit Checker(const Plan& plan) : plan_(plan) {}

  std::vector<std::string> run() {
    counts();
    memory();
    const std::size_t nodes = plan_.pcg.nodes().size();
    if (plan_.mapping.size() != nodes) complain("{} machine views are given for {} nodes", plan_.mapping.size(), nodes);
    else views();
    if (plan_.stage.size() != nodes) complain("{} stages are given for {} nodes", plan_.stage.size(), nodes);
    else stages();
    blocks();
    batch();
    if (problems_.empty()) pipeline();
    return std::move(problems_);
  }

 private:
  template <class... A>
  void complain(fmt::format_string<A...> text, A&&... values) {
    problems_.push_back(fmt::format(text, std::forward<A>(values)...));
  }

  void counts() {
    if (plan_.gpus < 1) complain("a plan needs at least 1 GPU, not {}", plan_.gpus);
    if (plan_.micro_batches < 1) complain("micro_batches is {}, it must be at least 1", plan_.micro_batches);
    if (plan_.zero < 0 || plan_.zero > 3) complain("zero is {}, it must be 0, 1, 2 or 3", plan_.zero);
    if (plan_.stages < 1) complain("stages is {}, it must be at least 1", plan_.stages);
    if (plan_.chunks < 1) complain("chunks is {}, it must be at least 1", plan_.chunks);
    else if (plan_.stages % plan_.chunks != 0)
      complain("{} virtual stages do not divide into {} chunks for each device", plan_.stages, plan_.chunks);
    const bool chunked = plan_.schedule == ScheduleKind::interleaved || plan_.schedule == ScheduleKind::flexible ||
                         plan_.schedule == ScheduleKind::breadth_first;
    if (plan_.schedule == ScheduleKind::dual_pipe && plan_.chunks != 2) complain("dualpipe has 2 chunks, not {}", plan_.chunks);
    if (plan_.chunks > 1 && !chunked && plan_.schedule != ScheduleKind::dual_pipe)
      complain("{} chunks need an interleaved schedule", plan_.chunks);
    if (plan_.lean_warm_up && plan_.schedule != ScheduleKind::interleaved && plan_.schedule != ScheduleKind::flexible)
      complain("the warm-up is lean: only interleaved and flexible schedules have another one");
    if (plan_.micro_batch_group < 0 || (plan_.micro_batch_group > 0) != (plan_.schedule == ScheduleKind::flexible))
      complain("micro_batch_group is {}: a flexible schedule has a group of at least 1, and others have none", plan_.micro_batch_group);
  }

  void memory() {
    const ZeroPolicy& zero = plan_.memory.zero;
    if (plan_.recompute != Recompute::none && !plan_.memory.recomputed.modules.empty())
      complain("recompute is {}: modules are recomputed where it is none", recompute_names()[static_cast<std::size_t>(plan_.recompute)]);
    if (const auto why = wrong_weights(plan_.memory.weights, plan_.training.precision)) complain("{}", *why);
    if (plan_.training.fp8_recipe != Fp8Recipe::delayed && plan_.training.precision != Precision::fp8)
      complain("fp8_recipe is {}, and the precision is {}", fp8_recipe_names()[static_cast<std::size_t>(plan_.training.fp8_recipe)],
               to_text(plan_.training.precision));
    if (plan_.training.fp8_attention && !has_fp8_attention(plan_.training.precision))
      complain("fp8_attention is of fp8 and mxfp8, and the precision is {}", to_text(plan_.training.precision));
    if (plan_.training.bf16_layers != Bf16Layers{} && !casts_products(plan_.training.precision))
      complain("bf16_layers is of low precision, and the precision is {}", to_text(plan_.training.precision));
    if (plan_.memory.offload.blocks > 0 && !plan_.memory.offload.activations)
      complain("no activations are offloaded, of {} layers or of all", plan_.memory.offload.blocks);
    if (zero.groups < 1) complain("shard_groups is {}, it must be at least 1", zero.groups);
    else if (zero.groups > 1 && plan_.zero == 0) complain("without zero nothing is shared out in {} groups", zero.groups);
    else if (plan_.gpus % zero.groups != 0) complain("{} GPUs do not divide into {} groups that share out", plan_.gpus, zero.groups);
    if (zero.prefetch && (plan_.zero < 3 || *zero.prefetch < 0)) complain("prefetch is at least 0, and for zero 3 alone");
    if (zero.accumulates && plan_.zero < 2) complain("without zero 2 or 3 gradients are synchronised once per iteration in any case");
    if (zero.keeps_weights && plan_.zero < 3) complain("without zero 3 weights are kept after the forward pass in any case");
    if (!zero.blocks.empty() && plan_.zero == 0) complain("without zero nothing is shared out, of some blocks or of all");
    listed("zero_blocks", zero.blocks);
    const RecomputedParts& parts = plan_.memory.recomputed;
    if (!parts.only.empty() && parts.modules.empty() && plan_.recompute != Recompute::full)
      complain("recomputed_only lists blocks, and neither are they recomputed whole nor any modules of theirs");
    if (!parts.only.empty() && parts.blocks > 0) complain("recomputed_only lists blocks, and recomputed_blocks counts others");
    listed("recomputed_only", parts.only);
  }

  void listed(const char* key, const std::vector<int>& numbers) {
    if (std::ranges::adjacent_find(numbers, std::greater_equal()) != numbers.end())
      complain("{} is not in ascending order, each block once", key);
    const auto blocks = static_cast<int>(plan_.pcg.blocks().size());
    for (const int b : numbers)
      if (b < 0 || b >= blocks) complain("{} has block {}, which is not one of 0 .. {}", key, b, blocks - 1);
  }

  void views() {
    for (std::size_t n = 0; n < plan_.pcg.nodes().size(); ++n) {
      const PcgNode& node = plan_.pcg.nodes()[n];
      if (!node.computes()) {
        if (plan_.mapping[n] != MachineView{}) complain("{}: a view is given, though its data lie where they are used", node.name);
      } else if (auto v = violation(plan_.mapping[n], node.sharding, plan_.gpus)) {
        complain("{}: {}", node.name, *v);
      }
    }
  }

  // Stages never decrease along an edge: a pipeline passes activations forward only.
  void stages() {
    for (std::size_t n = 0; n < plan_.pcg.nodes().size(); ++n) {
      const PcgNode& node = plan_.pcg.nodes()[n];
      const int stage = plan_.stage[n];
      if (stage < 0 || stage >= plan_.stages) complain("{}: stage {} is not one of 0 .. {}", node.name, stage, plan_.stages - 1);
      for (TensorRef t : node.inputs)
        if (const int before = plan_.stage[t.node.value]; before > stage)
          complain("{}: stage {} reads {} of stage {}, which comes later", node.name, stage, plan_.pcg.node(t.node).name, before);
      if (node.parallel_operator() &&
          (std::holds_alternative<Pipeline>(*node.parallel_operator()) || std::holds_alternative<Batch>(*node.parallel_operator())))
        complain("{}: a plan says micro_batches and describes one of them, without pipeline and batch operators", node.name);
    }
  }

  void blocks() {
    int last = 0;
    for (const PcgNode& node : plan_.pcg.nodes()) {
      if (node.parallel_operator()) continue;
      if (node.block < last) complain("{}: block {} comes after block {}", node.name, node.block, last);
      last = std::max(last, node.block);
    }
  }

  // Requires: all else is sound.
  void pipeline() {
    const int ranks = ranks_of(plan_);
    if (plan_.schedule == ScheduleKind::interleaved && plan_.micro_batches % ranks != 0)
      complain("the interleaved schedule takes turns of {} micro-batches: {} are not a multiple", ranks, plan_.micro_batches);
    if (plan_.schedule == ScheduleKind::two_bw && plan_.micro_batches < ranks)
      complain("2bw wants at least as many micro-batches as stages: there are {} and {}", plan_.micro_batches, ranks);
    // A round that is shorter than the pipeline is deep would let ranks wait for each other.
    if (plan_.schedule == ScheduleKind::flexible && plan_.micro_batch_group < std::min(ranks, plan_.micro_batches))
      complain("groups of {} micro-batches do not fill {} stages", plan_.micro_batch_group, ranks);
    std::vector<int> operators(static_cast<std::size_t>(plan_.stages), 0);
    // A device belongs to one rank of the pipeline; its chunks are the virtual stages that are equal modulo the number of ranks.
    std::vector<int> rank_of(static_cast<std::size_t>(plan_.gpus), -1);
    for (std::size_t n = 0; n < plan_.pcg.nodes().size(); ++n) {
      const PcgNode& node = plan_.pcg.nodes()[n];
      if (!node.computes()) continue;
      ++operators[static_cast<std::size_t>(plan_.stage[n])];
      const int rank = pcg::rank_of(plan_, plan_.stage[n]);
      for (DeviceId d : devices_of(plan_.mapping[n], node.sharding)) {
        int& known = rank_of[d.value];
        if (known >= 0 && known != rank) {
          complain(
              "{}: device {} is in rank {} of the pipeline and in rank {}: stages have devices of their own, unless they are chunks of one",
              node.name, d.value, known, rank);
          return;
        }
        known = rank;
      }
    }
    for (std::size_t s = 0; s < operators.size(); ++s)
      if (operators[s] == 0) complain("stage {} has no operators", s);
  }

  // Inputs that hold samples hold those of one micro-batch.
  void batch() {
    for (const PcgNode& node : plan_.pcg.nodes()) {
      if (!node.is_input() || node.outputs[0].dims.empty()) continue;
      const std::int64_t samples = node.outputs[0].dims[0].size;
      if (samples * plan_.micro_batches != plan_.training.global_batch)
        complain("{}: {} samples in each of {} micro-batches are not the {} of global_batch", node.name, samples, plan_.micro_batches,
                 plan_.training.global_batch);
    }
  }

  const Plan& plan_;
  std::vector<std::string> problems_;
};

}  // namespace

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names{"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"};
  return names;
}
const std::vector<std::string>& fp8_recipe_names() {
  static const std::vector<std::string> names{"delayed", "current", "blockwise"};
  return names;
}
const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names{"sgd", "momentum", "adam", "muon"};
  return names;
}
const std::vector<std::string>& framework_names() {
  static const std::vector<std::string> names{"generic", "megatron", "megatron-core", "deepspeed", "pytorch"};
  return names;
}
const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names{"gpipe", "1f1b", "interleaved", "flexible", "breadth-first", "zb-h1", "dualpipe", "2bw"};
  return names;
}
const std::vector<std::string>& recompute_names() {
  static const std::vector<std::string> names{"none", "selective", "full"};
  return names;
}
const std::vector<std::string>& key_exchange_names() {
  static const std::vector<std::string> names{"gather", "ring"};
  return names;
}
const std::vector<std::string>& padded_names() {
  static const std::vector<std::string> names{"vocabulary", "places"};
  return names;
}
const std::vector<std::string>& dispatch_names() {
  static const std::vector<std::string> names{"nccl", "deepep", "hybridep", "allgather"};
  return names;
}
const std::vector<std::string>& between_stages_names() {
  static const std::vector<std::string> names{"local-all-gather", "send-recv", "signal"};
  return names;
}

bool merges_passes(const Plan& plan) { return plan.overlap.experts.value_or(plan.schedule == ScheduleKind::dual_pipe); }

std::vector<std::string> violations(const Plan& plan) { return Checker(plan).run(); }

bool Plan::operator==(const Plan& o) const {
  return name == o.name && base::emit_yaml(model) == base::emit_yaml(o.model) && padding == o.padding && training == o.training &&
         gpus == o.gpus && pcg == o.pcg && mapping == o.mapping && stage == o.stage && stages == o.stages && chunks == o.chunks &&
         schedule == o.schedule && micro_batches == o.micro_batches && micro_batch_group == o.micro_batch_group &&
         lean_warm_up == o.lean_warm_up && key_exchange == o.key_exchange && recompute == o.recompute && zero == o.zero &&
         overlap == o.overlap && memory == o.memory && dispatch == o.dispatch && between_stages == o.between_stages &&
         cuda_graphs == o.cuda_graphs && graphed == o.graphed && summary == o.summary && rewrites == o.rewrites;
}

}  // namespace pcg
