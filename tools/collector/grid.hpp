#pragma once
// The cases to measure, in groups that are each sampled evenly, so that a measurement may stop after any number of cases.

#include <cstdint>
#include <string>
#include <vector>

#include "tools/collector/case.hpp"
#include "tools/collector/device.hpp"

namespace collector {

struct Group {
  std::string name;         // "linear bf16"
  double weight = 1;        // its share of the time, beside other groups'
  std::vector<Case> cases;  // no two alike; any first part of it covers the ranges
};

// Longest launch and largest footprint of a case: beyond them a case says little new and costs much.
inline constexpr double kLongestLaunch_s = 0.03;
[[nodiscard]] double largest_footprint(const Device& d);  // 4 GiB, or an eighth of the memory

// `seed` shifts the sequences: another seed gives other shapes of the same ranges, but for `layers` and `waves`, which have none. Only
// cases that the device supports and that fit.
//   linear         m 16 to 65536, n and k 16 to 32768, the three products of a layer; fp8 in multiples of 16, as the library asks
//   layers         the linear layers of transformers (hidden 768 to 12288) at 512 to 16384 tokens
//   waves          n, k fixed, m in steps of 128 from one tile up: what the last, partly filled wave of tiles costs
//   batched        batch 2 to 2048 of small products, and the three kernels of unfused attention
//   convolution    layers of ResNeXt-50 and Inception-v3, and random ones; forward and both gradients
//   rows           softmax, layer and RMS norm: 1 Ki to 512 Mi numbers; likewise the groups elementwise and optimizer
//   embedding      tables and tokens of language models
[[nodiscard]] std::vector<Group> grid(const Device& d, std::uint64_t seed);

}  // namespace collector
