#include "sim/numbering/deliveries.hpp"

#include <algorithm>
#include <map>

#include "pcg/operators/operator_shapes.hpp"
#include "sim/dataflow/flow_graph.hpp"

namespace sim {

Deliveries::Deliveries(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned)
    : plan_(plan),
      flow_(flow),
      interned_(interned),
      of_input_(flow.origins.size()),
      made_by_(flow.stage_nodes.size(), 0),
      gathered_(flow.origins.size()) {
  for (std::size_t n = 0; n < flow.origins.size(); ++n) of_input_[n].resize(flow.origins[n].size());
  for (std::size_t n = 0; n < flow.uses.size(); ++n) {
    if (!plan.pcg.nodes()[n].computes()) continue;
    std::size_t& made = made_by_[static_cast<std::size_t>(plan.stage[n])];
    for (std::size_t j = 0; j < flow.uses[n].size(); ++j) {
      const LayoutId from = interned.layouts_of(static_cast<std::uint32_t>(n)).outputs[j];
      // A tensor has few readers, and fewer layouts: a map for each is small.
      std::map<LayoutId, DeliveryId> known;  // by the layout that readers want
      for (const Use& use : flow.uses[n][j]) {
        const LayoutId to = interned.layouts_of(use.consumer).inputs[use.input];
        const auto [at, is_new] = known.try_emplace(to, DeliveryId(all_.size()));
        if (is_new)
          all_.push_back({from, to, plan.pcg.nodes()[n].outputs[j].element, is_gathered_cast(plan, flow, use) ? Wire::cast : Wire::stored,
                          how_to_move(plan, static_cast<std::uint32_t>(n), use.consumer),
                          forward_routing(plan, static_cast<std::uint32_t>(n), use), made++, std::nullopt});
        of_input_[use.consumer][use.input] = at->second;
      }
    }
  }
}

MovementId Deliveries::movement(DeliveryId d) {
  Delivery& delivery = all_[d.value];
  if (!delivery.movement)
    delivery.movement = interned_.movement(delivery.from, delivery.to, delivery.element, delivery.wire, delivery.how, delivery.tokens);
  return *delivery.movement;
}

const std::vector<Deliveries::Gathered>& Deliveries::gathered_again(std::uint32_t node) {
  std::optional<std::vector<Gathered>>& known = gathered_[node];
  if (known) return *known;
  known.emplace();
  const std::vector<bool> slots = pcg::weight_slots(*plan_.pcg.nodes()[node].operation(), flow_.origins[node].size());
  if (std::ranges::none_of(slots, [](bool is_weight) { return is_weight; })) return *known;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint32_t producer = flow_.origins[node][i].node.value;
    if (slots[i] || !plan_.pcg.nodes()[producer].computes() || plan_.stage[producer] != plan_.stage[node]) continue;
    // Experts keep the tokens that they take out of what was gathered.
    if (plan_.dispatch == pcg::Dispatch::all_gather && all_[of(node, i)->value].tokens) continue;
    const MovementId m = movement(*of(node, i));
    if (!interned_[m].empty() && only_gathers(interned_[m])) known->push_back({m, producer});
  }
  return *known;
}

GradientSums::GradientSums(const pcg::Plan& plan, const FlowGraph& flow, Interning& interned)
    : interned_(interned), of_input_(flow.origins.size()), sums_for_(flow.uses.size()), made_by_(flow.stage_nodes.size(), 0) {
  for (std::size_t n = 0; n < flow.origins.size(); ++n) of_input_[n].resize(flow.origins[n].size());
  for (std::size_t n = 0; n < flow.uses.size(); ++n) {
    if (!plan.pcg.nodes()[n].computes()) continue;
    for (std::size_t j = 0; j < flow.uses[n].size(); ++j) {
      const LayoutId to = interned.layouts_of(static_cast<std::uint32_t>(n)).output_gradients[j];
      std::map<std::pair<int, LayoutId>, GradientId> known;  // by the readers' stage and layout
      for (const Use& use : flow.uses[n][j]) {
        const int stage = plan.stage[use.consumer];
        const LayoutId from = interned.layouts_of(use.consumer).input_gradients[use.input];
        const auto [at, is_new] = known.try_emplace({stage, from}, GradientId(all_.size()));
        const GradientId id = at->second;
        if (is_new) {
          all_.push_back({stage,
                          from,
                          to,
                          plan.pcg.nodes()[n].outputs[j].element,
                          is_gradient_gathered_cast(plan, flow, static_cast<std::uint32_t>(n)) ? Wire::cast : Wire::stored,
                          how_to_move(plan, use.consumer, static_cast<std::uint32_t>(n)),
                          backward_routing(plan, static_cast<std::uint32_t>(n), use),
                          made_by_[static_cast<std::size_t>(stage)]++,
                          use,
                          {}});
          sums_for_[n].push_back(id);
        }
        // Uses ascend: the first reader is the last that a backward pass comes to, its inputs in order.
        if (all_[id.value].last.consumer == use.consumer) all_[id.value].last = use;
        of_input_[use.consumer][use.input] = id;
      }
    }
  }
}

MovementId GradientSums::movement(GradientId g) {
  Sum& sum = all_[g.value];
  if (!sum.movement) sum.movement = interned_.movement(sum.from, sum.to, sum.element, sum.wire, sum.how, sum.tokens);
  return *sum.movement;
}

}  // namespace sim
