#include "sim/results/simulation_config.hpp"

namespace sim {

const profiles::FrameworkProfile& framework_of(const pcg::Plan& plan, const SimulationConfig& config) {
  return config.framework ? *config.framework : profiles::framework_profile(plan.training.framework);
}

}  // namespace sim
