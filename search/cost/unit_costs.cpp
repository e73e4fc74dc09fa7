#include "search/cost/unit_costs.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace search {
namespace {

// Sums over the items of a unit in a pass.
struct Work {
  std::vector<double> device, host;     // of kernels, per device type
  double moved = 0, move_launched = 0;  // of what moves between the devices of a stage: its seconds, and its hosts'
};

// The work of each unit in a pass, and the part of what moves that kernels wait for.
class PassWork {
 public:
  PassWork(const sim::Program& program, const ItemCosts& costs, std::size_t units)
      : program_(program), costs_(costs), units_(units, {std::vector<double>(types(), 0), std::vector<double>(types(), 0)}) {}

  [[nodiscard]] const Work& of(std::size_t unit) const { return units_[unit]; }
  // The part of the collectives' seconds that kernels wait for them, or are slower beside them.
  [[nodiscard]] double exposed() const { return moved_ > 0 ? std::max(0.0, waited_) / moved_ : 0; }

  // The items of a stage's block, whose kernels end at `computed`.
  void add(const sim::Block& block, const std::function<std::size_t(std::uint32_t)>& unit_of_node, double computed, double pass_host_s) {
    waited_ += computed;
    for (const sim::Item& item : block.items) {
      Work& unit = units_[unit_of_node(item.node)];
      if (const auto* kernels = std::get_if<sim::Compute>(&item.work)) {
        add_kernels(*kernels, unit, std::exchange(pass_host_s, 0));
      } else if (const auto* move = std::get_if<sim::Move>(&item.work)) {
        add_move(*move, unit);
      }
    }
  }

 private:
  [[nodiscard]] std::size_t types() const { return program_.device_types.size(); }

  // `pass_host_s` is part of the launch of the pass's first kernels, and of no unit.
  void add_kernels(const sim::Compute& kernels, Work& unit, double pass_host_s) {
    waited_ -= costs_.kernels_s(kernels);
    for (std::size_t t = 0; t < types(); ++t) {
      unit.host[t] -= pass_host_s * program_.device_types[t].host_slowdown;
      for (const sim::Part& p : kernels.parts) {
        unit.device[t] += program_.seconds[p.seconds + t];
        unit.host[t] += program_.host[p.seconds + t];
      }
    }
  }

  void add_move(const sim::Move& move, Work& unit) {
    const std::vector<double>& rounds = costs_.rounds_s(move);
    if (move.stream == sim::StreamKind::pipeline) {
      if (!program_.overlap_stage_boundary && !rounds.empty()) waited_ -= rounds.front();
      return;
    }
    const double seconds = std::accumulate(rounds.begin(), rounds.end(), 0.0);
    moved_ += seconds;
    unit.moved += seconds;
    unit.move_launched += costs_.launch_s(move);
  }

  const sim::Program& program_;
  const ItemCosts& costs_;
  std::vector<Work> units_;
  double moved_ = 0, waited_ = 0;
};

// On devices of which these are the types: the slowest of them.
UnitSeconds seconds_on(std::span<const std::uint32_t> types, const Work& work, double exposed) {
  UnitSeconds s;
  for (const std::uint32_t t : types) {
    s.device = std::max(s.device, work.device[t]);
    s.host = std::max(s.host, work.host[t]);
  }
  s.device += exposed * work.moved;
  s.host += work.move_launched;
  s.longer = std::max(s.device, s.host);
  return s;
}

}  // namespace

UnitCosts::UnitCosts(const sim::Program& program, const pcg::Plan& plan, const ItemCosts& costs, std::span<const int> unit_of_block,
                     std::size_t units, double pass_host_s, const std::function<double(sim::BlockId)>& computed)
    : ends_(static_cast<std::size_t>(plan.stages), 0) {
  const auto unit_of_node = [&](std::uint32_t n) {
    return static_cast<std::size_t>(unit_of_block[static_cast<std::size_t>(plan.pcg.nodes()[n].block)]);
  };
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n)
    if (plan.pcg.nodes()[n].computes()) base::nth(ends_, plan.stage[n]) = std::max(base::nth(ends_, plan.stage[n]), unit_of_node(n) + 1);
  ends_.back() = units;

  std::map<std::vector<std::uint32_t>, std::size_t> kinds;
  for (const sim::BlockId b : program.forward) {
    const auto& items = program.block(b).items;
    const auto first = std::ranges::find_if(items, [](const sim::Item& i) { return std::holds_alternative<sim::Compute>(i.work); });
    kind_of_stage_.push_back(kinds.try_emplace(costs.types_of(std::get<sim::Compute>(first->work).devices), kinds.size()).first->second);
  }

  until_.resize(kinds.size());
  const sim::MicroBatchPosition position = sim::position_of(std::min(1, plan.micro_batches - 1), plan.micro_batches);
  for (const sim::Pass pass : kUnitPasses) {
    PassWork work(program, costs, units);
    for (const sim::BlockId b : program.blocks_of(pass, position)) work.add(program.block(b), unit_of_node, computed(b), pass_host_s);
    for (const auto& [types, kind] : kinds) {
      std::vector<UnitSeconds>& until = until_[kind][pass];
      until.resize(1);
      for (std::size_t u = 0; u < units; ++u) {
        until.push_back(until.back());
        until.back() += seconds_on(types, work.of(u), work.exposed());
      }
    }
  }
}

UnitSeconds UnitCosts::of(sim::Pass pass, std::size_t stage, std::size_t first, std::size_t end) const {
  const std::vector<UnitSeconds>& until = until_[kind_of_stage_[stage]][pass];
  UnitSeconds s = until[end];
  s -= until[first];
  return s;
}

}  // namespace search
