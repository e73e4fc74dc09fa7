#include "sim/numbering/deliveries.hpp"

#include <algorithm>
#include <map>

#include "pcg/operators/operator_shapes.hpp"

namespace sim {

Deliveries::Deliveries(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned)
    : Resharded(flow, interned), plan_(plan), flow_(flow), gathered_(flow.origins.size()) {
  for (std::uint32_t n = 0; n < flow.uses.size(); ++n) {
    if (!plan.pcg.nodes()[n].computes()) continue;
    for (std::size_t j = 0; j < flow.uses[n].size(); ++j) {
      const LayoutId from = interned.layouts_of(n).outputs[j];
      // A tensor has few readers, and fewer layouts: a map for each is small.
      std::map<LayoutId, DeliveryId> known;  // by the layout that readers want
      for (const Use& use : flow.uses[n][j]) {
        const LayoutId to = interned.layouts_of(use.consumer).inputs[use.input];
        const auto [at, is_new] = known.try_emplace(to, DeliveryId(all_.size()));
        if (is_new)
          add({from, to, plan.pcg.nodes()[n].outputs[j].element, is_gathered_cast(plan, flow, use) ? Wire::cast : Wire::stored,
               how_to_move(plan, n, use.consumer), forward_routing(plan, n, use)},
              plan.stage[n]);
        of_input_[use.consumer][use.input] = at->second;
      }
    }
  }
}

const std::vector<Deliveries::Gathered>& Deliveries::gathered_again(std::uint32_t node) {
  std::optional<std::vector<Gathered>>& known = gathered_[node];
  if (known) return *known;
  known.emplace();
  const std::vector<bool> slots = pcg::weight_slots(*plan_.pcg.nodes()[node].operation(), flow_.origins[node].size());
  if (std::ranges::count(slots, true) == 0) return *known;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint32_t producer = flow_.origins[node][i].node.value;
    if (slots[i] || !plan_.pcg.nodes()[producer].computes() || plan_.stage[producer] != plan_.stage[node]) continue;
    // Experts keep the tokens that they take out of what was gathered.
    if (plan_.dispatch == pcg::Dispatch::all_gather && all_[of(node, i)->value].resharding.tokens) continue;
    const MovementId m = movement(*of(node, i));
    if (!interned_[m].empty() && only_gathers(interned_[m])) known->push_back({m, producer});
  }
  return *known;
}

GradientSums::GradientSums(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned)
    : Resharded(flow, interned), sums_for_(flow.uses.size()) {
  for (std::uint32_t n = 0; n < flow.uses.size(); ++n) {
    if (!plan.pcg.nodes()[n].computes()) continue;
    for (std::size_t j = 0; j < flow.uses[n].size(); ++j) {
      const LayoutId to = interned.layouts_of(n).output_gradients[j];
      std::map<std::pair<int, LayoutId>, GradientId> known;  // by the readers' stage and layout
      for (const Use& use : flow.uses[n][j]) {
        const int stage = plan.stage[use.consumer];
        const LayoutId from = interned.layouts_of(use.consumer).input_gradients[use.input];
        const auto [at, is_new] = known.try_emplace({stage, from}, GradientId(all_.size()));
        const GradientId id = at->second;
        if (is_new) {
          add({from, to, plan.pcg.nodes()[n].outputs[j].element, is_gradient_gathered_cast(plan, flow, n) ? Wire::cast : Wire::stored,
               how_to_move(plan, use.consumer, n), backward_routing(plan, n, use)},
              stage);
          readers_.push_back({stage, use});
          sums_for_[n].push_back(id);
        }
        // Uses ascend: the first reader is the last that a backward pass comes to, its inputs in order.
        if (readers_[id.value].last.consumer == use.consumer) readers_[id.value].last = use;
        of_input_[use.consumer][use.input] = id;
      }
    }
  }
}

}  // namespace sim
