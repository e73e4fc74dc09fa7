#pragma once
// What-ifs: changes of the scenario by path and value, those of the `what_if:` list (a sweep is the product of its lists) and those that
// probe the parameters of a cluster.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml/tree.hpp"

namespace scenarios {

struct WhatIf {
  std::string name;   // of a point of a sweep: "network: cluster.links.infiniband.bandwidth=4x, cluster.nodes=2"
  std::string sweep;  // whose point it is; empty: of none
  std::string place;  // in the file: "what_if[0]"
  std::vector<std::pair<std::string, base::Yaml>> set;        // "cluster.links.infiniband.bandwidth" -> 4x
  std::vector<std::pair<std::string, std::string>> settings;  // the same as text
  bool replan = true;                                         // answered with a new plan, too
};

// The sections that what-ifs change: the scenario's sections with the cluster's preset resolved, and the cluster as it is written, so that
// another preset takes the place of the first beside the same keys.
struct Patchable {
  base::Yaml document;
  base::Yaml written_cluster;
  std::filesystem::path directory;  // the scenario's
};

// Returns the document with every `set` of a what-if applied but those of plans (plan_entries.hpp), another machine or another model first:
// a `cluster` with a preset or a file, `cluster.preset` or `cluster.file`, and a `model` that says where the model comes from replace what
// was there. Problems go to `sink`.
[[nodiscard]] base::Yaml patched(const Patchable& base, const WhatIf& what_if, base::Diagnostics& sink);

// Returns the place of a key in the file: "what_if[0].sweep[cluster.nodes]".
[[nodiscard]] std::string place_of(const WhatIf& what_if, const std::string& target);

// Returns the model's section with the files that it names made absolute, so that a plan that is made from it may be saved anywhere.
[[nodiscard]] base::Yaml with_absolute_files(base::Yaml model, const std::filesystem::path& directory);

// Returns the what-ifs in order, a sweep as one what-if for each of its points: the last of its keys changes fastest. Problems go to
// `sink`.
[[nodiscard]] std::vector<WhatIf> read_what_ifs(const base::Yaml& list, base::Diagnostics& sink);

// The parameters of a cluster that sensitivities are about, and the changes by which they are probed.
// A key of the cluster that is a number of which more, or less, is better.
struct Parameter {
  std::string path;            // "cluster.links.infiniband.bandwidth"
  bool more_is_worse = false;  // a latency
  bool is_capacity = false;    // of memory: it changes what fits, not how long a plan takes
  bool operator==(const Parameter&) const = default;
};

// Returns the parameters of a cluster's section (expanded): bandwidth and latency of every type of link; speed of computing, of memory and
// of the hosts, and size of memory, of every type of node. Latencies of 0 are left out.
[[nodiscard]] std::vector<Parameter> parameters_of(const base::Yaml& cluster);

// The factor of a parameter that is twice as good: 2, or 1/2 of a latency.
[[nodiscard]] double improvement(const Parameter& p);

// Parameters are probed up and down by this factor: small against what a part may change by, large against the last digits of a simulated
// time.
inline constexpr double kProbeStep = 1.05;

// Returns the what-if that changes a parameter by a factor.
[[nodiscard]] WhatIf changed_by(const Parameter& p, double factor);

}  // namespace scenarios
