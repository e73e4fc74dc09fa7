#include "search/cost/stage_block.hpp"

#include <algorithm>

namespace search {
namespace {

Run run_alone(const sim::Block& block, const sim::Program& program, const ItemCosts& costs, Hosts hosts) {
  RankStreams streams;
  std::vector<Signal> signals = replay(
      block, program, costs, RankMap{}, hosts, [](sim::EventId) { return 0.0; }, std::span(&streams, 1));
  return {streams.computed(), streams.drained(), streams.synchronised(), streams.synchronising(), streams.host(), std::move(signals)};
}

}  // namespace

StageBlock stage_block(const sim::Block& block, const sim::Program& program, const ItemCosts& costs) {
  // Two runs, since a start later than 0 moves the device's and the host's part by different times.
  StageBlock b{run_alone(block, program, costs, Hosts::ahead), run_alone(block, program, costs, Hosts::in_step), {}};
  for (const sim::Item& item : block.items) {
    b.waits_on.insert(b.waits_on.end(), item.waits_on.begin(), item.waits_on.end());
    const auto* kernels = std::get_if<sim::Compute>(&item.work);
    b.host_waits = b.host_waits || (kernels != nullptr && kernels->host_waits);
    b.host_drains = b.host_drains || (kernels != nullptr && kernels->host_drains);
    b.gathers =
        b.gathers || (kernels != nullptr && std::ranges::any_of(item.after, [&](std::uint32_t i) { return synchronises(block.items[i]); }));
  }
  std::ranges::sort(b.waits_on);
  b.waits_on.erase(std::unique(b.waits_on.begin(), b.waits_on.end()), b.waits_on.end());
  return b;
}

}  // namespace search
