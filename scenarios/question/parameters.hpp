#pragma once
// The parameters of a cluster that sensitivities are about, and the changes by which they are probed.

#include <string>
#include <vector>

#include "base/yaml/tree.hpp"
#include "scenarios/question/what_if.hpp"

namespace scenarios {

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

// Parameters are probed up and down by this factor: small beside what a part may change by, large beside the last digits of a simulated
// time.
inline constexpr double kProbeStep = 1.05;

// Returns the what-if that changes a parameter by a factor.
[[nodiscard]] WhatIf changed_by(const Parameter& p, double factor);

}  // namespace scenarios
