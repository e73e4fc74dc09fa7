#include "sim/accounting/account.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace sim {
namespace {

// A name that one of them lacks has no time there.
template <class Name>
std::map<Name, base::Seconds> each_of(std::map<Name, base::Seconds> at, std::map<Name, base::Seconds> next, auto of) {
  for (const auto& [name, seconds] : at) next.try_emplace(name);
  for (auto& [name, seconds] : next) seconds = of(at[name], seconds);
  return next;
}

Breakdown each_of(const Breakdown& at, const Breakdown& next, auto of) {
  return {of(at.compute, next.compute),
          of(at.exposed_communication, next.exposed_communication),
          of(at.bubble, next.bubble),
          of(at.imbalance, next.imbalance),
          of(at.idle, next.idle),
          each_of(at.exposed_by_collective, next.exposed_by_collective, of),
          each_of(at.exposed_by_link, next.exposed_by_link, of)};
}

// An account whose sums are those that `of` makes of two.
Account each_sum(const Account& at, const Account& next, auto of) {
  Account out = next;
  out.iteration_time = of(at.iteration_time, next.iteration_time);
  for (std::size_t s = 0; s < out.stages.size(); ++s) out.stages[s] = each_of(at.stages[s], next.stages[s], of);
  out.path = path_of_sums(each_of(at.path, next.path, of), next.path, out.iteration_time);
  for (std::size_t t = 0; t < out.executed.size(); ++t) out.executed[t] = of(at.executed[t], next.executed[t]);
  for (const profiles::Basis b : profiles::kBases) out.compute_by_basis[b] = of(at.compute_by_basis[b], next.compute_by_basis[b]);
  out.activities = at.activities + next.activities;
  return out;
}

}  // namespace

Account account_of(const Accounts& a) {
  const Predecessors predecessors(a);
  std::vector<double> ran(a.folded.transfers.size(), 0);
  profiles::ByBasis<base::Seconds> compute;
  for_each_task(a, [&](const Entry& e, Interval, const BlockInstance&) {
    if (const auto* moved = std::get_if<TransferRun>(&e.work)) ran[moved->transfer] += 1;
    if (const auto* run = std::get_if<KernelRun>(&e.work))
      for (const profiles::Basis b : profiles::kBases) compute[b] += run->by_basis[b];
  });
  return {a.timeline.makespan, break_down(a, predecessors), critical_path(a, predecessors), std::move(ran), compute, a.timeline.activities};
}

void split_waits(std::vector<Breakdown>& stages, base::Seconds all, double empty) {
  for (Breakdown& b : stages) {
    const base::Seconds idle = std::max(b.idle, base::Seconds()), waits = b.bubble + b.idle - idle;
    b.idle = idle;
    b.bubble = std::min(waits, all * empty);
    b.imbalance = waits - b.bubble;
  }
}

Breakdown mean_of(std::span<const Breakdown> stages) {
  Breakdown sum = stages.front();
  for (const Breakdown& b : stages.subspan(1)) sum = each_of(sum, b, [](auto x, auto y) { return x + y; });
  return each_of(sum, sum, [n = static_cast<double>(stages.size())](auto x, auto) { return x / n; });
}

Account difference(const Account& at, const Account& next) {
  return each_sum(at, next, [](auto a, auto b) { return b - a; });
}

Account continued(const Account& at, const Account& next, double periods) {
  return each_sum(at, next, [&](auto a, auto b) { return a + (b - a) * periods; });
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
  std::vector<double> busy_s(a.traffic.links.size(), 0);  // at first in bytes
  for (const TrafficFlow& f : a.traffic.flows_of(a.traffic.transfers[transfer.representative])) {
    const double bytes = f.wire_factor * f.bytes.value();
    for (const std::uint32_t l : a.traffic.links_of(f)) busy_s[l] += bytes;
  }
  for (std::size_t l = 0; l < busy_s.size(); ++l) busy_s[l] /= a.cluster.link(a.traffic.links[l]).bandwidth.value();
  const auto longest = std::ranges::max_element(busy_s);
  if (longest == busy_s.end() || *longest <= 0) return "none";
  return a.cluster.link(a.traffic.links[static_cast<std::size_t>(longest - busy_s.begin())]).type;
}

}  // namespace sim
