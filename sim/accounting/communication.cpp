#include "sim/accounting/account.hpp"

#include <set>

namespace sim {

std::vector<double> executions(const Unrolled& unrolled, const Folded& folded) {
  std::vector<double> executed(folded.transfers.size(), 0);
  for (const BlockInstance& instance : unrolled.instances)
    for (const Entry& e : unrolled.blocks[instance.block].entries)
      if (const auto* moved = std::get_if<TransferRun>(&e.work)) executed[moved->transfer] += 1;
  return executed;
}

CommunicationBytes count_bytes(std::span<const double> executed, const Folded& folded, const Traffic& traffic,
                               const topology::Cluster& cluster) {
  CommunicationBytes out;
  for (std::size_t t = 0; t < executed.size(); ++t) {
    if (executed[t] == 0) continue;
    const TransferClass& c = folded.transfers[t];
    const double times = executed[t] * c.count;
    for (const TrafficFlow& f : traffic.flows_of(traffic.transfers[c.representative])) {
      const base::Bytes bytes = times * f.bytes;
      out.total += bytes;
      out.by_collective[std::string(to_text(c.kind))] += bytes;
      // A flow over two NVLinks has crossed NVLink once: its bytes count once per type.
      std::set<std::string_view> types;
      for (const std::uint32_t l : traffic.links_of(f)) types.insert(cluster.link(traffic.links[l]).type);
      for (std::string_view type : types) out.by_link[std::string(type)] += bytes;
    }
  }
  return out;
}

std::string_view narrowest_link(const Accounts& a, const TransferClass& transfer) {
  std::vector<double> load(a.traffic.links.size(), 0);  // in bytes
  for (const TrafficFlow& f : a.traffic.flows_of(a.traffic.transfers[transfer.representative])) {
    const double bytes = f.wire_factor * f.bytes.value();
    for (const std::uint32_t l : a.traffic.links_of(f)) load[l] += bytes;
  }
  const topology::Link* narrowest = nullptr;
  double longest_s = 0;
  for (std::size_t l = 0; l < load.size(); ++l) {
    if (load[l] <= 0) continue;
    const topology::Link& link = a.cluster.link(a.traffic.links[l]);
    if (const double busy_s = load[l] / link.bandwidth.value(); busy_s > longest_s) {
      longest_s = busy_s;
      narrowest = &link;
    }
  }
  return narrowest == nullptr ? "none" : std::string_view(narrowest->type);
}

}  // namespace sim
