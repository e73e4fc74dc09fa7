#include "sim/lowering/lower.hpp"

#include "base/check.hpp"
#include "sim/lowering/lowering.hpp"

namespace sim {
namespace {

// The end of a stage's last backward pass on all its devices, for what comes after it.
void mark_end(const Lowering& l, int stage) {
  const std::vector<std::uint32_t>& nodes = l.flow.stage_nodes[static_cast<std::size_t>(stage)];
  std::vector<base::DeviceId> devices;
  for (std::uint32_t n : nodes) devices.insert(devices.end(), l.flow.layouts[n].points.begin(), l.flow.layouts[n].points.end());
  const EventId done = l.program.new_event(Pass::backward, stage);
  l.events.add_stage_end(stage, done);
  const MicroBatchPosition last = position_of(l.plan.micro_batches - 1, l.plan.micro_batches);
  l.program.backward(last, stage).items.push_back({Mark{l.interned.device_set(devices)}, nodes.front(), {}, {}, {done}});
}

void lower_passes(const Lowering& l) {
  const pcg::Plan& plan = l.plan;
  for (int s = 0; s < plan.stages; ++s) lower_forward(l, s);
  for (int s = plan.stages - 1; s >= 0; --s) {
    for (int m : {0, 1, plan.micro_batches - 1}) {
      const MicroBatchPosition position = position_of(m, plan.micro_batches);
      if (m < plan.micro_batches && l.program.backward(position, s).items.empty()) lower_backward(l, s, position);
    }
  }
  for (int s = 0; s < plan.stages; ++s) mark_end(l, s);
}

}  // namespace

Lowerer::Lowerer(const pcg::Plan& plan, const Dataflow& data, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework)
    : data_(data), framework_(framework), prices_(plan, data.flow, cluster, framework), interned_(plan, data.flow, cluster) {
  for (int s = 0; s < plan.stages; ++s)
    BASE_CHECK(!data.flow.stage_nodes[static_cast<std::size_t>(s)].empty(), "stage {} of plan {} has no operators", s, plan.name);
}

Program Lowerer::lower(const pcg::Plan& variant) {
  ProgramBuilder program(variant.stages, prices_, framework_);
  Events events;
  const Lowering l{variant, data_.flow, data_.synchronisation, framework_, prices_, interned_, program, events};
  lower_passes(l);
  lower_update(l);
  return std::move(program).build(interned_, prices_);
}

Program lower(const pcg::Plan& plan, const Dataflow& data, const topology::Cluster& cluster, const profiles::FrameworkProfile& framework) {
  return Lowerer(plan, data, cluster, framework).lower(plan);
}

}  // namespace sim
