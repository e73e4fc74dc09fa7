#pragma once
// The page's data of scenarios: `results`, format 2 of each with explanations, and `details`, what format 2 leaves out: the question in
// words, the cluster's drawing, what notes are about, and for each base run its timeline, memory over time and graph.
//
// A report stays below 5 MB whatever was asked, so that it can be mailed and opens at once. The page itself takes about 0.8 MB; results and
// each sort of details have a share of the rest (page_data.cpp) that the runs of all scenarios share out evenly. What does not fit is said
// in `left_out`, in words for readers.

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <span>

#include "pcg/plan/plan.hpp"
#include "scenarios/answer/result.hpp"
#include "topology/cluster.hpp"

namespace reports {

inline constexpr std::size_t kMostPageBytes = 5'000'000;

struct ReportedScenario {
  const scenarios::ScenarioResult* result;
  const topology::Cluster* cluster;  // of the base; null: nothing is asked about it
};

// Base runs have timelines where they were answered with RunOptions::trace. Cost: O(spans log names).
[[nodiscard]] nlohmann::ordered_json page_data(std::span<const ReportedScenario> scenarios);

// Returns {"name", "nodes", "gpus", "node_types": [{"count", "gpus", "gpu_type", "parts": [{"name", "kind"}], "wires": [{"a", "b", "link",
// "bandwidth_bytes_per_s"}]}], "network": {"kind", "link", "bandwidth_bytes_per_s", ...}}: wires join parts by index, bandwidths are one
// way, the network is absent on one node. Equal nodes are there once. By its kind a network also has "oversubscription" (fat tree, rails),
// "nodes_per_leaf" and, with three tiers, "leaves_per_pod" and "pod_oversubscription" (fat tree), "nodes_per_router", "routers_per_group",
// "local_links" and "global_links" (dragonfly), "dimensions" (torus), or the number of its "switches" (custom network).
[[nodiscard]] nlohmann::ordered_json cluster_data(const topology::Cluster& cluster);

// Returns {"gpus", "stages", "ranks", "micro_batches", "schedule", "recompute", "zero", "parts": [...], "blocks": [...], "left_out"}.
// Layers repeat: blocks whose operators are cut and joined alike share a part, [{"name", "kind", "cut", "shape", "inputs"}], one entry for
// each operator but weights and inputs, in the order of the graph. `name` lacks what names of the block begin with; `inputs` are indices
// into the part, -1 for a tensor of another block; `cut` is absent where data only move (parallel operators). A block is {"name", "part",
// "stages": [low, high], "devices": [[first, last], ...]}. Null in place of a part: it had no room in `most_bytes`, and `left_out` says so.
[[nodiscard]] nlohmann::ordered_json graph_data(const pcg::Plan& plan, std::size_t most_bytes);

// Returns null where nothing was kept, else {"end_s", "devices": [{"device", "stands_for", "time_s", "bytes"}], "left_out"}: a value holds
// from its time on. A device with more samples than a screen can show has as many equal bins, each with the most that was used in it, so
// that the peak stays. Where `most_bytes` are not enough for all devices, the first ones are there and `left_out` says so.
[[nodiscard]] nlohmann::ordered_json memory_data(const scenarios::Run& run, std::size_t most_bytes);

// Returns null where there are no spans, else
//   {"unit_s": U, "end": E, "names": [...], "kinds": [...], "stages": [...], "bytes": [...], "devices": [...], "left_out": TEXT}
// Times are whole multiples of U, a power of ten of at most a four-millionth of the iteration, which ends at E. A name has a kind (an index
// into kSpanKinds), the virtual stage of its operator or -1, and the bytes of its transfer or 0. A device is {"device", "stands_for",
// "lanes"}, stands_for all that do the same as [[first, last], ...]; a lane {"stream", "name", "micro_batch", "start", "duration"}: one
// entry per span in order, micro_batch -1 without one, start counted from the start before it.
//
// `most_bytes`: of the JSON text. Where more would be needed, spans of one stream that belong to one layer, pass and micro-batch and lie
// closer than a few thousandths of the iteration become one; where that does not do, the last devices are left out. `left_out` says both;
// it is absent where all is there.
[[nodiscard]] nlohmann::ordered_json timeline_data(const scenarios::Run& run, std::size_t most_bytes);

}  // namespace reports
