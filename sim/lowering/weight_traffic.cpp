#include "sim/lowering/weight_traffic.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "sim/memory/model_states.hpp"
#include "sim/memory/weight_storage.hpp"

namespace sim {
namespace {

base::Bytes gradient_element(const Lowering& l) { return base::Bytes(model_state_bytes(l.plan.training, l.framework).gradient); }

// How many devices add up gradients with each other, of the stage's weights that most share.
std::size_t replicas(const Lowering& l, int stage) {
  std::size_t most = 1;
  for (const HeldWeight& h : trained_weights(l, stage)) most = std::max(most, l.synchronisation.held_by(h.reader, h.input));
  return most;
}

// Requires: the framework has such buckets.
double overlapped_parameters(const Lowering& l, int stage) {
  if (stage > 0) return std::numeric_limits<double>::infinity();
  return l.framework.overlapped_bucket.parameters_among(replicas(l, stage));
}

}  // namespace

int zero_of(const Lowering& l, std::uint32_t weight) {
  return pcg::zero_of_block(l.variant.zero, l.plan.memory.zero, l.plan.pcg.nodes()[weight].block);
}

double shard_elements(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return static_cast<double>(l.flow.layouts[node].inputs[input].shape.shard().elements());
}

std::vector<HeldWeight> held_weights(const Lowering& l, int stage) {
  std::vector<HeldWeight> held;
  const auto& nodes = l.flow.stage_nodes[static_cast<std::size_t>(stage)];
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    for (std::size_t i = 0; i < l.flow.origins[*n].size(); ++i) {
      const pcg::TensorRef from = l.flow.origins[*n][i];
      if (!l.plan.pcg.node(from.node).is_weight()) continue;
      const auto earlier = [&](const Use& u) { return u.consumer < *n && l.plan.stage[u.consumer] == stage; };
      if (std::ranges::none_of(l.flow.uses[from.node.value][0], earlier))
        held.push_back({from.node.value, *n, static_cast<std::uint32_t>(i)});
    }
  }
  return held;
}

std::vector<HeldWeight> trained_weights(const Lowering& l, int stage) {
  std::vector<HeldWeight> held = held_weights(l, stage);
  std::erase_if(held, [&](const HeldWeight& h) { return !l.plan.pcg.nodes()[h.weight].is_trained(); });
  return held;
}

base::Bytes gradient_bucket(const Lowering& l, int stage) {
  if (!l.overlap.gradients || l.framework.overlapped_bucket.empty()) return l.framework.gradient_bucket;
  return gradient_element(l) * overlapped_parameters(l, stage);
}

double weight_bucket(const Lowering& l, int stage) {
  return l.framework.overlapped_bucket.empty() ? l.framework.gradient_bucket / gradient_element(l) : overlapped_parameters(l, stage);
}

base::Bytes gathered_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return base::Bytes(weight_bytes_of(l.plan, l.framework, node, input).gathered * shard_elements(l, node, input));
}

base::Bytes gradient_bytes(const Lowering& l, std::uint32_t node, std::uint32_t input) {
  return gradient_element(l) * shard_elements(l, node, input);
}

bool is_of_unit(const Lowering& l, std::uint32_t node) {
  return l.variant.zero >= 3 && std::ranges::any_of(l.flow.origins[node], [&](pcg::TensorRef from) {
           return l.plan.pcg.node(from.node).is_weight() && zero_of(l, from.node.value) >= 3;
         });
}

void add_host_time_of_units(const Lowering& l, Block& block) {
  if (l.variant.zero < 3 || l.framework.host.unit.value() == 0) return;
  std::set<int> seen;
  for (std::size_t i = 0; i < block.items.size(); ++i) {
    const std::uint32_t node = block.items[i].node;
    if (!std::holds_alternative<Compute>(block.items[i].work) || !is_of_unit(l, node)) continue;
    if (seen.insert(l.plan.pcg.nodes()[node].block).second) l.program.add_host_time(block, i, l.framework.host.unit);
  }
}

Compute work_on_gathered_weight(const Lowering& l, std::uint32_t node) {
  Compute made{l.interned.device_set_of(node), {}};
  if (!is_of_unit(l, node)) return made;
  if (const Cost& copies = l.costs.weight_copy(node); !copies.empty()) made.parts.push_back(l.program.part(node, "weight copy", copies));
  if (const Cost& casts = l.costs.weight_cast(node); !casts.empty()) made.parts.push_back(l.program.part(node, "weight cast", casts));
  return made;
}

MovementId in_every_group(const Lowering& l, CollectiveKind kind, const SyncPattern& pattern, base::Bytes bytes) {
  // All groups synchronise at the same time and share links: they make one round.
  Round round;
  for (const auto& group : pattern.groups) round.push_back({kind, bytes, group});
  return l.interned.intern(Movement{{std::move(round)}});
}

}  // namespace sim
