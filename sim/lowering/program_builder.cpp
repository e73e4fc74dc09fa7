#include "sim/lowering/lowering.hpp"

#include <algorithm>
#include <utility>

namespace sim {

ProgramBuilder::ProgramBuilder(const CostTable& costs, const profiles::FrameworkProfile& framework, const pcg::Plan& plan)
    : framework_(framework), hosts_launch_(!plan.cuda_graphs) {
  program_.device_types = costs.device_types();
  program_.collective_launch = costs.collective_launch();
  if (!hosts_launch_) std::ranges::fill(program_.collective_launch, base::Seconds(0));
  program_.overlap_stage_boundary = framework.overlap_stage_boundary.of(plan);
  if (hosts_launch_) program_.launch_jitter = framework.host.launch_jitter;
  program_.blocking_launches = hosts_launch_ && framework.blocking_launches;
}

std::uint32_t ProgramBuilder::add_seconds(const Cost& cost, double share) {
  const auto at = static_cast<std::uint32_t>(program_.seconds.size());
  for (const Cost::OnType& on : cost.on_type) {
    program_.seconds.push_back(on.device.value() * share);
    program_.host.push_back(hosts_launch_ ? on.host.value() * share : 0);
    program_.kernels.push_back(on.kernels);
    profiles::ByBasis<double>& by_basis = program_.by_basis.emplace_back();
    for (const profiles::Basis b : profiles::kBases) by_basis[b] = on.by_basis[b].value() * share;
  }
  return at;
}

Part ProgramBuilder::part(std::uint32_t node, std::string_view what, const Cost& cost) {
  if (cost.number >= seconds_of_cost_.size()) seconds_of_cost_.resize(cost.number + 1);
  std::optional<std::uint32_t>& known = seconds_of_cost_[cost.number];
  if (!known) known = add_seconds(cost, 1);
  return {node, what, *known};
}

Part ProgramBuilder::part(std::uint32_t node, std::string_view what, const Cost& cost, double share) {
  const auto [at, is_new] = seconds_of_share_.try_emplace({cost.number, share});
  if (is_new) at->second = add_seconds(cost, share);
  return {node, what, at->second};
}

std::uint32_t ProgramBuilder::times(const std::vector<base::Seconds>& on_type) {
  const auto at = static_cast<std::uint32_t>(program_.seconds.size());
  for (const base::Seconds s : on_type) {
    program_.seconds.push_back(s.value());
    program_.host.push_back(0);
    program_.by_basis.emplace_back();
    program_.kernels.emplace_back();
  }
  return at;
}

void ProgramBuilder::add_host_time(Block& block, std::size_t first, base::Seconds time) {
  if (!hosts_launch_) return;
  for (std::size_t i = first; i < block.items.size(); ++i) {
    Compute* kernels = std::get_if<Compute>(&block.items[i].work);
    if (kernels == nullptr) continue;
    // Others share the part's seconds, so it gets its own.
    const std::uint32_t shared = std::exchange(kernels->parts.front().seconds, static_cast<std::uint32_t>(program_.seconds.size()));
    for (std::size_t t = shared; t < shared + program_.device_types.size(); ++t) {
      program_.seconds.push_back(double{program_.seconds[t]});
      program_.host.push_back(program_.host[t] + time.value() * program_.device_types[t - shared].host_slowdown);
      program_.by_basis.push_back(profiles::ByBasis<double>{program_.by_basis[t]});
      program_.kernels.push_back(std::shared_ptr<const TimedKernels>(program_.kernels[t]));
    }
    return;
  }
}

EventId ProgramBuilder::new_event(Pass pass, int stage) {
  program_.events.push_back({pass, stage});
  return EventId(program_.events.size() - 1);
}

BlockId ProgramBuilder::add(Block block) {
  program_.blocks.push_back(std::move(block));
  return BlockId(program_.blocks.size() - 1);
}

void ProgramBuilder::add_note(base::Fact fact) {
  if (std::ranges::find(program_.notes, fact) == program_.notes.end()) program_.notes.push_back(std::move(fact));
}

const Program& ProgramBuilder::build(PassBlocks blocks, const Interning& interned, const CostTable& costs) {
  static_cast<PassBlocks&>(program_) = std::move(blocks);
  // Numbers are never given anew, so what the program has of the tables is their beginning.
  const auto append_new = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(to.size()), from.end());
  };
  append_new(interned.device_sets(), program_.device_sets);
  append_new(interned.movements(), program_.movements);
  program_.kinds = costs.kinds();
  for (const auto& [generation, share] : costs.assumed_shares())
    add_note(share < 1 ? base::Fact("sustained-assumed", share, generation)
                       : base::Fact("sustained-missing", pcg::name_of(framework_.framework), generation));
  for (const auto& [type, limit] : costs.limits()) {
    const profiles::DeviceProfile& device = profiles::device_profile(type);
    add_note(base::Fact("power-limit", device.name, limit.value(), device.power.value(), profiles::limited(device, limit).clock));
  }
  return program_;
}

Item moving(StreamKind stream, MovementId movement, std::string_view what, std::uint32_t node, std::vector<std::uint32_t> after,
            std::vector<EventId> waits_on) {
  return {Move{movement, stream, what}, node, std::move(after), std::move(waits_on), {}};
}

std::uint32_t append(Block& block, Item item) {
  make_ascending(item.after);
  block.items.push_back(std::move(item));
  return static_cast<std::uint32_t>(block.items.size() - 1);
}

}  // namespace sim
