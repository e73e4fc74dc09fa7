#pragma once
// A grid of devices as Megatron-LM lays it out: pipeline outermost, then data, then context, tensor innermost (arXiv 2104.04473,
// section 3). Expert parallelism takes the inner part of data and context, and of tensor what does not cut the experts themselves (MoE
// parallel folding, Liu et al., arXiv 2504.14960).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "search/problem/refusal.hpp"

namespace search {

// Axes of one pipeline group, outermost first. Of data, experts take the inner part. Of context, experts take some of the inner ranks, and
// so do all-to-alls of heads: the one takes context_inner, the other context_middle as well. Of tensor, tensor_inner cuts each expert,
// tensor_middle shares them out, and ranks of tensor_outer have the same ones.
enum class MeshAxis { data_outer, data_inner, context_outer, context_middle, context_inner, tensor_outer, tensor_middle, tensor_inner };
constexpr std::size_t kMeshAxes = 8;

// How ranks of context parallelism come by the keys and values of the others: as pcg::KeyExchange says, or by all-to-alls, which give
// each rank all positions of some heads (DeepSpeed-Ulysses, Jacobs et al., arXiv 2309.14509).
enum class ContextKind { ring, gather, ulysses };

// A grid as a user writes it. Zero means: not given. `data` then is what is left of the devices; micro_batch then is the largest that
// leaves one micro-batch when pipeline is 1, else 1.
struct GridConfig {
  int tensor = 1, pipeline = 1, data = 0, context = 1, expert = 1, chunks = 1;
  int expert_tensor = 0;         // tensor ranks that share each expert; not given: all of them, as Megatron-Core's
  std::int64_t micro_batch = 0;  // samples per replica per micro-batch
  pcg::ScheduleKind schedule = pcg::ScheduleKind::one_f_one_b;
  int micro_batch_group = 0;  // flexible: pcg::Plan::micro_batch_group
  bool lean_warm_up = false;  // interleaved, flexible
  bool sequence_parallel = false;
  ContextKind context_kind = ContextKind::ring;  // Megatron-Core's cp_comm_type is p2p by default
  int context_all_to_all = 1;                    // neighbours of context that exchange heads; of `ulysses`: all
  pcg::Recompute recompute = pcg::Recompute::none;
  int zero = 0;
  int shard = 0;             // devices of a group that shares out what `zero` says; 0: all that hold a weight
  pcg::MemoryPolicy memory;  // its groups of ZeRO are those that `shard` makes; ZeRO is for all blocks
  bool cuda_graphs = false;
  pcg::GraphedParts graphed;
  pcg::Overlap overlap;
  pcg::Dispatch dispatch = pcg::Dispatch::all_to_all;
  std::vector<int> layers_per_stage;  // by virtual stage; empty: not given
  // Layers are shared out by what they cost, even where they divide equally; where they do not, they are anyway, unless they are listed.
  bool balanced_stages = false;
  bool operator==(const GridConfig&) const = default;
};

struct Grid {
  int tensor = 1, pipeline = 1, data = 1, context = 1, expert = 1, chunks = 1;
  // DualPipe: 2. The outer half of data then runs through the pipeline from its end, on copies of the weights.
  int directions = 1;
  int expert_tensor = 1;
  int sizes[kMeshAxes] = {1, 1, 1, 1, 1, 1, 1, 1};  // by MeshAxis
  std::int64_t micro_batch = 1;                     // samples of one replica
  int micro_batches = 1;                            // of each direction
  int micro_batch_group = 0;
  bool sequence_parallel = false;
  int context_all_to_all = 1;  // inner ranks of context among which heads are exchanged for positions
  int shard_groups = 1;        // pcg::ZeroPolicy::groups

  [[nodiscard]] int size(MeshAxis a) const { return sizes[static_cast<std::size_t>(a)]; }
  [[nodiscard]] int stride(MeshAxis a) const;  // in devices
  // Ranks that share the positions of a sequence.
  [[nodiscard]] int sequence_parts() const { return context * (sequence_parallel ? tensor : 1); }
  [[nodiscard]] int group_devices() const { return data * context * tensor / directions; }  // of one place in the pipeline
  [[nodiscard]] int degree(std::span<const MeshAxis> axes) const;                           // product of sizes
};

// The grid with everything filled in.
// Refuses when devices, batch or degrees do not come out even, and more than a million micro-batches.
[[nodiscard]] Attempt<Grid> make_grid(const GridConfig& config, int devices, std::int64_t global_batch);

// "data 12 x tensor 2, 8 micro-batches of 1, recompute full, zero 1".
[[nodiscard]] std::string summary(const Grid& grid, const GridConfig& config);

}  // namespace search
