#include "sim/collectives/algorithms.hpp"

namespace sim {

// One message from each rank to its like in every other domain, and from each to every other one of its own domain: all slices are on their
// way at once, so both steps share a phase. Where domains have unequally many members, each gets its share of the bytes.
std::optional<Collective> plan_forwarded(Algorithm a, const CollectiveRequest& r) {
  const double copies = r.forwarding.copies;
  if (r.kind != CollectiveKind::all_to_all || copies <= 0 || r.forwarding.bulk != (a == Algorithm::bulk_forwarded)) return std::nullopt;
  Collective c{a, 1, {}, {}};
  CollectivePhase& phase = c.phases.emplace_back();
  Messages across(r), inside(r);
  const auto ranks = static_cast<double>(r.group.size());
  for (const NodeMembers& to : r.nodes) {
    std::vector<base::Bytes> arrived(to.members.size());
    const double share = static_cast<double>(to.members.size()) / ranks;
    for (const NodeMembers& from : r.nodes)
      for (std::size_t place = 0; place < from.members.size(); ++place) {
        const std::size_t like = place % to.members.size();
        arrived[like] += r.bytes * share;
        if (from.domain != to.domain) across.send(from, from.members[place], to.members[like], r.bytes * share, phase);
      }
    for (std::size_t place = 0; place < to.members.size(); ++place)
      for (const topology::DeviceId member : to.members)
        if (member != to.members[place])
          inside.send(to, to.members[place], member, arrived[place] * (copies / static_cast<double>(to.members.size())), phase);
  }
  across.add_to(phase.chain, 1);
  inside.add_to(phase.chain, 1);
  return c;
}

}  // namespace sim
