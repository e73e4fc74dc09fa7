#pragma once
// Options that planners on a grid share.

#include <optional>
#include <string>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "search/grid/grid.hpp"
#include "search/problem/options.hpp"

namespace search {

// What is recomputed, kept and offloaded: recompute, moments, activation_inputs, weights, cuda_graphs, graphed, offload, offload_blocks.
[[nodiscard]] std::vector<Option> memory_options();
// A contradiction of the last two, if there is one.
[[nodiscard]] std::optional<OptionProblem> wrong_offload(const pcg::Offload& offload);
// Sets recompute, memory, cuda_graphs and graphed of `config` by these options.
void take_memory_options(const OptionValues& options, GridConfig& config);
// More than the devices of any cluster and the layers of any stage; products of a few degrees stay within 64 bits.
inline constexpr std::int64_t kLargestDegree = 1 << 24;
[[nodiscard]] Option degree_option(std::string key, int by_default, std::string help, std::string otherwise = {});
// `shard`: hybrid sharding; 0 means "not given".
[[nodiscard]] Option shard_option();
// `micro_batch`: 0 means "not given". `otherwise`: the value then.
[[nodiscard]] Option micro_batch_option(std::string otherwise);
// `overlap`: a map with these words of pcg::kOverlapWords.
[[nodiscard]] Option overlap_option(std::vector<std::string> words);
[[nodiscard]] pcg::Overlap overlap_of(const OptionValues& options);
// A part of `overlap` that a plan of this ZeRO stage cannot have.
[[nodiscard]] std::optional<OptionProblem> wrong_overlap(const OptionValues& options, int zero);

}  // namespace search
