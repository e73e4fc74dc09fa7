#include "search/grid/layer_costs.hpp"

#include <algorithm>

#include "sim/dataflow/flow_graph.hpp"
#include "sim/pricing/price_list.hpp"

namespace search {
namespace {

class LayerCosts {
 public:
  LayerCosts(const pcg::Plan& plan, const sim::FlowGraph& flow, const sim::Oracle& oracle)
      : plan_(plan), flow_(flow), prices_(plan, flow, oracle.cluster(), oracle.framework(plan.training)) {}

  // Of each layer on each device type in use.
  std::vector<std::vector<double>> run(std::span<const int> layer_of_block) {
    const auto layers = static_cast<std::size_t>(std::ranges::max(layer_of_block)) + 1;
    std::vector<std::vector<double>> sums(layers, std::vector<double>(prices_.device_types().size(), 0));
    for (std::uint32_t n = 0; n < plan_.pcg.nodes().size(); ++n) {
      if (!plan_.pcg.nodes()[n].computes()) continue;
      sums_ = &sums[static_cast<std::size_t>(layer_of_block[static_cast<std::size_t>(plan_.pcg.nodes()[n].block)])];
      add_node(n);
    }
    return sums;
  }

 private:
  void add_node(std::uint32_t n) {
    add(prices_.forward(n));
    if (!flow_.needs_gradient[n]) return;
    if (recomputes(n)) add(prices_.forward(n));
    add(prices_.accumulation(n));
    add(prices_.input_gradient(n));
    add(prices_.weight_gradient(n));
    if (plan_.micro_batches > 1) add(prices_.gradient_buffer(n));
  }
  [[nodiscard]] bool recomputes(std::uint32_t n) const {
    const pcg::PcgNode& node = plan_.pcg.nodes()[n];
    if (plan_.recompute == pcg::Recompute::full) return plan_.pcg.blocks()[static_cast<std::size_t>(node.block)].weighty;
    const auto* attention = std::get_if<pcg::Attention>(node.operation());
    return plan_.recompute == pcg::Recompute::selective && attention != nullptr && !attention->flash;
  }
  void add(const sim::Price& price) {
    for (std::size_t type = 0; type < price.on_type.size(); ++type) (*sums_)[type] += price.on_type[type].device.value();
  }

  const pcg::Plan& plan_;
  const sim::FlowGraph& flow_;
  sim::PriceList prices_;
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
