#pragma once
// Options that planners on a grid share.

#include <optional>
#include <string>
#include <vector>

#include "pcg/plan/plan.hpp"
#include "search/problem/option_values.hpp"

namespace search {

// `recompute`: none, selective or full; the index of the word is the value of pcg::Recompute.
[[nodiscard]] Option recompute_option();
// `micro_batch`: 0 stands for "not given". `otherwise`: what is taken then, `help`: what is counted.
[[nodiscard]] Option micro_batch_option(std::string help, std::string otherwise);
// `overlap`: a map with these words of pcg::kOverlapWords.
[[nodiscard]] Option overlap_option(std::vector<std::string> words);
[[nodiscard]] pcg::Overlap overlap_of(const OptionValues& options);
// What `overlap` asks of a plan of this ZeRO stage, and cannot have.
[[nodiscard]] std::optional<OptionProblem> wrong_overlap(const OptionValues& options, int zero);

}  // namespace search
