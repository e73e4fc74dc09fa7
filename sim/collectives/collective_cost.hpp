#pragma once
// The time that a collective of a given shape takes, by its wires alone or with a library's protocol.

#include <optional>
#include <vector>

#include "sim/collectives/collective_shape.hpp"

namespace sim {

struct CollectiveCost {
  std::vector<base::Seconds> latency;   // per phase; the call's own is in the first
  std::vector<double> wire_factor;      // per route class: CollectiveFlow::wire_factor
  base::Seconds latency_sum, transfer;  // transfer is in proportion to the bytes
  profiles::Basis basis = profiles::Basis::defaults;
  [[nodiscard]] base::Seconds total() const { return latency_sum + transfer; }
};

// By the latency and bandwidth of the wires.
[[nodiscard]] CollectiveCost cost_of_wires(const CollectiveShape& s);

// Returns: with hops, rounds and shares as the profile has them (docs/architecture.md, "Collectives"),
//   latency = base + sum over hops (wires + max over link types of the hop's latency)
//   wire factor of a route class = (1 + local / rounds for ring and pairwise, else 1) * its narrowest bandwidth / min over link types of
//   (bandwidth * efficiency), so that a message alone runs at the least of the shares; rounds: 2 (n-1) for all-reduce, n-1 for the other
//   kinds that keep a part at home; cost_of_wires for a shape none of whose link types the profile knows, for Protocol::simple only;
//   nullopt where the library does not use this algorithm or protocol on these links.
[[nodiscard]] std::optional<CollectiveCost> cost_of(const CollectiveShape& s, const profiles::NetworkProfile& profile,
                                                    profiles::Protocol protocol);

// Stretches what the wires take to what the kernels of bulk copies take for their rows (NetworkHop::sent_row, summed_row), if that is more:
// the links are busy for as long. `cost`: of `bytes` by `protocol`, as cost_of() has it.
void wait_for_rows(CollectiveCost& cost, const CollectiveShape& s, const profiles::NetworkProfile& profile, profiles::Protocol protocol,
                   const Forwarding& forwarding, base::Bytes bytes);

}  // namespace sim
