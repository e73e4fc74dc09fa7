#include <algorithm>
#include <array>

#include "profiles/imports/formats/kineto_events.hpp"

namespace imports::kineto {
namespace {

// Operations that a model calls and autograd does not: inside a backward pass they are the forward pass that is run again.
bool is_of_models(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {
      "aten::linear",  "aten::layer_norm", "aten::rms_norm", "aten::scaled_dot_product_attention",
      "aten::dropout", "aten::embedding",  "aten::softmax"};
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace

LaunchedBy launched_by(const Names& names, const RawTrace& raw, const std::vector<std::uint32_t>& parent, std::uint32_t operation) {
  if (operation == kNone) return LaunchedBy::unknown;
  bool of_model = false;
  for (std::uint32_t o = operation; o != kNone; o = parent[o]) {
    const std::string_view name = names[raw.operations[o].name];
    of_model = of_model || is_of_models(name);
    // Checkpointing with an engine of its own (use_reentrant) has evaluate_function of its gradients inside, which is met first.
    if (name.find("CheckpointFunctionBackward") != std::string_view::npos) return LaunchedBy::recompute;
    if (name.starts_with("autograd::engine::evaluate_function")) return of_model ? LaunchedBy::recompute : LaunchedBy::backward;
    if (name.starts_with("Optimizer.") || name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_adam"))
      return LaunchedBy::optimizer;
  }
  return LaunchedBy::forward;
}

}  // namespace imports::kineto
