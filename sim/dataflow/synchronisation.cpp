#include "sim/dataflow/synchronisation.hpp"

#include <algorithm>

#include "sim/dataflow/movement.hpp"

namespace sim {
namespace {

// Splits groups that are unions of equally many of `main`'s groups: members at the same place of those join. Nothing where it does not fit.
SyncPattern across(const SyncPattern& whole, const SyncPattern& main) {
  std::map<base::DeviceId, std::pair<std::size_t, std::size_t>> place;  // device -> group and position in main
  for (std::size_t g = 0; g < main.groups.size(); ++g) {
    for (std::size_t i = 0; i < main.groups[g].size(); ++i) place[main.groups[g][i]] = {g, i};
  }
  SyncPattern out;
  for (const auto& group : whole.groups) {
    std::map<std::size_t, std::vector<base::DeviceId>> by_position;
    std::map<std::size_t, std::size_t> members;  // of each group of main
    for (base::DeviceId d : group) {
      const auto it = place.find(d);
      if (it == place.end()) return {};
      by_position[it->second.second].push_back(d);
      ++members[it->second.first];
    }
    for (const auto& [g, count] : members) {
      if (count != main.groups[g].size()) return {};
    }
    for (auto& [position, devices] : by_position) out.groups.push_back(devices);
  }
  std::sort(out.groups.begin(), out.groups.end());
  return out;
}

}  // namespace

Synchronisation::Synchronisation(const pcg::Plan& plan, const FlowGraph& flow) {
  struct Held {
    int stage;
    SyncPattern pattern;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Held> held;
  std::map<std::pair<int, SyncPattern>, double> bytes;
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    for (std::size_t i = 0; i < flow.origins[n].size(); ++i) {
      if (!plan.pcg.node(flow.origins[n][i].node).is_weight()) continue;
      const Layout& gradient = flow.layouts[n].input_gradients[i];
      Held h{plan.stage[n], {sum_groups(gradient)}};
      bytes[{h.stage, h.pattern}] += static_cast<double>(gradient.shape.shard().elements());
      held.emplace(std::pair{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(i)}, std::move(h));
    }
  }
  // ZeRO shards over the pattern that most of a stage's elements have; the few others are made to fit it.
  std::map<int, std::pair<double, const SyncPattern*>> dominant;  // of each stage: the pattern of most elements
  for (const auto& [key, size] : bytes) {
    auto& best = dominant[key.first];
    if (!key.second.empty() && size > best.first) best = {size, &key.second};
  }
  for (auto& [key, h] : held) {
    const SyncPattern* main = dominant[h.stage].second;
    SyncParts parts{h.pattern, {}};
    if (main && h.pattern.group_size() > main->group_size()) {
      SyncPattern rest = across(h.pattern, *main);
      if (!rest.empty()) parts = {*main, std::move(rest)};
    }
    parts_.emplace(key, std::move(parts));
  }
}

}  // namespace sim
