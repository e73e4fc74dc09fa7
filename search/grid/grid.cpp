#include "search/grid/grid.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/schedules/schedule.hpp"

namespace search {
namespace {

constexpr std::int64_t kMostMicroBatches = 1 << 20;  // of a replica: a schedule lists them all, and nothing trains with nearly as many

// Each step fills in its part of the grid, or says why it cannot.
using Refused = std::optional<Refusal>;

Refused resolve_data(Grid& g, const GridConfig& c, int devices) {
  // In 64 bits: the product of three degrees that a user writes may not fit into 32.
  const std::int64_t others = static_cast<std::int64_t>(c.tensor) * c.pipeline * c.context;
  if (c.data == 0 && devices % others != 0)
    return refuse(Constraint::devices, "{} devices do not divide by tensor {} x pipeline {} x context {}", devices, c.tensor, c.pipeline,
                  c.context);
  if (c.data > 0 && others * c.data != devices)
    return refuse(Constraint::devices, "tensor {} x pipeline {} x context {} x data {} is {}, and the cluster has {} devices", c.tensor,
                  c.pipeline, c.context, c.data, others * c.data, devices);
  g.data = c.data > 0 ? c.data : static_cast<int>(devices / others);
  g.data *= g.directions;
  return std::nullopt;
}

Refused resolve_expert_tensor(Grid& g, const GridConfig& c) {
  g.expert_tensor = c.expert_tensor > 0 ? c.expert_tensor : c.tensor;
  if (g.tensor % g.expert_tensor != 0)
    return refuse(Constraint::experts, "expert_tensor {} does not divide tensor {}", g.expert_tensor, g.tensor);
  if (g.expert_tensor < g.tensor && !g.sequence_parallel)
    return refuse(Constraint::experts,
                  "expert_tensor {} below tensor {} needs sequence_parallel, so that each tensor rank has tokens of its own",
                  g.expert_tensor, g.tensor);
  return std::nullopt;
}

// Experts take what they can of the tensor ranks that do not cut them, then of context, then the inner part of data: expert groups stay as
// near as possible.
Refused split_into_axes(Grid& g) {
  const int from_tensor = std::gcd(g.expert, g.tensor / g.expert_tensor), others = g.expert / from_tensor;
  const int from_context = std::gcd(others, g.context);
  const int from_data = others / from_context;
  if (g.context % g.context_all_to_all != 0)
    return refuse(Constraint::sequence, "context_all_to_all {} does not divide context {}", g.context_all_to_all, g.context);
  const auto [inner, middle] = std::minmax(from_context, g.context_all_to_all);
  if (middle % inner != 0)
    return refuse(Constraint::experts, "experts take {} neighbours of context and all-to-alls {}: one of them has to divide the other",
                  from_context, g.context_all_to_all);
  if (g.data / g.directions % from_data != 0)
    return refuse(Constraint::experts, "expert {} does not divide data {} x context {}{}", g.expert, g.data / g.directions, g.context,
                  g.expert_tensor < g.tensor ? fmt::format(" x tensor {} / expert_tensor {}", g.tensor, g.expert_tensor) : "");
  const int sizes[kMeshAxes] = {g.data / from_data, from_data,      g.context / middle,
                                middle / inner,     inner,          g.tensor / g.expert_tensor / from_tensor,
                                from_tensor,        g.expert_tensor};
  std::ranges::copy(sizes, g.sizes);
  return std::nullopt;
}

Refused resolve_batches(Grid& g, const GridConfig& c, std::int64_t global_batch) {
  if (global_batch % g.data != 0)
    return refuse(Constraint::batch, "a global batch of {} does not divide among {} data-parallel replicas{}", global_batch,
                  g.data / g.directions, g.directions == 2 ? " of two directions" : "");
  const std::int64_t replica = global_batch / g.data;
  // A pipeline wants many micro-batches to fill it; without one, one is best.
  g.micro_batch = c.micro_batch > 0 ? c.micro_batch : c.pipeline > 1 ? 1 : replica;
  if (replica % g.micro_batch != 0)
    return refuse(Constraint::batch,
                  "a global batch of {} gives each of {} replicas {} samples, which do not divide into micro-batches of {}", global_batch,
                  g.data, replica, g.micro_batch);
  if (replica / g.micro_batch > kMostMicroBatches)
    return refuse(Constraint::batch, "{} samples of a replica in micro-batches of {} are {} micro-batches, more than {}", replica,
                  g.micro_batch, replica / g.micro_batch, kMostMicroBatches);
  g.micro_batches = static_cast<int>(replica / g.micro_batch);
  return std::nullopt;
}

Refused check_chunks(const Grid& g, pcg::ScheduleKind kind) {
  if (g.chunks > 1 && g.pipeline == 1) return refuse(Constraint::schedule, "{} chunks need a pipeline of at least 2 stages", g.chunks);
  if (kind == pcg::ScheduleKind::flexible && g.micro_batch_group < std::min(g.pipeline, g.micro_batches))
    return refuse(Constraint::schedule, "groups of {} micro-batches do not fill {} stages", g.micro_batch_group, g.pipeline);
  if (kind == pcg::ScheduleKind::two_bw && g.micro_batches < g.pipeline)
    return refuse(Constraint::schedule, "2bw wants at least as many micro-batches as stages: there are {} and {}", g.micro_batches,
                  g.pipeline);
  if (kind == pcg::ScheduleKind::interleaved && g.chunks > 1 && g.micro_batches % g.pipeline != 0)
    return refuse(
        Constraint::schedule,
        "the interleaved schedule needs micro-batches in multiples of pipeline {}, there are {}: schedule flexible runs any number",
        g.pipeline, g.micro_batches);
  return std::nullopt;
}

// Each kind of weight has as many groups: experts' are smaller, because fewer devices hold an expert.
Refused split_for_sharding(Grid& g, int shard) {
  const int holders = g.data * g.context;
  if (shard == 0) return std::nullopt;
  if (holders % shard != 0)
    return refuse(Constraint::devices, "the {} devices of data and context do not divide into groups of {} that shard", holders, shard);
  g.shard_groups = holders / shard;
  // Experts take of tensor ranks, too.
  const int of_expert = holders * (g.tensor / g.expert_tensor) / g.expert;
  if (of_expert % g.shard_groups != 0)
    return refuse(Constraint::experts, "the {} devices that hold an expert do not divide into {} groups that shard", of_expert,
                  g.shard_groups);
  return std::nullopt;
}

Refused check_merging(const Grid& g, const GridConfig& c) {
  if (c.overlap.experts != true) return std::nullopt;
  const auto kind = g.chunks == 1 && c.schedule == pcg::ScheduleKind::interleaved ? pcg::ScheduleKind::one_f_one_b : c.schedule;
  const int ranks = g.pipeline / g.directions, chunks = g.chunks * g.directions;
  if (sim::merges_something({kind, ranks, chunks, g.micro_batches, true, g.micro_batch_group})) return std::nullopt;
  return refuse(
      Constraint::schedule,
      "overlap experts merges forward passes with backward passes of other micro-batches: there is none to merge among {} micro-batch{}",
      g.micro_batches, g.micro_batches == 1 ? "" : "es");
}

// ", recompute norm and mlp in 4 layers of a stage"; empty: nothing is recomputed.
std::string recomputation(pcg::Recompute word, const pcg::RecomputedParts& parts) {
  if (word == pcg::Recompute::selective) return ", recompute selective";
  std::string what = word == pcg::Recompute::full ? "full" : "";
  for (const pcg::Module m : parts.modules) what += fmt::format("{}{}", what.empty() ? "" : " and ", pcg::name_of(m));
  if (what.empty()) return {};
  return parts.blocks == 0 ? ", recompute " + what : fmt::format(", recompute {} in {} layers of a stage", what, parts.blocks);
}

// Context parallelism other than a ring: "gather", "ulysses", "ring, all-to-all 4".
std::string exchange(const Grid& g, const GridConfig& c) {
  if (g.context == g.context_all_to_all) return g.context > 1 ? "ulysses" : "";
  const std::string kind = c.context_kind == ContextKind::gather ? "gather" : "ring";
  return g.context_all_to_all > 1 ? fmt::format("{}, all-to-all {}", kind, g.context_all_to_all) : kind == "ring" ? "" : kind;
}

// ", zero 3 in groups of 8, 2 blocks ahead".
std::string sharing_text(const Grid& g, const GridConfig& c) {
  if (c.zero == 0) return {};
  std::string text = fmt::format(", zero {}", c.zero);
  if (g.shard_groups > 1) text += fmt::format(" in groups of {}", c.shard);
  if (c.memory.zero.prefetch) text += fmt::format(", gathered {} blocks ahead", *c.memory.zero.prefetch);
  if (c.memory.zero.accumulates) text += ", gradients accumulated whole";
  if (c.memory.zero.keeps_weights) text += ", weights kept after the forward pass";
  return text;
}

}  // namespace

int Grid::stride(MeshAxis a) const {
  int s = 1;
  for (std::size_t i = static_cast<std::size_t>(a) + 1; i < kMeshAxes; ++i) s *= sizes[i];
  return s;
}

int Grid::degree(std::span<const MeshAxis> axes) const {
  int d = 1;
  for (MeshAxis a : axes) d *= size(a);
  return d;
}

Attempt<Grid> make_grid(const GridConfig& c, int devices, std::int64_t global_batch) {
  Grid g;
  g.tensor = c.tensor;
  g.pipeline = c.pipeline;
  g.context = c.context;
  g.expert = c.expert;
  g.chunks = c.chunks;
  g.sequence_parallel = c.sequence_parallel;
  g.context_all_to_all = c.context_kind == ContextKind::ulysses ? c.context : c.context_all_to_all;
  if (c.schedule == pcg::ScheduleKind::dual_pipe) {
    if (c.pipeline % 2 != 0) return refuse(Constraint::schedule, "dualpipe pairs stages: pipeline {} is not even", c.pipeline);
    g.directions = 2;
  }
  if (auto refused = resolve_data(g, c, devices)) return *refused;
  if (auto refused = resolve_expert_tensor(g, c)) return *refused;
  if (auto refused = split_into_axes(g)) return *refused;
  if (auto refused = split_for_sharding(g, c.shard)) return *refused;
  if (auto refused = resolve_batches(g, c, global_batch)) return *refused;
  // Llama 3 runs as many in a row as there are stages, by default.
  if (c.schedule == pcg::ScheduleKind::flexible) g.micro_batch_group = c.micro_batch_group > 0 ? c.micro_batch_group : g.pipeline;
  if (auto refused = check_chunks(g, c.schedule)) return *refused;
  if (auto refused = check_merging(g, c)) return *refused;
  return g;
}

std::string summary(const Grid& g, const GridConfig& c) {
  std::string text;
  const auto part = [&](const char* name, int degree) {
    if (degree > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, degree);
  };
  part("data", g.data / g.directions);
  part("context", g.context);
  if (const std::string kind = exchange(g, c); !kind.empty()) text += " (" + kind + ")";
  part("tensor", g.tensor);
  part("pipeline", g.pipeline);
  part("expert", g.expert);
  if (g.expert_tensor < g.tensor) text += fmt::format(" (tensor {})", g.expert_tensor);
  if (text.empty()) text = "one device";
  if (c.dispatch != pcg::Dispatch::all_to_all) text += " by " + pcg::name_of(c.dispatch);
  if (g.chunks > 1) text += fmt::format(", {} chunks", g.chunks);
  if (g.micro_batches * g.directions > 1) text += fmt::format(", {} micro-batches of {}", g.micro_batches * g.directions, g.micro_batch);
  const bool usual = c.schedule == pcg::ScheduleKind::one_f_one_b || c.schedule == pcg::ScheduleKind::interleaved;
  if (g.pipeline > 1 && !usual) text += ", " + pcg::name_of(c.schedule);
  if (g.micro_batch_group > 0) text += fmt::format(" in groups of {}", g.micro_batch_group);
  if (c.lean_warm_up) text += ", lean warm-up";
  if (c.sequence_parallel && g.tensor > 1) text += ", sequence parallel";
  text += recomputation(c.recompute, c.memory.recomputed);
  text += sharing_text(g, c);
  if (c.memory.weights != pcg::WeightStorage::bf16) text += fmt::format(", weights in {}", pcg::name_of(c.memory.weights));
  if (c.memory.bf16_moments) text += ", moments in bf16";
  if (c.memory.fp8_activation_inputs) text += ", activation inputs in fp8";
  if (const pcg::Offload& o = c.memory.offload; o.activations || o.optimizer)
    text += fmt::format(", {}{}{}{} offloaded", o.activations ? "activations" : "",
                        o.blocks > 0 ? fmt::format(" of {} layer{}", o.blocks, o.blocks > 1 ? "s" : "") : "",
                        o.activations && o.optimizer ? " and " : "", o.optimizer ? "optimizer" : "");
  if (c.cuda_graphs || c.graphed != pcg::GraphedParts{}) text += c.cuda_graphs ? ", CUDA graphs" : ", CUDA graphs of parts";
  return text;
}

}  // namespace search
