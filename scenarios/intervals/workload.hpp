#pragma once
// A workload as intervals see it: the features of its kind, and a few numbers that a simulation knows. Forecasts of workloads of one kind
// are off alike (scenarios/intervals/interval.hpp).

#include <algorithm>
#include <array>
#include <compare>
#include <string>
#include <string_view>

#include "pcg/plan/plan.hpp"
#include "sim/simulation.hpp"
#include "topology/cluster.hpp"

namespace scenarios {

inline constexpr std::array<std::string_view, 7> kFeatureNames = {"framework", "device", "fabric", "precision",
                                                                  "replicas",  "layers", "trained"};

// Profiles of the scenario's own, in place of those that ship: no residuals were measured with them.
struct OwnProfiles {
  bool framework = false, device = false, network = false;
  auto operator<=>(const OwnProfiles&) const = default;
};

struct Feature {
  std::string_view value;
  bool is_own = false;       // from a profile of the scenario's own
  bool is_software = false;  // it decides which code runs
  bool operator==(const Feature&) const = default;
};

struct WorkloadKind {
  std::string framework;        // "megatron"
  std::string device;           // generation of the GPUs: "a100"; "mixed" for several
  std::string fabric;           // "one GPU" | "one node" | "several nodes by infiniband": by the type of the network's links
  std::string precision;        // "half" (fp16, bf16) | "single" (fp32, tf32) | "fp8" | "mxfp8" | "nvfp4"
  std::string replicas;         // "whole" | "sharded": gradients or weights are shared out among them (ZeRO 2, 3)
  std::string layers;           // "dense" | "experts": tokens are dispatched to experts
  std::string trained = "all";  // weights; or "part" of them, as with adapters
  OwnProfiles own = {};
  auto operator<=>(const WorkloadKind&) const = default;

  // In the order of kFeatureNames. A network's profile is part of the fabric.
  [[nodiscard]] std::array<Feature, kFeatureNames.size()> features() const {
    return {{{framework, own.framework, true},
             {device, own.device},
             {fabric, own.network},
             {precision},
             {replicas, false, true},
             {layers},
             {trained, false, true}}};
  }
  // Whether the same code runs, be its profile whose it may: frameworks shard replicas, and train parts, by code of their own.
  [[nodiscard]] bool is_of_software_of(const WorkloadKind& o) const {
    return framework == o.framework && replicas == o.replicas && trained == o.trained;
  }
};

// Shares of the iteration time, 0 .. 1, that make a forecast less sure. What a stage of a pipeline waits for is not its own: shares are of
// the rest.
inline constexpr std::array<std::string_view, 4> kShares = {
    "host",      // the critical device idles, above all waiting for its host to launch
    "defaults",  // it computes kernels whose time is a roofline with default efficiencies: no table of kernels has their sort
    "software",  // it works, or waits for its host, as its software does: unsure where no run of that was measured (unsure_shares())
    "network"    // it waits for the network between nodes: unsure where no run over such a one was measured, or none of as many GPUs
};
using Shares = std::array<double, kShares.size()>;

struct Workload {
  WorkloadKind kind;
  double log2_parameters = 0;  // base-2 logarithm of the number of the model's parameters
  Shares shares{};
  int gpus = 1;
  double calibrated = 0;       // share of the time in kernels, and in launches, as a trace of this machine has them
  double held_out_spread = 0;  // HostCosts::held_out_spread
};

// Whether some run was of a workload's software, and the most GPUs of one over its fabric; 0: there is none.
struct Measured {
  bool software = false;
  int gpus = 0;
  void add(const WorkloadKind& run, int of_gpus, const WorkloadKind& workload) {
    software |= run.is_of_software_of(workload);
    if (run.fabric == workload.fabric) gpus = std::max(gpus, of_gpus);
  }
};
// Returns the shares that make the forecast less sure. `generic` is no software whose runs could be measured. Beyond the GPUs that were
// measured the network's share grows with the logarithm of their number, and counts in full at twice as many.
[[nodiscard]] Shares unsure_shares(const Workload& w, Measured measured);

// Returns the share of the iteration without its bubble in kernels that were measured themselves; `launches`: and in waiting for launches.
[[nodiscard]] double calibrated_share(const sim::SimulationResult& s, bool launches);

// Returns the features and the numbers of a simulated plan; kind.own is left false. Cost: O(operators).
[[nodiscard]] Workload workload_of(const pcg::Plan& plan, const topology::Cluster& cluster, const sim::SimulationResult& s);

}  // namespace scenarios
