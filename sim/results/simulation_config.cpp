#include "sim/results/simulation_config.hpp"

namespace sim {

const profiles::FrameworkProfile& framework_of(const pcg::TrainingConfig& training, const SimulationConfig& config) {
  return config.framework ? *config.framework : profiles::framework_profile(training.framework);
}

}  // namespace sim
