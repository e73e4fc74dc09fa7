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

using SecondsByName = std::map<std::string, base::Seconds>;

// A name that one of them has not stands for no time.
SecondsByName each_of(SecondsByName at, SecondsByName next, auto of) {
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
  out.bytes.total = of(at.bytes.total, next.bytes.total);
  for (auto& [kind, bytes] : out.bytes.by_collective) bytes = of(at.bytes.by_collective.at(kind), bytes);
  for (auto& [type, bytes] : out.bytes.by_link) bytes = of(at.bytes.by_link.at(type), bytes);
  for (std::size_t l = 0; l < out.link_busy.size(); ++l) out.link_busy[l] = of(at.link_busy[l], next.link_busy[l]);
  for (const profiles::Basis b : profiles::kBases) out.compute_by_basis[b] = of(at.compute_by_basis[b], next.compute_by_basis[b]);
  out.activities = at.activities + next.activities;
  return out;
}

}  // namespace

Account account_of(const Accounts& a) {
  return {a.timeline.makespan, break_down(a), count_bytes(a), link_busy(a), compute_by_basis(a.unrolled), a.timeline.activities};
}

Account difference(const Account& at, const Account& next) {
  return each_sum(at, next, [](auto a, auto b) { return b - a; });
}

Account continued(const Account& at, const Account& next, double periods) {
  return each_sum(at, next, [&](auto a, auto b) { return a + (b - a) * periods; });
}

}  // namespace sim
