#pragma once
// How an iteration is simulated.

#include <optional>

#include "pcg/plan/plan.hpp"
#include "profiles/framework_profile.hpp"
#include "sim/collectives/plan_collective.hpp"

namespace sim {

struct SimulationConfig {
  bool fold = true;         // simulate devices that do the same thing in the same place once (sim/folding/folding.hpp)
  bool extrapolate = true;  // simulate micro-batches that repeat others once (sim/accounting/steady_state.hpp); not with a trace
  bool trace = false;       // keep spans
  CollectiveConfig collectives;
  std::optional<profiles::FrameworkProfile> framework;  // nullopt: the one that ships for the plan's framework
};

// The framework profile that a plan of this training is simulated with.
[[nodiscard]] const profiles::FrameworkProfile& framework_of(const pcg::TrainingConfig& training, const SimulationConfig& config);

}  // namespace sim
