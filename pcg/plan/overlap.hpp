#pragma once
// What a plan says of running its communication beside its computation. What it leaves unsaid is as the framework does it
// (profiles/framework_profile.hpp).

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace pcg {

struct Overlap {
  std::optional<bool> gradients;   // they are synchronised beside the backward pass
  std::optional<bool> parameters;  // weights updated in shards (ZeRO-1 and -2) are gathered beside the next forward pass
  std::optional<bool> tensor;      // gathers before a product and reductions behind it run beside the product, piece by piece
  // Tokens travel to and from their experts beside the kernels of another micro-batch: forward passes are merged with backward passes
  // (sim/schedules/schedule.hpp).
  std::optional<bool> experts;
  bool operator==(const Overlap&) const = default;
};

// Its words in files and summaries.
struct OverlapWord {
  std::string_view word;
  std::optional<bool> Overlap::*choice;
};
inline constexpr std::array<OverlapWord, 4> kOverlapWords = {{{"gradients", &Overlap::gradients},
                                                              {"parameters", &Overlap::parameters},
                                                              {"tensor", &Overlap::tensor},
                                                              {"experts", &Overlap::experts}}};

// "overlap gradients, parameters, no overlap of tensor": what is said, in the order of the words; empty: nothing.
[[nodiscard]] std::string to_text(const Overlap& overlap);

}  // namespace pcg
