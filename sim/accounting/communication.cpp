#include "sim/accounting/communication.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace sim {
namespace {

// How often each transfer class ran.
std::vector<double> executions(const Accounts& a) {
  std::vector<double> executed(a.folded.transfers.size(), 0);
  for (const BlockInstance& instance : a.unrolled.instances)
    for (const Entry& e : a.unrolled.blocks[instance.block].entries)
      if (const auto* moved = std::get_if<TransferRun>(&e.work)) executed[moved->transfer] += 1;
  return executed;
}

}  // namespace

CommunicationBytes count_bytes(const Accounts& a) {
  const std::vector<double> executed = executions(a);
  CommunicationBytes out;
  for (std::size_t t = 0; t < executed.size(); ++t) {
    if (executed[t] == 0) continue;
    const TransferClass& c = a.folded.transfers[t];
    const double times = executed[t] * c.count;
    for (const TrafficFlow& f : a.traffic.flows_of(a.traffic.transfers[c.representative])) {
      const base::Bytes bytes = times * f.bytes;
      out.total += bytes;
      out.by_collective[std::string(to_text(c.kind))] += bytes;
      // A flow over two NVLinks has crossed NVLink once: its bytes count once per type.
      std::set<std::string_view> types;
      for (const std::uint32_t l : a.traffic.links_of(f)) types.insert(a.cluster.link(a.traffic.links[l]).type);
      for (std::string_view type : types) out.by_link[std::string(type)] += bytes;
    }
  }
  return out;
}

std::string_view narrowest_link(const Accounts& a, const TransferClass& transfer) {
  std::map<std::uint32_t, base::Seconds> busy;  // by index into Traffic::links
  for (const TrafficFlow& f : a.traffic.flows_of(a.traffic.transfers[transfer.representative]))
    for (const std::uint32_t l : a.traffic.links_of(f)) busy[l] += f.wire_factor * f.bytes / a.cluster.link(a.traffic.links[l]).bandwidth;
  const auto longest = std::ranges::max_element(busy, {}, [](const auto& of_link) { return of_link.second; });
  return longest == busy.end() ? "none" : std::string_view(a.cluster.link(a.traffic.links[longest->first]).type);
}

std::vector<base::Seconds> link_busy(const Accounts& a) {
  std::vector<base::Seconds> busy(a.folded.links.size());
  const std::vector<double> executed = executions(a);
  for (std::size_t t = 0; t < executed.size(); ++t)
    for (const Phase& phase : a.folded.transfers[t].phases)
      for (const Flow& flow : phase.flows)
        for (const WeightedLink& l : a.folded.routes[flow.route])
          busy[l.link] += executed[t] * l.weight * flow.bytes / a.folded.links[l.link];
  return busy;
}

std::optional<BusiestLink> busiest_link(std::span<const base::Seconds> busy, base::Seconds iteration, const Folded& folded,
                                        const Traffic& traffic, const topology::Cluster& cluster) {
  const auto most = std::ranges::max_element(busy);
  if (most == busy.end() || most->value() <= 0) return std::nullopt;
  const auto index = static_cast<std::uint32_t>(most - busy.begin());
  const topology::Link& link = cluster.link(traffic.links[folded.link_representatives[index]]);
  return BusiestLink{link.type, link.name, *most / iteration};
}

}  // namespace sim
