#include <set>

#include "sim/accounting/accounting.hpp"

namespace sim {

CommunicationBytes count_bytes(const Accounts& a) {
  std::vector<double> executed(a.folded.transfers.size(), 0);  // how often each transfer class ran
  for (const BlockInstance& instance : a.unrolled.instances) {
    for (const Entry& e : a.unrolled.blocks[instance.block].entries) {
      if (const auto* moved = std::get_if<TransferRun>(&e.work)) executed[moved->transfer] += 1;
    }
  }
  CommunicationBytes out;
  for (std::size_t t = 0; t < executed.size(); ++t) {
    if (executed[t] == 0) continue;
    const TransferClass& c = a.folded.transfers[t];
    const double times = executed[t] * c.count;
    for (const TrafficFlow& f : a.traffic.transfers[c.representative].flows) {
      const base::Bytes bytes = times * f.bytes;
      out.total += bytes;
      out.by_collective[std::string(to_text(c.kind))] += bytes;
      std::set<std::string_view> types;
      for (std::uint32_t l : f.links) types.insert(a.cluster.link(a.traffic.links[l]).type);
      for (std::string_view type : types) out.by_link[std::string(type)] += bytes;
    }
  }
  return out;
}

}  // namespace sim
