#include "sim/numbering/gradient_sums.hpp"

#include <map>

#include "sim/dataflow/cast_gathers.hpp"

namespace sim {

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
        // Uses ascend: the first reader is the last that a backward pass comes to, its inputs in turn.
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
