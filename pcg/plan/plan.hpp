#pragma once
// A plan: how one training iteration runs. A PCG for one micro-batch, the devices of every operator, pipeline stages with their
// schedule, and a memory policy. Every planner returns this value; the simulator needs nothing else from a planner.
// Start here: Plan, whose parts are TrainingConfig, the PCG (pcg/graph/pcg.hpp), a MachineView per node (mapping.hpp) and the choices of
// choices.hpp; violations() checks a plan. plan_text.hpp reads and writes its file, low_precision.hpp has the formats of operands,
// recomputed_units.hpp the nodes that a backward pass computes again.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "pcg/graph/pcg.hpp"
#include "pcg/plan/choices.hpp"
#include "pcg/plan/mapping.hpp"

namespace pcg {

// Muon (Jordan et al., 2024; Liu et al., arXiv 2502.16982) updates the matrices of layers, Adam all other weights then.
enum class Optimizer { sgd, momentum, adam, muon };
// The order in which pipeline stages run their micro-batches (sim/schedules/schedule.hpp).
enum class ScheduleKind { gpipe, one_f_one_b, interleaved, flexible, breadth_first, zero_bubble, dual_pipe, two_bw };
// How the ranks that share the positions of a sequence come by the keys and values of the others, where attention is cut by positions.
// gather: an all-gather before its kernels. ring: the block of each rank goes round, and is met while the next one comes in (Ring
// Attention, Liu et al., arXiv 2310.01889); where attention has a window, keys are gathered all the same.
enum class KeyExchange { gather, ring };
// How tokens come to their experts and back. all_to_all ("nccl" in files): a copy for each expert. forwarded ("deepep": DeepSeek's DeepEP):
// a token crosses the network once for each NVLink domain that it reaches, and goes on there once to each rank. forwarded_sorted
// ("hybridep": NVIDIA's HybridEP): likewise, and the exchange brings tokens into the order of their experts, for which ranks gather a map
// of all routes first. all_gather ("allgather"): all ranks that share experts out gather all tokens of each other, take those of their
// experts, and reduce-scatter what these make (Megatron-Core's default, megatron/core/transformer/moe/token_dispatcher.py).
enum class Dispatch { all_to_all, forwarded, forwarded_sorted, all_gather };
// How a tensor goes from one rank of the pipeline to another, forward and backward (cross-mesh resharding: Zheng et al., "Alpa", OSDI'22,
// sections 6 and 8.5). local_all_gather: copies of one block that are wanted in a node share it out, each share comes over the network
// once, and they gather it. send_recv: every device is sent all that it wants. signal: one byte for each of those messages, which says
// what an iteration would take if the network between stages were infinitely fast; not a way to train. Gradients of weights that two
// stages hold are added up as ever.
enum class BetweenStages { local_all_gather, send_recv, signal };
enum class Recompute { none, selective, full };  // selective: attention scores (Korthikanti); full: every block from its inputs
// The framework that runs the plan: how it buckets, overlaps and launches (profiles/framework_profile.hpp).
enum class Framework { generic, megatron, megatron_core, deepspeed, pytorch };

// How fp8 scales what it casts (Transformer Engine, docs/features/low_precision_training). delayed: one scale for a tensor, from the
// largest values of the iterations before. current: one from its own largest value, which a pass finds first. blockwise: one for 128
// numbers, or for 128 x 128 of a weight.
enum class Fp8Scaling { delayed, current, blockwise };

// Layers that multiply in bf16 although others do in low precision: the first and the last ones (Megatron-LM's
// --first-last-layers-bf16), and modules of multi-token prediction (Megatron-Core's keep_mtp_spec_in_bf16).
struct Bf16Layers {
  int first = 0, last = 0;
  bool mtp = false;
  bool operator==(const Bf16Layers&) const = default;
};

struct TrainingConfig {
  std::int64_t global_batch = 1;  // samples per iteration
  Precision precision = Precision::fp32;
  Fp8Scaling fp8_recipe = Fp8Scaling::delayed;  // with fp8
  bool fp8_attention = false;                   // fused attention multiplies in the precision, too; with fp8 and mxfp8
  Bf16Layers bf16_layers;                       // with low precision
  Optimizer optimizer = Optimizer::sgd;
  Framework framework = Framework::generic;
  bool fp32_gradients = false;   // accumulate gradients in fp32 although training in half precision (4 instead of 2 B/parameter)
  bool clip_gradients = false;   // by the norm of all of them, before the update
  bool constant_tokens = false;  // every token of the batch is the same one, as in synthetic data of zeros: products draw less power
  bool operator==(const TrainingConfig&) const = default;
};

// A size that the plan rounded up so that it divides: a vocabulary, as Megatron pads it, or the places of a sample at each expert
// (MoeDispatch), of which each rank that shares the sequence has its own. The plan is compared with the model padded alike.
enum class Padded { vocabulary, expert_capacity };
struct Padding {
  std::int64_t from = 0, to = 0;
  Padded of = Padded::vocabulary;
  auto operator<=>(const Padding&) const = default;
};

// A substitution that made part of the plan's graph from the model's.
struct Rewrite {
  std::string rule;
  std::string up_to;  // the operator of the model that ends the part which was rewritten
  // The time of the whole part by the search's estimate of its operators alone, before the substitution and after it.
  base::Seconds before, after;
  bool operator==(const Rewrite&) const = default;
};

struct Plan {
  std::string name;
  base::Yaml model;  // the `model:` section that the plan was made for, so that it can be checked alone
  std::vector<Padding> padding;
  TrainingConfig training;
  int gpus = 1;                      // devices that the mapping may use: 0 .. gpus-1
  Pcg pcg;                           // one micro-batch
  std::vector<MachineView> mapping;  // one per node; unused (empty) for sources and parallel operators: data lie where they are used
  std::vector<int>
      stage;       // one per node: virtual stage 0 .. stages-1 (sources: that of their first consumer), never decreasing along an edge
  int stages = 1;  // virtual stages; `chunks` of them on each rank of the pipeline (rank_of)
  int chunks = 1;
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  int micro_batches = 1;      // of an iteration; of each direction, for DualPipe
  int micro_batch_group = 0;  // flexible: this many micro-batches in a row, or a few more, go through a chunk; else 0
  bool lean_warm_up = false;  // interleaved, flexible: each rank warms up with ranks - rank - 1 passes less, and keeps as many less
  KeyExchange key_exchange = KeyExchange::gather;
  Recompute recompute = Recompute::none;
  int zero = 0;  // 0: none; 1: optimizer state; 2: and gradients; 3: and weights sharded over the copies of each weight
  MemoryPolicy memory;
  Overlap overlap;
  Dispatch dispatch = Dispatch::all_to_all;
  BetweenStages between_stages = BetweenStages::local_all_gather;
  bool cuda_graphs = false;       // hosts launch whole graphs of kernels and collectives, which takes them no time
  GraphedParts graphed;           // parts of each layer alone
  std::string summary;            // "data 12 x tensor 2", for people
  std::vector<Rewrite> rewrites;  // part by part, in the order in which they were applied

  bool operator==(const Plan& o) const;  // the model section is compared as text
};

// Whether forward passes are merged with backward passes of other micro-batches: as the plan says; DualPipe's are.
[[nodiscard]] bool merges_passes(const Plan& plan);

// Whether there are kernels of attention that multiply in the precision.
[[nodiscard]] constexpr bool has_fp8_attention(Precision p) { return p == Precision::fp8 || p == Precision::mxfp8; }

// The names of a choice's values in files and on the command line, in the order of the enum: "1f1b", "adam", ...
constexpr auto words(Fp8Scaling) { return std::to_array<std::string_view>({"delayed", "current", "blockwise"}); }
constexpr auto words(Optimizer) { return std::to_array<std::string_view>({"sgd", "momentum", "adam", "muon"}); }
constexpr auto words(Framework) {
  return std::to_array<std::string_view>({"generic", "megatron", "megatron-core", "deepspeed", "pytorch"});
}
constexpr auto words(ScheduleKind) {
  return std::to_array<std::string_view>({"gpipe", "1f1b", "interleaved", "flexible", "breadth-first", "zb-h1", "dualpipe", "2bw"});
}
constexpr auto words(Recompute) { return std::to_array<std::string_view>({"none", "selective", "full"}); }
constexpr auto words(KeyExchange) { return std::to_array<std::string_view>({"gather", "ring"}); }
constexpr auto words(Padded) { return std::to_array<std::string_view>({"vocabulary", "expert_capacity"}); }
constexpr auto words(Dispatch) { return std::to_array<std::string_view>({"nccl", "deepep", "hybridep", "allgather"}); }
constexpr auto words(BetweenStages) { return std::to_array<std::string_view>({"local-all-gather", "send-recv", "signal"}); }
constexpr auto words(Module) {
  return std::to_array<std::string_view>({"attention", "norm", "mlp", "moe", "activation", "mla_up", "shared"});
}
constexpr auto words(WeightStorage) { return std::to_array<std::string_view>({"bf16", "fp8", "fp8_transposed", "mxfp8", "nvfp4"}); }
template <class Enum>
[[nodiscard]] const std::vector<std::string>& names() {
  constexpr auto all = words(Enum{});
  static const std::vector<std::string> names(all.begin(), all.end());
  return names;
}
template <class Enum>
[[nodiscard]] const std::string& name_of(Enum e) {
  return names<Enum>()[static_cast<std::size_t>(e)];
}
// Returns nullopt where no value has the name.
template <class Enum>
[[nodiscard]] std::optional<Enum> named(std::string_view name) {
  const auto at = std::ranges::find(names<Enum>(), name);
  return at == names<Enum>().end() ? std::nullopt : std::optional(static_cast<Enum>(at - names<Enum>().begin()));
}

// Returns the faults of the values together, one sentence each: views out of range, stages or blocks that go backwards, counts that do not
// match; those of the pipeline (devices of two ranks, empty stages) only where there are no others. Empty: the plan is sound.
[[nodiscard]] std::vector<std::string> violations(const Plan& plan);

// Ranks of a pipeline are groups of devices that run their virtual stages in one order.
// Rank r of n has the stages r, r + n, r + 2n, ...; DualPipe's has r and 2n - 1 - r, and is a pair of places in the pipeline: each of the
// two runs the one stage for micro-batches of one direction and the other stage for those of the other.
[[nodiscard]] constexpr int rank_of(ScheduleKind kind, int ranks, int stage) {
  return kind == ScheduleKind::dual_pipe && stage >= ranks ? 2 * ranks - 1 - stage : stage % ranks;
}
[[nodiscard]] constexpr int stage_of(ScheduleKind kind, int ranks, int rank, int chunk) {
  return kind == ScheduleKind::dual_pipe && chunk == 1 ? 2 * ranks - 1 - rank : chunk * ranks + rank;
}

[[nodiscard]] inline int ranks_of(const Plan& plan) { return plan.stages / plan.chunks; }
[[nodiscard]] inline int rank_of(const Plan& plan, int stage) { return rank_of(plan.schedule, ranks_of(plan), stage); }

}  // namespace pcg
