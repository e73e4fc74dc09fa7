#pragma once
// Stages of a pipeline that would not fit with the strategies that are the cheapest anyhow: the cheapest strategies of their operators
// within the memory of their devices, which Alpa's integer program has as a constraint (OSDI'22, section 4.2). Where stages are cut stays
// as it is.

#include <functional>
#include <vector>

#include "search/solve/mapping/mapping.hpp"
#include "search/solve/memory_constrained/constrained_operators.hpp"
#include "search/solve/stages/pipelines.hpp"
#include "search/solve/stages/stage_mapping.hpp"

namespace search {

// Strategies of a stage's operators, by part and operator of the part; the one that ends the part before is in both, and counts there.
using StageStrategies = std::vector<std::vector<std::uint32_t>>;

struct FittingStages {
  std::vector<StageStrategies> strategies;  // by stage
  std::vector<double> seconds;              // of a micro-batch, by stage
  bool are_proved = true;                   // no other strategies of these stages that fit are cheaper
};

class StageMemory {
 public:
  // All outlive the object, whose parts are those of StageMapping. `objective`: bytes cost nothing in it.
  StageMemory(OperatorCatalog& catalog, BranchShapes& shapes, std::vector<const Mapping::Part*> parts, const PipelineConfig& config,
              const Objective& objective, int micro_batches);

  // Bytes that a plan of these strategies leaves on the devices of each stage, where they are fewest; negative: it does not fit.
  using Room = std::function<std::vector<double>(const std::vector<StageStrategies>&)>;
  // From these strategies on, which may fit or not. nullopt: none that fit were found in time.
  // Cost: that of cheapest_within() for each stage and limit that is tried, four at most; and of `room` for each round.
  [[nodiscard]] std::optional<FittingStages> fit(const std::vector<StageRun>& stages, std::vector<StageStrategies> strategies,
                                                 const Room& room, const Budget& budget);

 private:
  struct Stage;
  [[nodiscard]] Stage stage_of(const StageRun& run, std::size_t stages_after);

  std::vector<const Mapping::Part*> parts_;
  Objective objective_;
  int micro_batches_;
  Shortlists lists_;
  Mapping mapping_;
  StageMapping transfers_;
};

}  // namespace search
