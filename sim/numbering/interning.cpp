#include "sim/numbering/interning.hpp"

#include "pcg/plan/low_precision.hpp"
#include "pcg/plan/plan.hpp"

namespace sim {

pcg::BetweenStages how_to_move(const pcg::Plan& plan, std::uint32_t from, std::uint32_t to) {
  const bool crosses = pcg::rank_of(plan, plan.stage[from]) != pcg::rank_of(plan, plan.stage[to]);
  return crosses ? plan.between_stages : pcg::BetweenStages::local_all_gather;
}

Interning::Interning(const pcg::Plan& plan, const FlowGraph& flow, const topology::Cluster& cluster)
    : plan_(plan),
      flow_(flow),
      cluster_(cluster),
      set_of_node_(flow.layouts.distinct().size()),
      internal_forward_(plan.pcg.nodes().size()),
      internal_backward_(plan.pcg.nodes().size()) {
  for (const NodeLayouts& l : flow.layouts.distinct())
    layouts_.push_back({layout_ids(l.inputs), layout_ids(l.outputs), layout_ids(l.input_gradients), layout_ids(l.output_gradients)});
}

std::vector<LayoutId> Interning::layout_ids(const std::vector<Layout>& layouts) {
  std::vector<LayoutId> ids;
  for (const Layout& l : layouts) ids.push_back(layout_id(l));
  return ids;
}

LayoutId Interning::layout_id(const Layout& l) {
  // A layout as one row of numbers: rows compare in one go, where structs of vectors compare member by member.
  std::vector<std::int64_t> key{l.shape.sum, l.shape.copy};
  for (const pcg::ParallelDim& d : l.shape.dims) {
    key.push_back(d.size);
    key.push_back(d.degree);
  }
  for (base::DeviceId d : l.devices) key.push_back(d.value);
  const auto [it, fresh] = layout_numbers_.try_emplace(std::move(key), LayoutId(layout_by_id_.size()));
  if (fresh) layout_by_id_.push_back(&l);
  return it->second;
}

DeviceSetId Interning::device_set(std::span<const base::DeviceId> devices) {
  std::vector<base::DeviceId> sorted(devices.begin(), devices.end());
  make_ascending(sorted);
  const auto [it, fresh] = set_numbers_.try_emplace(std::move(sorted), DeviceSetId(device_sets_.size()));
  if (fresh) device_sets_.push_back(it->first);
  return it->second;
}

DeviceSetId Interning::device_set_of(std::uint32_t node) {
  std::optional<DeviceSetId>& known = set_of_node_[flow_.layouts.number(node)];
  if (!known) known = device_set(flow_.layouts[node].points);
  return *known;
}

DeviceSetId Interning::union_of(const std::set<DeviceSetId>& sets) {
  // The common case: all operators of a stage run on the same devices, of which there may be thousands.
  if (sets.size() == 1) return *sets.begin();
  std::vector<base::DeviceId> devices;
  for (const DeviceSetId s : sets) devices.insert(devices.end(), device_sets_[s.value].begin(), device_sets_[s.value].end());
  return device_set(devices);
}

MovementId Interning::intern(Movement m) {
  const auto [it, fresh] = movement_numbers_.try_emplace(std::move(m), MovementId(movements_.size()));
  if (fresh) movements_.push_back(it->first);
  return it->second;
}

MovementId Interning::movement(const Resharding& r) {
  if (r.wire == Wire::cast) {
    const MovementId gather = movement({r.from, r.to, r.element, Wire::stored, r.how, r.tokens});
    if (!only_gathers(movements_[gather.value])) return gather;  // sums are added up in bf16
  }
  const base::Bytes bytes = r.wire == Wire::cast ? base::Bytes(pcg::operand_format(plan_.training, false).rows)
                                                 : pcg::element_bytes(r.element, plan_.training.precision);
  const bool passed_on = r.tokens && plan_.dispatch != pcg::Dispatch::all_to_all;
  const bool unequal = r.tokens && r.tokens->imbalance > 1;
  const auto [at, is_new] = reshards_.try_emplace({r.from, r.to, bytes.value(), r.how, passed_on || unequal ? r.tokens : std::nullopt});
  if (!is_new) return at->second;
  Movement made = reshard(*layout_by_id_[r.from.value], *layout_by_id_[r.to.value], bytes, cluster_, r.how);
  if (unequal) made = of_unequal_experts(std::move(made), *r.tokens);
  if (passed_on && plan_.dispatch == pcg::Dispatch::all_gather) made = gathered(std::move(made), *r.tokens);
  else if (passed_on) made = forwarded(std::move(made), *r.tokens, cluster_);
  return at->second = intern(std::move(made));
}

InternalMovementIds Interning::numbered(InternalMovements::Side movements) {
  InternalMovementIds ids;
  for (Movement& m : movements.before) ids.before.push_back(intern(std::move(m)));
  for (Movement& m : movements.after) ids.after.push_back(intern(std::move(m)));
  if (!movements.hop.empty()) {
    ids.hop = intern(std::move(movements.hop));
    ids.hops = movements.hops;
  }
  return ids;
}

const InternalMovementIds& Interning::internal_forward(std::uint32_t node) {
  std::optional<InternalMovementIds>& known = internal_forward_[node];
  if (!known) known = numbered(internal_movements(plan_, flow_, node).forward);
  return *known;
}

const InternalMovementIds& Interning::internal_backward(std::uint32_t node) {
  std::optional<InternalMovementIds>& known = internal_backward_[node];
  if (!known) known = numbered(internal_movements(plan_, flow_, node).backward);
  return *known;
}

}  // namespace sim
