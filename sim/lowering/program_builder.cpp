#include "sim/lowering/program_builder.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace sim {

ProgramBuilder::ProgramBuilder(int stages, const PriceList& prices, const profiles::FrameworkProfile& framework) : framework_(framework) {
  program_.forward.resize(static_cast<std::size_t>(stages));
  for (auto& blocks : program_.backward) blocks.resize(static_cast<std::size_t>(stages));
  program_.device_types = prices.device_types();
  program_.collective_launch = prices.collective_launch();
  program_.overlap_stage_boundary = framework.overlap_stage_boundary;
  program_.launch_jitter = framework.host.launch_jitter;
}

Part ProgramBuilder::part(std::uint32_t node, std::string_view what, const Price& price) {
  const Part p{node, what, static_cast<std::uint32_t>(program_.seconds.size())};
  for (const base::Seconds s : price.device) program_.seconds.push_back(s.value());
  for (const base::Seconds s : price.host) program_.host.push_back(s.value());
  for (const KernelCost& k : price.kernels) program_.seconds_by_basis[k.basis] += k.time.value();
  return p;
}

void ProgramBuilder::add_host_time(const Block& block, std::size_t first, base::Seconds time) {
  for (std::size_t i = first; i < block.items.size(); ++i) {
    const Compute* kernels = std::get_if<Compute>(&block.items[i].work);
    if (kernels == nullptr) continue;
    for (std::size_t t = 0; t < program_.device_types.size(); ++t) program_.host[kernels->parts.front().seconds + t] += time.value();
    return;
  }
}

EventId ProgramBuilder::new_event(Pass pass, int stage) {
  program_.events.push_back({pass, stage});
  return EventId(program_.events.size() - 1);
}

Program ProgramBuilder::build(const Interning& interned, const PriceList& prices) && {
  program_.device_sets = interned.device_sets();
  program_.movements = interned.movements();
  program_.extrapolated = prices.extrapolated();
  for (const std::string& generation : prices.unsustained())
    add_note(fmt::format("products keep their benchmark rate in training: an assumption, {}'s profile has no sustained.{}",
                         pcg::framework_names()[static_cast<std::size_t>(framework_.framework)], generation));
  if (program_.extrapolated) add_note("some kernels lie outside the range that their time model covers");
  return std::move(program_);
}

Item moving(StreamKind stream, MovementId movement, std::string_view what, std::uint32_t node, std::vector<std::uint32_t> after,
            std::vector<EventId> waits_on) {
  return {Move{movement, stream, what}, node, std::move(after), std::move(waits_on), {}};
}

std::uint32_t append(Block& block, Item item) {
  std::sort(item.after.begin(), item.after.end());
  item.after.erase(std::unique(item.after.begin(), item.after.end()), item.after.end());
  block.items.push_back(std::move(item));
  return static_cast<std::uint32_t>(block.items.size() - 1);
}

}  // namespace sim
