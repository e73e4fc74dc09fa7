#include "sim/lowering/lower.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "sim/lowering/context.hpp"

namespace sim {
namespace {

// The end of a stage's last backward pass on all its devices, for what comes after it.
void mark_end(Lowering& l, int stage) {
  std::vector<base::DeviceId> devices;
  for (std::uint32_t n : l.stage_nodes[static_cast<std::size_t>(stage)]) {
    devices.insert(devices.end(), l.flow.layouts[n].points.begin(), l.flow.layouts[n].points.end());
  }
  const EventId done = l.new_event(Pass::backward, stage);
  Item end{Mark{l.device_set(devices)}, l.stage_nodes[static_cast<std::size_t>(stage)].front(), {}, {}, {done}};
  l.stage_done.push_back(done);
  const MicroBatchPosition last = position_of(l.plan.micro_batches - 1, l.plan.micro_batches);
  l.program.backward[last][static_cast<std::size_t>(stage)].items.push_back(std::move(end));
}

}  // namespace

Program lower(const pcg::Plan& plan, const Dataflow& dataflow, const topology::Cluster& cluster,
              const profiles::FrameworkProfile& framework) {
  Lowering l(plan, dataflow, cluster, framework);
  const auto stages = static_cast<std::size_t>(plan.stages);
  l.program.forward.resize(stages);
  for (auto& blocks : l.program.backward) blocks.resize(stages);
  for (std::size_t s = 0; s < stages; ++s) BASE_CHECK(!l.stage_nodes[s].empty(), "stage {} of plan {} has no operators", s, plan.name);
  for (int s = 0; s < plan.stages; ++s) lower_forward(l, s);
  for (int s = plan.stages - 1; s >= 0; --s) {
    for (int m : {0, 1, plan.micro_batches - 1}) {
      const MicroBatchPosition position = position_of(m, plan.micro_batches);
      if (m < plan.micro_batches && l.program.backward[position][static_cast<std::size_t>(s)].items.empty()) lower_backward(l, s, position);
    }
  }
  for (int s = 0; s < plan.stages; ++s) mark_end(l, s);
  lower_update(l);
  for (const std::string& generation : l.unsustained)
    l.program.notes.push_back(fmt::format("products keep their benchmark rate in training: an assumption, {}'s profile has no sustained.{}",
                                          pcg::framework_names()[static_cast<std::size_t>(framework.framework)], generation));
  if (l.program.extrapolated) l.program.notes.push_back("some kernels lie outside the range that their time model covers");
  return std::move(l.program);
}

}  // namespace sim
