#pragma once
// Options that planners on a grid share.

#include <optional>
#include <string>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "search/grid/grid.hpp"
#include "search/problem/options.hpp"

namespace search {

// `recompute`: none, selective or full, or parts of a model.
[[nodiscard]] Option recompute_option();
// `moments`: what Adam's and momentum's moments are kept in.
[[nodiscard]] Option moments_option();
// `activation_inputs`: what activation functions read is kept in.
[[nodiscard]] Option activation_inputs_option();
// `weights`: what fp8 training keeps weights in.
[[nodiscard]] Option weights_option();
[[nodiscard]] Option cuda_graphs_option();
[[nodiscard]] Option graphed_option();
// `offload`: what lies in the hosts' memory; `offload_blocks`: activations of how many layers.
[[nodiscard]] Option offload_option();
[[nodiscard]] Option offload_blocks_option();
// A contradiction in them, if there is one.
[[nodiscard]] std::optional<OptionProblem> wrong_offload(const pcg::Offload& offload);
// Sets recompute, memory, cuda_graphs and graphed of `config` by these options.
void take_memory_options(const OptionValues& options, GridConfig& config);
// More than the devices of any cluster and the layers of any stage; products of a few degrees stay within 64 bits.
inline constexpr std::int64_t kLargestDegree = 1 << 24;
[[nodiscard]] Option degree_option(std::string key, int by_default, std::string help, std::string otherwise = {});
// `shard`: hybrid sharding. Sets `shard` of a configuration.
[[nodiscard]] Option shard_option();
void take_shard_option(const OptionValues& options, GridConfig& config);
// `micro_batch`: 0 means "not given". `otherwise`: the value then, `help`: what is counted.
[[nodiscard]] Option micro_batch_option(std::string help, std::string otherwise);
// `overlap`: a map with these words of pcg::kOverlapWords.
[[nodiscard]] Option overlap_option(std::vector<std::string> words);
[[nodiscard]] pcg::Overlap overlap_of(const OptionValues& options);
// A part of `overlap` that a plan of this ZeRO stage cannot have.
[[nodiscard]] std::optional<OptionProblem> wrong_overlap(const OptionValues& options, int zero);

}  // namespace search
