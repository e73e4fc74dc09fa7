#include <algorithm>

#include "sim/accounting/accounting.hpp"

namespace sim {

std::optional<BusiestLink> busiest_link(const Accounts& a) {
  std::vector<double> seconds(a.folded.links.size(), 0);  // per class of links: bytes over bandwidth
  for (const BlockInstance& instance : a.unrolled.instances) {
    for (const Entry& e : a.unrolled.blocks[instance.block].entries) {
      const auto* moved = std::get_if<TransferRun>(&e.work);
      if (moved == nullptr) continue;
      for (const Phase& phase : a.folded.transfers[moved->transfer].phases) {
        for (const Flow& flow : phase.flows) {
          for (const WeightedLink& l : a.folded.routes[flow.route])
            seconds[l.link] += flow.bytes.value() * l.weight / a.folded.links[l.link].value();
        }
      }
    }
  }
  const auto most = std::ranges::max_element(seconds);
  if (most == seconds.end() || *most <= 0) return std::nullopt;
  const auto index = static_cast<std::uint32_t>(most - seconds.begin());
  const topology::Link& link = a.cluster.link(a.traffic.links[a.folded.link_representatives[index]]);
  return BusiestLink{link.type, link.name, *most / a.timeline.makespan.value()};
}

}  // namespace sim
