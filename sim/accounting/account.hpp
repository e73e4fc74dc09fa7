#pragma once
// The account of a simulated iteration: what of it grows with the number of micro-batches. Once an iteration repeats itself
// (sim/accounting/steady_state.hpp) each number grows by the same amount with every further period.

#include <cstdint>
#include <vector>

#include "sim/accounting/critical_path.hpp"
#include "sim/results/simulation_result.hpp"

namespace sim {

struct Account {
  base::Seconds iteration_time;
  Breakdown breakdown;
  PathTimes path;
  std::vector<double> executed;                       // per class of transfers: how often it ran
  profiles::ByBasis<base::Seconds> compute_by_basis;  // over all simulated devices
  std::uint64_t activities = 0;                       // that were simulated
};

[[nodiscard]] Account account_of(const Accounts& a);

// What one account has more than another.
[[nodiscard]] Account difference(const Account& at, const Account& next);

// Two accounts that differ by a period, continued by so many periods more.
[[nodiscard]] Account continued(const Account& at, const Account& next, double periods);

}  // namespace sim
