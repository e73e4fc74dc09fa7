#pragma once
// What tells questions apart when their forecasts are compared with measurements: words of their kind, and a few numbers that a simulation
// knows. Intervals rest on them (scenarios/intervals/interval.hpp).

#include <array>
#include <compare>
#include <string>
#include <string_view>

#include "pcg/plan/plan.hpp"
#include "sim/simulation.hpp"
#include "topology/cluster.hpp"

namespace scenarios {

inline constexpr std::array<std::string_view, 6> kKindWords = {"framework", "device", "fabric", "precision", "replicas", "layers"};

// The kind of a question, in the order of kKindWords.
struct QuestionKind {
  std::string framework;  // "megatron"
  std::string device;     // generation: a device type up to its first dash ("a100"), "mixed" for several
  std::string fabric;     // "one GPU" | "one node" | "several nodes"
  std::string precision;  // "half" (fp16, bf16) | "single" (fp32, tf32) | "fp8" | "mxfp8" | "nvfp4"
  std::string replicas;   // "whole" | "sharded": gradients or weights are shared out among them (ZeRO 2, 3)
  std::string layers;     // "dense" | "experts": tokens are dispatched to experts
  auto operator<=>(const QuestionKind&) const = default;

  [[nodiscard]] std::array<std::string_view, kKindWords.size()> words() const {
    return {framework, device, fabric, precision, replicas, layers};
  }
};

// Shares of the iteration time, 0 .. 1, that make a forecast less sure.
inline constexpr std::array<std::string_view, 2> kShares = {
    "host",     // the critical device idles, above all waiting for its host to launch
    "defaults"  // it computes kernels whose time is a roofline with default efficiencies: no table of kernels has their sort
};

struct Question {
  QuestionKind kind;
  double log2_parameters = 0;  // base-2 logarithm of the number of the model's parameters
  std::array<double, kShares.size()> shares{};
};

// Returns the kind and the numbers of a simulated plan. Cost: O(operators).
[[nodiscard]] Question question_of(const pcg::Plan& plan, const topology::Cluster& cluster, const sim::SimulationResult& s);

}  // namespace scenarios
