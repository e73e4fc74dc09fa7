#pragma once
// Facts of a measured iteration before any simulation: what a closed formula goes by, and which plans answer the same question.

#include <string>

#include "base/units.hpp"
#include "profiles/measured/points.hpp"
#include "scenarios/intervals/workload.hpp"

namespace confidence {

struct IterationFacts {
  base::Seconds at_peak;  // the model's FLOPs, without what causal masks throw away, at the dense peak of all GPUs
  std::string machine;    // GPU generation
  std::string precision;  // family: "half", "fp8", ...
  std::string family;     // the model's kind without its sizes: which parts its layers have; of a builtin the name up to its first dash
  // Model, cluster, GPUs, batch, precision and optimizer: plans of equal questions compete. A vocabulary that a plan pads further is the
  // same model's.
  std::string question;
  // All input of the forecast of a time: equal ones are one plan, measured several times.
  std::string plan;
  std::string training;  // of the question the model, the optimizer and the framework
};

// Cost: O(keys of the point).
[[nodiscard]] IterationFacts iteration_facts(const measured::Point& p, const scenarios::WorkloadKind& kind, base::Seconds at_peak);

}  // namespace confidence
