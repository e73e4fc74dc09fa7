#include "sim/lowering/weight_traffic.hpp"

#include "sim/memory/model_states.hpp"

namespace sim {
namespace {

double shard_elements(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return static_cast<double>(l.flow.layouts[node].inputs[input].shape.shard().elements());
}

}  // namespace

base::Bytes weight_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return base::Bytes(model_state_bytes(l.plan.training, l.framework).weight) * shard_elements(l, node, input);
}

base::Bytes gradient_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return base::Bytes(model_state_bytes(l.plan.training, l.framework).gradient) * shard_elements(l, node, input);
}

MovementId in_every_group(const Lowering& l, CollectiveKind kind, const SyncPattern& pattern, base::Bytes bytes) {
  // All groups synchronise at the same time and share links: they make one round.
  Round round;
  for (const auto& group : pattern.groups) round.push_back({kind, bytes, group});
  return l.interned.intern(Movement{{std::move(round)}});
}

}  // namespace sim
