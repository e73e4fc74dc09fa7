#include <algorithm>

#include "base/check.hpp"
#include "sim/collectives/algorithms.hpp"

namespace sim {

// All-to-all: 1/n of each rank's buffer to every other, all at once.
std::optional<Collective> plan_pairwise(const CollectiveRequest& r) {
  Collective c{Algorithm::pairwise, 1, {}, {}};
  CollectivePhase& phase = c.phases.emplace_back();
  Messages messages(r);
  const auto send = [&](topology::DeviceId from, topology::DeviceId to, base::Bytes bytes) {
    messages.send(*std::ranges::lower_bound(r.nodes, r.cluster.device(from).domain, {}, &NodeMembers::domain), from, to, bytes, phase);
  };
  const std::size_t n = r.group.size();
  if (r.kind == CollectiveKind::send) {
    BASE_CHECK(n == 2, "a send among {} devices", n);
    send(r.group[0], r.group[1], r.bytes);
  } else {
    if (r.kind != CollectiveKind::all_to_all || r.forwarding.copies > 0) return std::nullopt;
    for (std::size_t step = 1; step < n; ++step)
      for (std::size_t i = 0; i < n; ++i) send(r.group[i], r.group[(i + step) % n], r.bytes / static_cast<double>(n));
  }
  messages.add_to(phase.chain, 1);
  return c;
}

}  // namespace sim
