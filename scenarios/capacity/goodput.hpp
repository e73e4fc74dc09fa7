#pragma once
// The share of the time in which a job trains, where it fails now and then and saves checkpoints.
//
// The model: failures come at random with a mean time M between them (exponential), and may come while the job saves or restarts, too. The
// job trains for t, saves for d, and so on. A failure costs what was done since the last checkpoint, and R until the job trains again.
// A segment of t + d is done when nothing fails for so long. Let E be the expected time to get through one, from its start: with
// P = exp(-(t + d) / M) it takes t + d; else the time until the failure, a restart (which may fail and begin again), and E once more:
//   restart: M (exp(R / M) - 1)        segment: E = M exp(R / M) (exp((t + d) / M) - 1)
// so that goodput = t / E, exactly (J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future
// Generation Computer Systems 22, 2006; M. Bougeret et al., Checkpointing strategies for parallel jobs, SC'11, with the same result). The
// first-order 1 - d/t - t/(2M) - R/M is its beginning as a series, and falls below 0 where this does not.

#include "base/units.hpp"

namespace scenarios {

// All above 0 but `checkpoint` and `restart`, which are at least 0.
struct FailureTimes {
  base::Seconds mtbf;        // M: of the job, that of a GPU over the number of GPUs
  base::Seconds checkpoint;  // d: training stops for so long to save
  base::Seconds restart;     // R
};

// Returns t, the training between two checkpoints: Daly's higher-order estimate of the best,
//   sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d  where d < 2M, else M,
// whose first factor is Young's (J. W. Young, Communications of the ACM 17(9), 1974). Its goodput is within 0.2 % of the best there is,
// whatever d; that of Young's alone is so up to d = M/20 only, and 12 % behind at d = M, to which ten thousand GPUs and a slow store come
// near (tests/scenarios/capacity/goodput_test.cpp). 0 where a checkpoint takes no time.
[[nodiscard]] base::Seconds checkpoint_interval(const FailureTimes& times);

// Returns the goodput of a job that trains for `interval` between checkpoints: above 0, below 1, and 0 where a double holds no such small
// number. Requires: interval > 0.
[[nodiscard]] double goodput(const FailureTimes& times, base::Seconds interval);

}  // namespace scenarios
