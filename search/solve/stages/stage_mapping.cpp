#include "search/solve/stages/stage_mapping.hpp"

#include <algorithm>
#include <limits>

namespace search {

StageMapping::StageMapping(Mapping& mapping, OperatorCatalog& catalog, std::vector<const Mapping::Part*> parts, bool counts_transfers)
    : mapping_(mapping), catalog_(catalog), parts_(std::move(parts)), counts_transfers_(counts_transfers) {}

const BranchCosts& StageMapping::costs(const Mapping::Part& part, DeviceBlock block) {
  const auto [at, is_new] = costs_.try_emplace({&part, catalog_.alike(block)});
  if (is_new) at->second = mapping_.costs(part, block);
  return at->second;
}

// From the block before, of the same size where there are as many devices.
const std::vector<double>& StageMapping::arrival(KindNumber kind, DeviceBlock block) {
  DeviceBlock from{std::max(0, block.start - block.size), std::min(block.start, block.size)};
  block.start -= from.start - catalog_.alike(from).start;
  from = catalog_.alike(from);
  const auto [at, is_new] = arrivals_.try_emplace({kind, block});
  if (!is_new) return at->second;
  const StrategyTable &senders = catalog_.table(kind, from), &receivers = catalog_.table(kind, block);
  for (const std::uint32_t r : mapping_.shortlist(kind, block).strategies) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t s : mapping_.shortlist(kind, from).strategies)
      least = std::min(least, catalog_.transfer_at_least(kind, senders.layouts[s], receivers.layouts[r]));
    at->second.push_back(least);
  }
  return at->second;
}

std::vector<double> StageMapping::before_first(std::size_t begin, DeviceBlock block) {
  const Mapping::Part& part = *parts_[begin];
  if (!part.first) return {0.0};
  const KindNumber kind = part.tree.kinds[*part.first];
  if (!counts_transfers_) return std::vector<double>(mapping_.shortlist(kind, block).strategies.size(), 0.0);
  return arrival(kind, block);
}

double StageMapping::seconds(const StageRun& run) {
  const DeviceBlock alike = catalog_.alike(run.block);
  const auto [at, is_new] = seconds_[alike].try_emplace(run.begin);
  if (is_new) {
    const auto longer = [&](const std::vector<double>& before, std::size_t p) {
      Beginning b{chain_step(before, costs(*parts_[p], run.block)).seconds};
      b.least = *std::ranges::min_element(b.before);
      return b;
    };
    std::map<const Mapping::Part*, Beginning>* known = &beginnings_[alike];
    const std::vector<double> nothing = before_first(run.begin, run.block);
    const std::vector<double>* before = &nothing;
    for (std::size_t p = run.begin; p < parts_.size(); ++p) {
      auto next = known->find(parts_[p]);
      if (next == known->end()) next = known->emplace(parts_[p], longer(*before, p)).first;
      at->second.push_back(next->second.least);
      before = &next->second.before;
      known = &next->second.longer;
    }
  }
  return at->second[run.end - run.begin - 1];
}

std::vector<std::vector<Placed>> StageMapping::place(const StageRun& run) {
  std::vector<ChainStep> steps{ChainStep{before_first(run.begin, run.block)}};
  for (std::size_t p = run.begin; p < run.end; ++p) steps.push_back(chain_step(steps.back().seconds, costs(*parts_[p], run.block)));
  auto last = static_cast<std::uint32_t>(std::ranges::min_element(steps.back().seconds) - steps.back().seconds.begin());
  std::vector<std::vector<Placed>> placed(run.end - run.begin);
  for (std::size_t p = placed.size(); p-- > 0;) {
    const std::uint32_t first = steps[p + 1].came_from[last];
    placed[p] = mapping_.place(*parts_[run.begin + p], run.block, first, last);
    last = first;
  }
  return placed;
}

bool StageMapping::resolve(const StageRun& run, const std::vector<std::vector<Placed>>& placed) {
  bool is_new = false;
  for (std::size_t p = 0; p < placed.size(); ++p) is_new = mapping_.resolve(*parts_[run.begin + p], placed[p]) || is_new;
  if (!is_new) return false;
  // Costs on this block; where branches run side by side, other blocks have parts like it.
  const auto is_stale = [&, own = catalog_.alike(run.block)](DeviceBlock b) { return mapping_.runs_side_by_side() || b == own; };
  std::erase_if(costs_, [&](const auto& known) { return is_stale(known.first.second); });
  std::erase_if(beginnings_, [&](const auto& known) { return is_stale(known.first); });
  std::erase_if(seconds_, [&](const auto& known) { return is_stale(known.first); });
  return true;
}

}  // namespace search
