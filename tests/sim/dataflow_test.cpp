// What operators of equal shape have in common is true of each of them.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "pcg/plan/mapping.hpp"
#include "plan_builder.hpp"
#include "sim/dataflow/dataflow.hpp"

namespace {

// Layers that are whole or cut by samples, inputs or outputs, on devices that begin anywhere.
pcg::Plan draw_mlp() {
  const int layers = *rc::gen::inRange(1, 6), degree = 1 << *rc::gen::inRange(0, 3);
  test::Cuts cuts;
  for (int l = 0; l < layers; ++l) cuts["layer" + std::to_string(l)] = {{*rc::gen::element<std::string>("b", "k", "n"), degree}};
  pcg::Plan plan = test::plan_of(test::mlp(layers, 64, 8), cuts, 2 * degree);
  for (std::size_t n = 0; n < plan.mapping.size(); ++n)
    if (plan.pcg.nodes()[n].computes()) plan.mapping[n].start = base::DeviceId(*rc::gen::inRange(0, degree + 1));
  return plan;
}

}  // namespace

TEST_CASE("a node's layouts are its own, though others may share them") {
  CHECK(rc::check("layouts", [] {
    const pcg::Plan plan = draw_mlp();
    const sim::PlanLayouts layouts(plan);
    for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
      const pcg::PcgNode& node = plan.pcg.nodes()[n];
      if (!node.computes()) {
        RC_ASSERT(layouts[n].points.empty());
        continue;
      }
      const auto inputs = plan.pcg.whole_inputs(pcg::NodeId(n));
      RC_ASSERT(layouts[n].points == pcg::devices_of(plan.mapping[n], node.sharding));
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        RC_ASSERT(layouts[n].inputs[i].shape == plan.pcg.shape(node.inputs[i]));
        RC_ASSERT(layouts[n].input_gradients[i].shape == pcg::input_gradient_shape(*node.space, node.sharding, i, inputs[i]));
      }
      for (std::size_t j = 0; j < node.outputs.size(); ++j) RC_ASSERT(layouts[n].outputs[j].shape == node.outputs[j]);
    }
  }));
}

TEST_CASE("equal layers have one set of layouts and one pattern of synchronisation") {
  const pcg::Plan plan = test::plan_of(test::mlp(5, 64, 8), {{"*", {{"b", 4}}}}, 4);
  const sim::Dataflow data = sim::dataflow_of(plan);
  CHECK(data.flow.layouts.distinct().size() == 3);  // nothing, a layer, the loss
  const std::vector<std::vector<base::DeviceId>> all = {{base::DeviceId(0), base::DeviceId(1), base::DeviceId(2), base::DeviceId(3)}};
  int weights = 0;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n)
    for (std::uint32_t i = 0; i < data.flow.origins[n].size(); ++i) {
      if (!plan.pcg.node(data.flow.origins[n][i].node).is_weight()) continue;
      ++weights;
      const sim::SyncParts& parts = data.synchronisation.of(n, i);
      CHECK(data.synchronisation.pattern(parts.main).groups == all);
      CHECK(data.synchronisation.pattern(parts.across).empty());
      CHECK(data.synchronisation.shared_by(n, i) == 4);
    }
  CHECK(weights == 5);
}
