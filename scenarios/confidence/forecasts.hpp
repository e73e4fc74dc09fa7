#pragma once
// Answers every point as the program would: it becomes a scenario, is planned and simulated, in this process or shared out among worker
// processes. A point that cannot be run is a forecast with a reason and is never dropped.

#include <functional>
#include <string>
#include <vector>

#include "profiles/measured/points.hpp"
#include "scenarios/intervals/pairs.hpp"
#include "scenarios/intervals/workload.hpp"
#include "sim/results/simulation_result.hpp"

namespace confidence {

struct Forecast {
  std::string failure;  // why there is no forecast; empty: there is one
  base::Seconds predicted, low, high;
  base::Bytes peak;              // allocated on the device that has the least room left: without what the context and the libraries take
  base::Bytes reserved;          // what the framework's allocator holds for it
  sim::MemoryUse memory;         // what the peak is made of
  bool out_of_memory = false;    // it ran, and the forecast says that it does not fit
  base::Seconds at_peak;         // the model's FLOPs, without what causal masks throw away, at the dense peak of all GPUs
  scenarios::Workload question;  // what the interval went by
  scenarios::ForecastFacts facts;
};

struct ForecastOptions {
  int jobs = 1;                                    // worker processes
  std::function<void(std::size_t done)> progress;  // may be empty
};

// Returns a forecast per point, in order; they are the same for any `jobs`. Cost: a planning and a simulation per point.
[[nodiscard]] std::vector<Forecast> forecast(const std::vector<measured::Point>& points, const ForecastOptions& options);

}  // namespace confidence
