#include "sim/results/simulation_result.hpp"

namespace sim {

const char* to_text(PathKind k) {
  switch (k) {
    case PathKind::operation: return "operator";
    case PathKind::collective: return "collective";
    case PathKind::transfer: return "transfer";
    case PathKind::host: return "host";
    case PathKind::wait: return "wait";
  }
  return "";
}

const profiles::FrameworkProfile& framework_of(const pcg::TrainingConfig& training, const SimulationConfig& config) {
  return config.framework ? *config.framework : profiles::framework_profile(training.framework);
}

}  // namespace sim
