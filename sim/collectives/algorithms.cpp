#include "sim/collectives/algorithms.hpp"

#include "base/check.hpp"

namespace sim {

const std::vector<Channel>& CollectiveRequest::channels(int most) const {
  // Several algorithms ask for the same channels, and finding them is most of what planning a collective costs.
  const auto [at, is_new] = known_channels.try_emplace(most);
  if (is_new) at->second = find_channels(nodes, cluster, most, relays);
  return at->second;
}

std::optional<Collective> plan_with(Algorithm a, const CollectiveRequest& r, int channels) {
  switch (a) {
    case Algorithm::ring: return plan_ring(r, channels);
    case Algorithm::tree: return plan_tree(r, channels);
    case Algorithm::hierarchical: return plan_hierarchical(r, channels);
    case Algorithm::in_switch: return plan_in_switch(r);
    case Algorithm::pairwise: return plan_pairwise(r);
    case Algorithm::forwarded:
    case Algorithm::bulk_forwarded: return plan_forwarded(a, r);
    case Algorithm::automatic: break;
  }
  base::fail_check(__FILE__, __LINE__, "one algorithm", "automatic is a choice among algorithms");
}

}  // namespace sim
