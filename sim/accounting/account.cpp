#include "sim/accounting/account.hpp"

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

// A name that one of them lacks has no time there.
template <class Name>
std::map<Name, base::Seconds> each_of(std::map<Name, base::Seconds> at, std::map<Name, base::Seconds> next, auto of) {
  for (const auto& [name, seconds] : at) next.try_emplace(name);
  for (auto& [name, seconds] : next) seconds = of(at[name], seconds);
  return next;
}

// An account whose sums are those that `of` makes of two.
Account each_sum(const Account& at, const Account& next, auto of) {
  Account out = next;
  out.iteration_time = of(at.iteration_time, next.iteration_time);
  out.breakdown = {of(at.breakdown.compute, next.breakdown.compute),
                   of(at.breakdown.exposed_communication, next.breakdown.exposed_communication),
                   of(at.breakdown.bubble, next.breakdown.bubble),
                   of(at.breakdown.idle, next.breakdown.idle),
                   each_of(at.breakdown.exposed_by_collective, next.breakdown.exposed_by_collective, of),
                   each_of(at.breakdown.exposed_by_link, next.breakdown.exposed_by_link, of)};
  out.path = path_of_sums(each_of(at.path, next.path, of), next.path, out.iteration_time);
  for (std::size_t t = 0; t < out.executed.size(); ++t) out.executed[t] = of(at.executed[t], next.executed[t]);
  for (const profiles::Basis b : profiles::kBases) out.compute_by_basis[b] = of(at.compute_by_basis[b], next.compute_by_basis[b]);
  out.activities = at.activities + next.activities;
  return out;
}

}  // namespace

Account account_of(const Accounts& a) {
  const Predecessors predecessors(a);
  return {a.timeline.makespan,          break_down(a, predecessors), critical_path(a, predecessors), executions(a.unrolled, a.folded),
          compute_by_basis(a.unrolled), a.timeline.activities};
}

Account difference(const Account& at, const Account& next) {
  return each_sum(at, next, [](auto a, auto b) { return b - a; });
}

Account continued(const Account& at, const Account& next, double periods) {
  return each_sum(at, next, [&](auto a, auto b) { return a + (b - a) * periods; });
}

}  // namespace sim
