#pragma once
// Steps of a local search through Megatron's grid.

#include <cstdint>
#include <vector>

#include "search/grid/grid.hpp"
#include "search/problem/problem.hpp"

namespace search {

// More chunks than these are tried only where they divide a stage's layers: Megatron-LM's interleaved schedule is reported with few virtual
// stages per device (arXiv 2104.04473, sections 2.2 and 5.4.2).
inline constexpr std::int64_t kFewChunks = 8;

// What steps need to know besides the configuration.
struct MoveScope {
  pcg::Framework framework = pcg::Framework::generic;
  pcg::Precision precision = pcg::Precision::bf16;
  int domain_devices = 8;  // GPUs that reach each other without the network
  std::int64_t batch = 1, layers = 1, experts = 1;
  bool has_sequence = true;
};
[[nodiscard]] MoveScope move_scope(const Problem& problem);

// Numbers of chunks that a pipeline of a grid may have: 1 to kFewChunks, and divisors of a stage's layers. Ascending.
[[nodiscard]] std::vector<int> chunks_of(const GridConfig& config, const MoveScope& scope);

// The ways in which a point of the grid may exchange, as far as the framework can. Parts of a sequence overlapped with products. Tokens by
// the library that moves least, in sequence and, where there are kernels to overlap that with, overlapped.
[[nodiscard]] std::vector<GridConfig> exchanges(GridConfig config, const MoveScope& scope);

// Points of the grid next to one: a prime factor goes from one degree to another, or experts, micro-batch or chunks take the next larger or
// smaller value, or stages are balanced, or a sequence is shared out among tensor ranks, or not. What then does not divide is made smaller;
// choices that lose their meaning are undone.
[[nodiscard]] std::vector<GridConfig> neighbours(const GridConfig& config, const MoveScope& scope);

// The choices that a configuration leaves open and the framework has: how ranks of context exchange keys, by which library tokens go to
// their experts and how many tensor ranks share one, the schedule of a pipeline, which layers are recomputed where all are, groups that
// shard for themselves, weights kept in fp8, and what overlaps with the kernels. Each differs from `config` in that choice alone.
// PipeDream-2BW and moments in bf16 are none of them, as they train otherwise. Neither are offloading and an early backward pass, which
// save memory and cost time; nor CUDA graphs, whose buffers are not counted.
[[nodiscard]] std::vector<GridConfig> other_choices(const GridConfig& config, const MoveScope& scope);

}  // namespace search
