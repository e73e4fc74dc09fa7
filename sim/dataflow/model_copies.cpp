#include "sim/dataflow/dataflow.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace sim {
namespace {

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

// Ascending.
std::vector<std::size_t> prime_factors(std::size_t n) {
  std::vector<std::size_t> factors;
  for (std::size_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  if (n > 1) factors.push_back(n);
  return factors;
}

}  // namespace

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
    for (const std::size_t factor : prime_factors(group.size())) {
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
