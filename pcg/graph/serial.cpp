#include "pcg/graph/serial.hpp"

#include <fmt/core.h>

#include "base/check.hpp"

namespace pcg {
namespace {

// What summands mean: their sum. The last addition has the node's name.
GraphTensorRef added(GraphBuilder& builder, const std::string& name, const std::vector<GraphTensorRef>& inputs) {
  if (inputs.size() == 1) return builder.add(name, Unary{.kind = Unary::Kind::identity}, inputs);
  GraphTensorRef sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i)
    sum = builder.add(i + 1 == inputs.size() ? name : fmt::format("{}.{}", name, i), Binary{}, {sum, inputs[i]});
  return sum;
}

}  // namespace

Graph serial(const Pcg& pcg) {
  GraphBuilder builder(pcg.name());
  std::size_t begun = 0;
  auto begin_blocks = [&](std::size_t count) {
    for (; begun < count; ++begun) builder.begin_block(pcg.blocks()[begun]);
  };
  std::vector<std::vector<GraphTensorRef>> made;  // of each PCG node: its outputs in the graph
  for (const PcgNode& n : pcg.nodes()) {
    std::vector<GraphTensorRef> inputs;
    for (TensorRef t : n.inputs) inputs.push_back(made[t.node.value][static_cast<std::size_t>(t.output)]);
    if (n.parallel_operator()) {
      made.push_back({inputs[0]});
      continue;
    }
    begin_blocks(static_cast<std::size_t>(n.block) + 1);
    BASE_CHECK(begun == static_cast<std::size_t>(n.block) + 1, "{}: nodes are not in the order of their blocks", n.name);
    if (std::holds_alternative<Summands>(*n.operation())) made.push_back({added(builder, n.name, inputs)});
    else made.push_back(builder.add_raw(n.name, *n.operation(), std::move(inputs)));
  }
  begin_blocks(pcg.blocks().size());
  return std::move(builder).build();
}

}  // namespace pcg
