#pragma once
// Fits a network profile to measured collectives: the latencies and shares that the rows identify are fitted, the others are kept. A row is
// predicted as the simulator would: the quickest of the library's algorithms and protocols on the preset's links.

#include <span>
#include <string>
#include <vector>

#include "profiles/measured/measurements.hpp"
#include "profiles/network_profile.hpp"
#include "topology/cluster.hpp"

namespace fit {

// Below it the latencies of hops decide, above it bandwidths: the bench tables level out at about 1 MB.
inline constexpr base::Bytes kShortMessage{1e6};

// Predicted against measured for one row.
struct NetworkResidual {
  const measured::CollectiveMeasurement* row = nullptr;
  base::Seconds predicted;
  profiles::Algorithm algorithm = profiles::Algorithm::ring;
  profiles::Protocol protocol = profiles::Protocol::simple;
  bool held_out = false;
  [[nodiscard]] double error() const { return predicted / row->time - 1; }
};

// Returns the cluster of a preset with `nodes` nodes.
// Throws: base::InputError when there is none.
[[nodiscard]] topology::Cluster cluster_of(const std::string& preset, int nodes);
// Returns the GPUs of a row, as many of each node, from its first on; none where a node has fewer.
[[nodiscard]] std::vector<topology::DeviceId> group_of(const measured::CollectiveMeasurement& m, const topology::Cluster& cluster);

struct NetworkFit {
  profiles::NetworkProfile profile;
  std::vector<NetworkResidual> residuals;  // one per row that is of a cluster with this profile, in order
  std::vector<std::string> notes;
};

// Returns a profile fitted by robust least squares of the logarithm of time, beginning at the one given. A fifth of the rows takes no part
// in the fit, and rows below 1 MB count half. `rows` must outlive the answer.
// Throws: base::InputError when no row is of a preset whose `network_profile` this is.
[[nodiscard]] NetworkFit fit_network(const profiles::NetworkProfile& start, std::span<const measured::CollectiveMeasurement> rows);
// Returns the residuals of a profile, whoever fitted it. Throws as fit_network does.
[[nodiscard]] std::vector<NetworkResidual> compare_network(const profiles::NetworkProfile& profile,
                                                           std::span<const measured::CollectiveMeasurement> rows);

}  // namespace fit
