#pragma once
// The parts of a measurement besides kernels. Each takes what time it is given, and leaves out what does not fit, saying so.

#include <chrono>
#include <string>
#include <vector>

#include "tools/collector/cuda/bench.cuh"
#include "tools/collector/results.hpp"

namespace collector {

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  [[nodiscard]] bool passed() const { return Clock::now() >= end_; }
  [[nodiscard]] double left_s() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
};

void measure_copies(const Device& d, const Deadline& until, Results& results);
void measure_launches(Results& results);
void measure_overlap(Bench& b, const Deadline& until, Results& results);
[[nodiscard]] std::string nccl_version();  // "2.28.3"; empty: built without
void measure_collectives(const Device& d, const Deadline& until, Results& results);

}  // namespace collector
