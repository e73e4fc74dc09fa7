#include "sim/collectives/collective.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/link_loads.hpp"

namespace sim {
namespace {

std::optional<Collective> plan_one(const CollectiveRequest& r, Algorithm a, int channels) {
  switch (a) {
    case Algorithm::ring: return plan_ring(r, channels);
    case Algorithm::tree: return plan_tree(r, channels);
    case Algorithm::hierarchical: return plan_hierarchical(r, channels);
    case Algorithm::in_switch: return plan_in_switch(r);
    case Algorithm::pairwise: return plan_pairwise(r);
    case Algorithm::automatic: break;
  }
  return std::nullopt;
}

// The quicker of many channels and one: several NICs help unless the wires to them are what is short. Cycles inside a node only
// take what is left of the wires, so there more is never worse.
std::optional<Collective> plan_best(const CollectiveRequest& r, std::span<const Algorithm> algorithms, LinkLoads& loads) {
  std::optional<Collective> best;
  for (const Algorithm a : algorithms)
    for (const int channels : {kMostChannels, 1}) {
      std::optional<Collective> c = plan_one(r, a, channels);
      if (!c) break;
      c->estimate = loads.seconds(std::span(&*c, 1));
      const bool single = c->rings == 1 || r.nodes.size() == 1 || a == Algorithm::hierarchical;
      if (!best || c->estimate < best->estimate) best = std::move(c);
      if (single) break;
    }
  return best;
}

}  // namespace

Collective plan_collective(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                           const topology::Cluster& cluster, const CollectiveConfig& config) {
  BASE_CHECK(!group.empty() && bytes.value() >= 0, "{} of {} B among {} devices", to_text(kind), bytes.value(), group.size());
  const std::vector<NodeMembers> nodes = by_node(group, cluster);
  for (const NodeMembers& n : nodes)
    BASE_CHECK(std::ranges::adjacent_find(n.members) == n.members.end(), "a device takes part twice in one {}", to_text(kind));
  if (group.size() == 1) return {};
  const CollectiveRequest request{kind, bytes, group, nodes, cluster, config.step_by_step, {}};
  LinkLoads loads(cluster);
  constexpr std::array kAll = {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical, Algorithm::in_switch, Algorithm::pairwise};
  std::optional<Collective> planned;
  if (config.algorithm != Algorithm::automatic) planned = plan_best(request, std::array{config.algorithm}, loads);
  if (!planned) planned = plan_best(request, kAll, loads);
  BASE_CHECK(planned && !planned->phases.empty(), "no algorithm for {} among {} devices", to_text(kind), group.size());
  planned->phases.front().latency += config.base_latency;
  planned->estimate += config.base_latency;
  return std::move(*planned);
}

}  // namespace sim
