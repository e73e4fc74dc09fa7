#pragma once
// Margins: how far what a search goes by may be from a simulation, and what is left out for it. All planners take them from here.

namespace search {

// The largest figures of docs/benchmarks.md ("How planners rank"), rounded up to the next twentieth.
// Times the best simulated time: a plan is not simulated whose replay takes that long. Plans of the grid and of layers (1.04), and plans
// whose operators are cut each in its own way (1.08).
inline constexpr double kReplaysErr = 1.05, kReplaysOfCutsErr = 1.1;
// Times the least sum: a chain of layers is neither solved nor replayed that costs as much (1.15).
inline constexpr double kSumsOfLayersErr = 1.15;
// How many times quicker balanced stages are, at most: rough ones that take longer are far, and chains that do are not balanced (1.07).
inline constexpr double kBalancingGains = 1.1;

// Set by hand: they say what is tried, never what a plan takes.
// Of the time before: a smaller gain is none.
inline constexpr double kLeastGain = 0.999;
// Costs of units leave out updates, what replicas exchange, and what only some layers of a stage do.
inline constexpr double kCostsOfUnitsErr = 1.05;
// Bounds of stages count for every operator the longer of its device's and its host's time; hosts that are ahead may make it less.
inline constexpr double kBoundsOfStagesErr = 1.1;
// Where exchanges overlap that bounds of the grid take as serial, this part of a bound is taken to stay.
inline constexpr double kMostOverlapped = 0.6;
// Of the memory of a device: other ranks may need more than the first, of which bounds are; other stages do not help what needs more.
inline constexpr double kLikelyToFit = 0.9, kFarTooLarge = 1.3;
// Times the slowest stage that was tried before, which cheapest_stages() is exact to; stages within the memory that cost so little more
// than the cheapest without a limit are the answer.
inline constexpr double kNextSlowest = 1.01;

}  // namespace search
