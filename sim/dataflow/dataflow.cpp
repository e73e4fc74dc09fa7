#include "sim/dataflow/dataflow.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <variant>

#include "base/divisors.hpp"
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

// The patterns of a plan, each once; they stay where they are.
using Patterns = std::set<SyncPattern>;

// Experts' weights and the others are shared out apart: experts of other ranks are no copies (Megatron-Core keeps an optimizer for each
// of the two kinds, with its own data-parallel group).
struct WeightKind {
  int stage = 0;
  bool expert = false;
  auto operator<=>(const WeightKind&) const = default;
};

// A weight as a node of a stage reads it.
struct WeightRead {
  std::uint32_t node, input;
  WeightKind kind;
  const SyncPattern* pattern;
  bool shared;  // its block is one of those that ZeRO applies to
};

// Adds their patterns.
std::vector<WeightRead> weight_reads(const pcg::Plan& plan, const FlowGraph& flow, Patterns& patterns) {
  std::vector<WeightRead> held;
  std::map<std::pair<std::uint32_t, std::uint32_t>, const SyncPattern*> known;  // by the number of the node's layouts, and input
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    const pcg::Operator* op = plan.pcg.nodes()[n].operation();
    const WeightKind kind{plan.stage[n], op != nullptr && std::holds_alternative<pcg::ExpertLinear>(*op)};
    for (std::uint32_t i = 0; i < flow.origins[n].size(); ++i) {
      const pcg::PcgNode& weight = plan.pcg.node(flow.origins[n][i].node);
      if (!weight.is_weight()) continue;
      const SyncPattern*& pattern = known[{flow.layouts.number(n), i}];
      if (pattern == nullptr) pattern = &*patterns.insert({sum_groups(flow.layouts[n].input_gradients[i])}).first;
      held.push_back({n, i, kind, pattern, pcg::zero_of_block(1, plan.memory.zero, weight.block) > 0});
    }
  }
  return held;
}

// The pattern of most elements of each kind. ZeRO shards over it; the few other weights are made to fit it.
std::map<WeightKind, const SyncPattern*> dominant_patterns(const FlowGraph& flow, const std::vector<WeightRead>& held) {
  const auto by_value = [](const auto& a, const auto& b) { return std::tie(a.first, *a.second) < std::tie(b.first, *b.second); };
  std::map<std::pair<WeightKind, const SyncPattern*>, double, decltype(by_value)> elements;
  for (const WeightRead& h : held) elements[{h.kind, h.pattern}] += flow.layouts[h.node].input_gradients[h.input].shard_elements();
  std::map<WeightKind, const SyncPattern*> dominant;
  std::map<WeightKind, double> most;
  for (const auto& [key, count] : elements) {
    if (key.second->empty() || count <= most[key.first]) continue;
    most[key.first] = count;
    dominant[key.first] = key.second;
  }
  return dominant;
}

// A weight's pattern as its kind's main one and what goes across it.
using PatternPair = std::pair<const SyncPattern*, const SyncPattern*>;

PatternPair fitted(const SyncPattern* pattern, const SyncPattern* main, Patterns& patterns) {
  const SyncPattern* none = &*patterns.insert(SyncPattern{}).first;
  if (main == nullptr || pattern->group_size() <= main->group_size()) return {pattern, none};
  SyncPattern rest = across(*pattern, *main);
  if (rest.empty()) return {pattern, none};
  return {main, &*patterns.insert(std::move(rest)).first};
}

// Groups cut into `count` groups of neighbours each, and across these the devices at the same place.
struct CutPattern {
  SyncPattern near, far;
};

// nullopt: a group does not divide.
std::optional<CutPattern> cut_groups(const SyncPattern& whole, std::size_t count) {
  CutPattern parts;
  for (const auto& group : whole.groups) {
    if (group.size() % count != 0) return std::nullopt;
    const std::size_t size = group.size() / count;
    const auto begin = [&](std::size_t g) { return group.begin() + static_cast<std::ptrdiff_t>(g * size); };
    for (std::size_t g = 0; size > 1 && g < count; ++g) parts.near.groups.emplace_back(begin(g), begin(g + 1));
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<base::DeviceId>& copies = parts.far.groups.emplace_back();
      for (std::size_t g = 0; g < count; ++g) copies.push_back(group[g * size + i]);
    }
  }
  std::ranges::sort(parts.near.groups);
  std::ranges::sort(parts.far.groups);
  return parts;
}

// Where a weight's gradients are added up.
struct PatternParts {
  const SyncPattern *main, *across, *replicas;
};

// A kind of weight of a stage, by how its copies lie: one of its reads.
struct CopiedWeight {
  std::uint32_t node, input;
  SyncPatternId copies;
};

std::vector<CopiedWeight> copied_weights(const pcg::Plan& plan, const FlowGraph& flow, const Synchronisation& synchronisation, int zero) {
  std::vector<CopiedWeight> found;
  std::set<std::pair<int, SyncPatternId>> known;
  for (std::uint32_t n = 0; n < plan.pcg.nodes().size(); ++n)
    for (std::uint32_t i = 0; i < flow.origins[n].size(); ++i) {
      const pcg::PcgNode& weight = plan.pcg.node(flow.origins[n][i].node);
      if (!weight.is_weight()) continue;
      const SyncParts& parts = synchronisation.of(n, i);
      const SyncPatternId copies = pcg::zero_of_block(zero, plan.memory.zero, weight.block) >= 1 ? parts.replicas : parts.main;
      if (known.emplace(plan.stage[n], copies).second) found.push_back({n, i, copies});
    }
  return found;
}

}  // namespace

Synchronisation::Synchronisation(const pcg::Plan& plan, const FlowGraph& flow) : parts_(plan.pcg.nodes().size()) {
  Patterns patterns;
  const SyncPattern* none = &*patterns.insert(SyncPattern{}).first;
  const std::vector<WeightRead> held = weight_reads(plan, flow, patterns);
  const std::map<WeightKind, const SyncPattern*> dominant = dominant_patterns(flow, held);
  const auto parts_of = [&](const PatternPair& weight, bool shared) {
    const auto [main, across] = fitted(weight.first, weight.second, patterns);
    PatternParts parts{main, across, none};
    if (plan.memory.zero.groups == 1 || !shared) return parts;
    auto groups = cut_groups(*main, static_cast<std::size_t>(plan.memory.zero.groups));
    divides_ = divides_ && groups;
    if (groups) parts = {&*patterns.insert(std::move(groups->near)).first, across, &*patterns.insert(std::move(groups->far)).first};
    return parts;
  };
  std::map<std::pair<PatternPair, bool>, PatternParts> known;  // by a weight's pattern, its kind's main one, and WeightRead::shared
  std::vector<PatternParts> all;                               // of each weight
  for (const WeightRead& h : held) {
    const auto main = dominant.find(h.kind);
    const PatternPair weight{h.pattern, main == dominant.end() ? nullptr : main->second};
    auto at = known.find({weight, h.shared});
    if (at == known.end()) at = known.emplace(std::pair(weight, h.shared), parts_of(weight, h.shared)).first;
    all.push_back(at->second);
  }
  std::map<const SyncPattern*, SyncPatternId> ids;
  for (const SyncPattern& p : patterns) {
    ids.emplace(&p, SyncPatternId(patterns_.size()));
    patterns_.push_back(p);
  }
  none_ = ids.at(none);
  for (std::size_t n = 0; n < parts_.size(); ++n) parts_[n].resize(flow.origins[n].size());
  for (std::size_t k = 0; k < held.size(); ++k)
    parts_[held[k].node][held[k].input] = {ids.at(all[k].main), ids.at(all[k].across), ids.at(all[k].replicas)};
}

Dataflow dataflow_of(const pcg::Plan& plan) {
  // The synchronisation reads the flow graph's layouts, so the flow graph comes first.
  FlowGraph flow = flow_graph(plan);
  Synchronisation synchronisation(plan, flow);
  return {std::move(flow), std::move(synchronisation)};
}

SyncPattern model_copies(const pcg::Plan& plan, const FlowGraph& flow, const Synchronisation& synchronisation, int zero) {
  const std::vector<CopiedWeight> weights = copied_weights(plan, flow, synchronisation, zero);
  const auto size = [&](const CopiedWeight& w) { return synchronisation.pattern(w.copies).group_size(); };
  if (weights.empty()) return {};
  const std::size_t copies = size(*std::ranges::min_element(weights, {}, size));
  std::map<base::DeviceId, std::size_t> copy_of;
  for (const CopiedWeight& w : weights) {
    // Neighbours in a larger group are one copy.
    for (const auto& group : synchronisation.pattern(w.copies).groups)
      for (std::size_t i = 0; i < group.size(); ++i) copy_of.try_emplace(group[i], i * copies / group.size());
    for (const base::DeviceId d : flow.layouts[w.node].inputs[w.input].devices) copy_of.try_emplace(d, 0);
  }
  SyncPattern all;
  all.groups.resize(copies);
  for (const auto& [device, copy] : copy_of) all.groups[copy].push_back(device);
  std::erase_if(all.groups, [](const auto& group) { return group.size() < 2; });
  return all;
}

std::vector<SyncPattern> steps_of_sum(const SyncPattern& all) {
  std::vector<SyncPattern> steps;
  for (const auto& group : all.groups) {
    std::size_t step = 0, stride = 1;
    for (const std::int64_t prime : base::prime_factors(std::ssize(group))) {
      const auto factor = static_cast<std::size_t>(prime);
      if (step == steps.size()) steps.emplace_back();
      for (std::size_t first = 0; first < group.size(); ++first) {
        if (first / stride % factor != 0) continue;
        auto& together = steps[step].groups.emplace_back();
        for (std::size_t i = 0; i < factor; ++i) together.push_back(group[first + i * stride]);
      }
      stride *= factor;
      ++step;
    }
  }
  return steps;
}

}  // namespace sim
