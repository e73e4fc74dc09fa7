#include "pcg/plan/recomputed_units.hpp"

#include <algorithm>
#include <set>

#include "pcg/work/work.hpp"

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

// Tensors of a node that gradients read: none, its inputs, or its own outputs (the statistics of norms among it).
enum class Kept { nothing, inputs, own };
Kept kept_of(const Plan& plan, std::uint32_t n) {
  const PcgNode& node = plan.pcg.nodes()[n];
  if (!node.computes()) return Kept::nothing;
  const Operator& op = *node.operation();
  const Saved saved = saved_for_backward(op, plan.pcg.shard_inputs(NodeId(n)), plan.pcg.shard_outputs(NodeId(n)), plan.training.precision);
  const bool is_norm = std::holds_alternative<LayerNorm>(op) || std::holds_alternative<BatchNorm>(op);
  if (is_norm || saved.own.value() > 0 || std::ranges::count(saved.outputs, true) > 0) return Kept::own;
  return std::ranges::count(saved.inputs, true) > 0 ? Kept::inputs : Kept::nothing;
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
    case Module::norm: return std::holds_alternative<LayerNorm>(op) && !has_part(node.name, "mamba");
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

std::span<const std::uint32_t> run_again(const Plan& plan, const RecomputedUnit& unit, bool stops_early) {
  std::span<const std::uint32_t> nodes = unit.nodes;
  if (!stops_early || !unit.keeps_outputs) return nodes;
  for (; !nodes.empty(); nodes = nodes.first(nodes.size() - 1)) {
    const Kept kept = kept_of(plan, nodes.back());
    if (kept == Kept::own) return nodes;
    if (kept == Kept::inputs) return nodes.first(nodes.size() - 1);
  }
  return nodes;
}

std::string to_text(const Overlap& overlap) {
  std::string yes, no;
  for (const auto& [word, choice] : kOverlapWords) {
    const std::optional<bool> said = overlap.*choice;
    if (!said) continue;
    std::string& list = *said ? yes : no;
    if (list.empty()) list = *said ? "overlap " : "no overlap of ";
    else list += ", ";
    list += word;
  }
  return yes.empty() || no.empty() ? yes + no : yes + ", " + no;
}

bool is_graphed(const PcgNode& node, const GraphedParts& parts) {
  if (parts == GraphedParts{} || !node.computes()) return false;
  const auto in = [&](std::string_view part) { return has_part(node.name, part); };
  if (in("mamba")) return parts.mamba;
  if (in("attention") || in("norm1")) return parts.attention;
  if (in("mlp")) return parts.mlp;
  if (in("moe")) return parts.router && (in("router") || in("routing") || in("shared") || in("latent_down"));
  return in("norm2") && (parts.mlp || parts.router);
}

}  // namespace pcg
