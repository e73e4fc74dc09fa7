#include "sim/kernel_sums.hpp"

#include <algorithm>

#include "sim/dataflow/dataflow.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/schedules/schedule.hpp"

namespace sim {
namespace {

class KernelSummer {
 public:
  KernelSummer(const Program& program, const topology::Cluster& cluster, base::DeviceId device)
      : program_(program),
        device_(device),
        type_(static_cast<std::size_t>(std::ranges::find(program.device_types, topology::kind_of(cluster.device(device))) -
                                       program.device_types.begin())) {}

  void add(BlockId id) {
    for (const Item& item : program_.block(id).items) {
      const Compute* kernels = std::get_if<Compute>(&item.work);
      if (kernels == nullptr || !std::ranges::binary_search(program_.device_sets[kernels->devices.value], device_)) continue;
      for (const Part& part : kernels->parts) add(part.seconds + type_);
    }
  }
  [[nodiscard]] std::vector<KernelSum> take() && { return std::move(sums_); }

 private:
  // An entry of Program::seconds may be a share of its kernels.
  void add(std::size_t entry) {
    const TimedKernels* list = program_.kernels[entry].get();
    if (list == nullptr) return;
    base::Seconds whole;
    for (const TimedKernel& k : *list) whole += k.time;
    if (whole.value() <= 0) return;
    const double share = program_.seconds[entry] / whole.value();
    for (const TimedKernel& k : *list)
      add({k.kernel.kind, k.kernel.name, static_cast<double>(k.kernel.serial_launches) * share, k.time * share});
  }
  // Few kinds and names differ: a search through all is quicker than a map of texts.
  void add(const KernelSum& k) {
    const auto at = std::ranges::find_if(sums_, [&](const KernelSum& s) { return s.kind == k.kind && s.name == k.name; });
    if (at == sums_.end()) {
      sums_.push_back(k);
      return;
    }
    at->count += k.count;
    at->time += k.time;
  }

  const Program& program_;
  base::DeviceId device_;
  std::size_t type_;  // index into Program::device_types
  std::vector<KernelSum> sums_;
};

}  // namespace

std::vector<KernelSum> kernel_sums(const pcg::Plan& plan, const topology::Cluster& cluster, base::DeviceId device,
                                   const SimulationConfig& config) {
  const Program program = lower(plan, dataflow_of(plan), cluster, framework_of(plan.training, config));
  KernelSummer sums(program, cluster, device);
  for (int rank = 0; rank < pcg::ranks_of(plan); ++rank)
    for (const Slot& slot : slots_of(schedule_of(plan, plan.micro_batches), rank)) {
      const auto stage = static_cast<std::size_t>(pcg::stage_of(plan.schedule, pcg::ranks_of(plan), rank, slot.chunk));
      sums.add(program.blocks_of(slot.pass, position_of(slot.micro_batch, plan.micro_batches))[stage]);
    }
  sums.add(program.update);
  return std::move(sums).take();
}

}  // namespace sim
