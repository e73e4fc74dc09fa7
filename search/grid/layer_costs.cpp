#include "search/grid/layer_costs.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "pcg/plan/recomputed_units.hpp"
#include "sim/dataflow/flow_graph.hpp"
#include "sim/kernels/cost_table.hpp"

namespace search {
namespace {

class LayerCosts {
 public:
  LayerCosts(const pcg::Plan& plan, const sim::FlowGraph& flow, const sim::Oracle& oracle)
      : plan_(plan),
        flow_(flow),
        costs_(plan, flow, oracle.cluster(), oracle.framework(plan.training)),
        stops_early_(oracle.framework(plan.training).stops_recomputation_early) {}

  // Of each layer on each device type in use.
  std::vector<std::vector<double>> run(std::span<const int> layer_of_block) {
    const auto layers = static_cast<std::size_t>(std::ranges::max(layer_of_block)) + 1;
    std::vector<std::vector<double>> sums(layers, std::vector<double>(costs_.device_types().size(), 0));
    note_recomputed();
    for (std::uint32_t n = 0; n < plan_.pcg.nodes().size(); ++n) {
      if (!plan_.pcg.nodes()[n].computes()) continue;
      sums_ = &sums[static_cast<std::size_t>(layer_of_block[static_cast<std::size_t>(plan_.pcg.nodes()[n].block)])];
      add_node(n);
    }
    return sums;
  }

 private:
  void add_node(std::uint32_t n) {
    add(costs_.forward(n));
    if (!flow_.needs_gradient[n]) return;
    if (recomputes(n)) add(costs_.forward(n));
    add(costs_.accumulation(n));
    add(costs_.input_gradient(n));
    add(costs_.weight_gradient(n));
    if (plan_.micro_batches > 1) add(costs_.gradient_buffer(n));
  }
  // Which layers are the first of a stage is not known yet: where something is recomputed in those alone, none counts.
  void note_recomputed() {
    if (plan_.memory.recomputed.blocks > 0) return;
    std::vector<std::uint32_t> all(plan_.pcg.nodes().size());
    std::iota(all.begin(), all.end(), 0U);
    for (const pcg::RecomputedUnit& unit : pcg::recomputed_units(plan_, plan_.recompute, all)) {
      const auto again = pcg::run_again(plan_, unit, stops_early_);
      recomputed_.insert(again.begin(), again.end());
    }
  }
  [[nodiscard]] bool recomputes(std::uint32_t n) const {
    if (recomputed_.contains(n)) return true;
    const auto* attention = std::get_if<pcg::Attention>(plan_.pcg.nodes()[n].operation());
    return plan_.recompute == pcg::Recompute::selective && attention != nullptr && !attention->flash;
  }
  void add(const sim::Cost& cost) {
    for (std::size_t type = 0; type < cost.on_type.size(); ++type) (*sums_)[type] += cost.on_type[type].device.value();
  }

  const pcg::Plan& plan_;
  const sim::FlowGraph& flow_;
  sim::CostTable costs_;
  bool stops_early_;
  std::set<std::uint32_t> recomputed_;
  std::vector<double>* sums_ = nullptr;  // of the node's layer
};

}  // namespace

std::vector<double> layer_costs(const pcg::Plan& plan, std::span<const int> layer_of_block, const sim::Oracle& oracle) {
  const sim::FlowGraph flow = sim::flow_graph(plan);
  std::vector<double> slowest;
  for (const std::vector<double>& by_type : LayerCosts(plan, flow, oracle).run(layer_of_block))
    slowest.push_back(std::ranges::max(by_type));
  return slowest;
}

}  // namespace search
