#include "pcg/plan/recomputed_units.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace pcg {
namespace {

bool is_feed_forward(const PcgNode& node) { return has_part(node.name, "mlp") || has_part(node.name, "moe"); }

// The nodes of the layers in which something is recomputed.
std::vector<std::uint32_t> of_recomputed_layers(const Plan& plan, std::span<const std::uint32_t> nodes) {
  std::vector<std::uint32_t> chosen;
  std::set<int> layers;
  const std::vector<int>& only = plan.memory.recomputed.only;
  for (const std::uint32_t n : nodes) {
    const int block = plan.pcg.nodes()[n].block;
    if (!plan.pcg.blocks()[static_cast<std::size_t>(block)].weighty) continue;
    if (!only.empty() && !std::ranges::binary_search(only, block)) continue;
    layers.insert(block);
    const int most = plan.memory.recomputed.blocks;
    if (most > 0 && layers.size() > static_cast<std::size_t>(most)) break;
    chosen.push_back(n);
  }
  return chosen;
}

std::vector<RecomputedUnit> whole_blocks(const Plan& plan, std::span<const std::uint32_t> nodes) {
  std::vector<RecomputedUnit> units;
  int last = -1;
  for (const std::uint32_t n : nodes) {
    const int block = plan.pcg.nodes()[n].block;
    if (block != last) units.push_back({{}, true});
    last = block;
    units.back().nodes.push_back(n);
  }
  return units;
}

std::vector<RecomputedUnit> runs_of_modules(const Plan& plan, std::span<const std::uint32_t> nodes) {
  std::vector<RecomputedUnit> units;
  const PcgNode* last = nullptr;  // the node before, if it is in the last unit
  for (const std::uint32_t n : nodes) {
    const PcgNode& node = plan.pcg.nodes()[n];
    const bool in = std::ranges::any_of(plan.memory.recomputed.modules, [&](Module m) { return is_of(node, m); });
    if (in && (last == nullptr || last->block != node.block)) units.push_back({{}, false});
    if (in) units.back().nodes.push_back(n);
    last = in ? &node : nullptr;
  }
  return units;
}

}  // namespace

bool has_part(std::string_view name, std::string_view part) {
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (name.substr(begin, end - begin) == part) return true;
    begin = end + 1;
  }
  return false;
}

bool is_of(const PcgNode& node, Module module) {
  if (!node.computes()) return false;
  const Operator& op = *node.operation();
  switch (module) {
    case Module::attention: return std::holds_alternative<Attention>(op);
    case Module::norm: return std::holds_alternative<LayerNorm>(op);
    case Module::mlp: return has_part(node.name, "mlp") && !has_part(node.name, "residual");
    case Module::moe: return has_part(node.name, "moe") && !has_part(node.name, "residual");
    case Module::activation: return is_feed_forward(node) && (has_part(node.name, "activation") || has_part(node.name, "product"));
    case Module::mla_up: return has_part(node.name, "q_up") || has_part(node.name, "kv_up");
    case Module::shared: return has_part(node.name, "shared");
  }
  return false;
}

std::vector<RecomputedUnit> recomputed_units(const Plan& plan, Recompute recompute, std::span<const std::uint32_t> nodes) {
  if (recompute == Recompute::full) return whole_blocks(plan, of_recomputed_layers(plan, nodes));
  if (plan.memory.recomputed.modules.empty()) return {};
  return runs_of_modules(plan, of_recomputed_layers(plan, nodes));
}

}  // namespace pcg
