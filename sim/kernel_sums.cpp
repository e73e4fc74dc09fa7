#include "sim/kernel_sums.hpp"

#include <algorithm>

#include "sim/dataflow/dataflow.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/schedules/schedule.hpp"

namespace sim {
namespace {

// Few kinds and names differ: a search through all is quicker than a map of texts.
void add_sum(std::vector<KernelSum>& sums, const KernelSum& k) {
  const auto at = std::ranges::find_if(sums, [&](const KernelSum& s) { return s.kind == k.kind && s.name == k.name; });
  if (at == sums.end()) {
    sums.push_back(k);
    return;
  }
  at->count += k.count;
  at->time += k.time;
}

// An entry of Program::seconds may be a share of its kernels.
void add_entry(std::vector<KernelSum>& sums, const Program& program, std::size_t entry) {
  const TimedKernels* list = program.kernels[entry].get();
  if (list == nullptr) return;
  base::Seconds whole;
  for (const TimedKernel& k : *list) whole += k.time;
  if (whole.value() <= 0) return;
  const double share = program.seconds[entry] / whole.value();
  for (const TimedKernel& k : *list)
    add_sum(sums, {k.kernel.kind, k.kernel.name, static_cast<double>(k.kernel.serial_launches) * share, k.time * share});
}

}  // namespace

std::vector<KernelSum> kernel_sums(const pcg::Plan& plan, const topology::Cluster& cluster, base::DeviceId device,
                                   const SimulationConfig& config) {
  const Program program = lower(plan, dataflow_of(plan), cluster, framework_of(plan.training, config));
  const auto type = std::ranges::find(program.device_types, topology::kind_of(cluster.device(device))) - program.device_types.begin();
  std::vector<KernelSum> sums;
  const auto add = [&](BlockId id) {
    for (const Item& item : program.block(id).items) {
      const Compute* kernels = std::get_if<Compute>(&item.work);
      if (kernels == nullptr || !std::ranges::binary_search(program.device_sets[kernels->devices.value], device)) continue;
      for (const Part& part : kernels->parts) add_entry(sums, program, part.seconds + static_cast<std::size_t>(type));
    }
  };
  for (int rank = 0; rank < pcg::ranks_of(plan); ++rank)
    for (const Slot& slot : slots_of(schedule_of(plan, plan.micro_batches), rank)) {
      const int stage = pcg::stage_of(plan.schedule, pcg::ranks_of(plan), rank, slot.chunk);
      add(program.blocks_of(slot.pass, position_of(slot.micro_batch, plan.micro_batches))[static_cast<std::size_t>(stage)]);
    }
  add(program.update);
  return sums;
}

}  // namespace sim
