#include "sim/results/simulation_result.hpp"

#include <array>

namespace sim {

const char* to_text(PathKind k) {
  constexpr std::array kNames = {"operator", "collective", "transfer", "host", "wait"};
  return kNames.at(static_cast<std::size_t>(k));
}

std::string_view to_text(SpanPass p) {
  constexpr std::array<std::string_view, 4> kNames = {"forward", "recompute", "backward", "update"};
  return kNames.at(static_cast<std::size_t>(p));
}

const profiles::FrameworkProfile& framework_of(const pcg::TrainingConfig& training, const SimulationConfig& config) {
  return config.framework ? *config.framework : profiles::framework_profile(training.framework);
}

}  // namespace sim
