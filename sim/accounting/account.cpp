#include "sim/accounting/account.hpp"

#include "sim/accounting/breakdown.hpp"
#include "sim/accounting/communication.hpp"

namespace sim {
namespace {

profiles::ByBasis<base::Seconds> compute_by_basis(const Unrolled& unrolled) {
  profiles::ByBasis<base::Seconds> sums;
  for (const BlockInstance& instance : unrolled.instances)
    for (const Entry& e : unrolled.blocks[instance.block].entries)
      if (const auto* run = std::get_if<KernelRun>(&e.work))
        for (const profiles::Basis b : profiles::kBases) sums[b] += run->by_basis[b];
  return sums;
}

}  // namespace

Account account_of(const Accounts& a) {
  return {a.timeline.makespan, break_down(a), count_bytes(a), link_busy(a), compute_by_basis(a.unrolled), a.timeline.activities};
}

Account continued(const Account& at, const Account& next, double periods) {
  const auto go_on = [&](auto a, auto b) { return a + (b - a) * periods; };
  Account out = next;
  out.iteration_time = go_on(at.iteration_time, next.iteration_time);
  out.breakdown = {go_on(at.breakdown.compute, next.breakdown.compute),
                   go_on(at.breakdown.exposed_communication, next.breakdown.exposed_communication),
                   go_on(at.breakdown.bubble, next.breakdown.bubble), go_on(at.breakdown.idle, next.breakdown.idle)};
  out.bytes.total = go_on(at.bytes.total, next.bytes.total);
  for (auto& [kind, bytes] : out.bytes.by_collective) bytes = go_on(at.bytes.by_collective.at(kind), bytes);
  for (auto& [type, bytes] : out.bytes.by_link) bytes = go_on(at.bytes.by_link.at(type), bytes);
  for (std::size_t l = 0; l < out.link_busy.size(); ++l) out.link_busy[l] = go_on(at.link_busy[l], next.link_busy[l]);
  for (const profiles::Basis b : profiles::kBases) out.compute_by_basis[b] = go_on(at.compute_by_basis[b], next.compute_by_basis[b]);
  out.activities = at.activities + next.activities;
  return out;
}

}  // namespace sim
