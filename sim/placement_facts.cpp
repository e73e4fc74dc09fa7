#include "sim/placement_facts.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sim {
namespace {

using base::DeviceId;
using topology::Cluster;

// Of groups that exchange something in every layer, ascending: the largest by what it is of, "tensor" or "expert", of those that leave
// their domain.
using LeavingGroups = std::map<std::string_view, std::span<const DeviceId>>;

// Ranks that add up an operator's partial sums are tensor-parallel; those that tokens are dispatched to share experts.
std::optional<std::string_view> kind_of_group(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t producer, CollectiveKind kind) {
  if (operation_of<pcg::MoeDispatch>(plan, producer) != nullptr) return "expert";
  const std::vector<Layout>& made = flow.layouts[producer].outputs;
  const bool sums = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
  return sums && !made.empty() && made.front().shape.sum > 1 ? std::optional("tensor") : std::nullopt;
}

LeavingGroups leaving_groups(const pcg::Plan& plan, const FlowGraph& flow, const Program& program, const Cluster& cluster) {
  LeavingGroups largest;
  for (const BlockId block : program.forward)
    for (const Item& item : program.block(block).items) {
      const Move* move = std::get_if<Move>(&item.work);
      if (move == nullptr || (move->stream != StreamKind::communication && move->stream != StreamKind::experts)) continue;
      for (const Round& round : program.movements[move->movement.value].rounds)
        for (const Transfer& t : round) {
          const auto kind = kind_of_group(plan, flow, item.node, t.kind);
          const auto [first, last] = std::ranges::minmax(t.group);
          if (!kind || cluster.device(first).domain == cluster.device(last).domain) continue;
          if (t.group.size() > largest[*kind].size()) largest[*kind] = t.group;
        }
    }
  return largest;
}

// The most nodes of a domain whose GPUs are a whole number of groups; 0: none are.
int nodes_of_whole_groups(std::size_t group, int gpus_per_node, int most) {
  while (most > 0 && (static_cast<std::size_t>(most) * static_cast<std::size_t>(gpus_per_node)) % group != 0) --most;
  return most;
}

base::Fact fact_of(std::string_view kind, std::span<const DeviceId> group, const Cluster& cluster) {
  const auto [first, last] = std::ranges::minmax(group);
  const std::size_t span = last.value - first.value + 1;
  std::size_t domain = 0;
  for (const DeviceId d : group) domain = std::max(domain, cluster.domain_devices(cluster.device(d).domain).size());
  if (span > domain) return base::Fact("group-crosses-domains", kind, group.size(), span, domain);
  const auto per_node = static_cast<int>(cluster.node_devices(cluster.device(first).node).size());
  const int segment = nodes_of_whole_groups(span, per_node, static_cast<int>(domain) / per_node);
  if (segment > 1) return base::Fact("group-crosses-segments", kind, group.size(), domain, segment);
  return base::Fact("group-crosses-unevenly", kind, group.size(), domain);
}

// The largest all-reduce is the one that a library would leave to switches, if any.
bool reduces_in_switch(const Traffic& traffic, const Program& program, const Cluster& cluster, const CollectiveConfig& config) {
  const Transfer* largest = nullptr;
  for (const TrafficTransfer& t : traffic.transfers) {
    if (t.kind != CollectiveKind::all_reduce || !cluster.in_network_switch(t.members.front())) continue;
    for (const Transfer& of_round : program.movements[t.movement.value].rounds[t.round])
      if (largest == nullptr || of_round.bytes > largest->bytes) largest = &of_round;
  }
  if (largest == nullptr) return false;
  const Algorithm a = plan_collective(largest->kind, largest->bytes, largest->group, cluster, config).algorithm;
  return a == Algorithm::in_switch || a == Algorithm::in_switch_tree;
}

// The narrowest for what it was.
std::optional<base::Fact> partial_link(const Traffic& traffic, const Cluster& cluster) {
  std::string name;
  double left = 1;
  std::size_t partial = 0;
  for (const topology::LinkId id : traffic.links) {
    const topology::Link& l = cluster.link(id);
    if (l.bandwidth >= l.built) continue;
    ++partial;
    if (const double share = l.bandwidth / l.built; share < left) left = share, name = l.name;
  }
  return partial == 0 ? std::nullopt : std::optional(base::Fact("partial-link", left, name, partial - 1));
}

bool shares_any_weight(const pcg::Plan& plan, const Dataflow& data) {
  bool any = false;
  for (const std::vector<std::uint32_t>& nodes : data.flow.stage_nodes)
    each_weight(plan, data.flow, nodes, [&](std::uint32_t n, std::uint32_t i, const pcg::PcgNode& weight) {
      any = any || (weight.is_trained() && data.synchronisation.shared_by(n, i) > 1);
    });
  return any;
}

}  // namespace

std::vector<base::Fact> placement_facts(const pcg::Plan& plan, const Dataflow& dataflow, const Program& program, const Traffic& traffic,
                                        const Cluster& cluster, const CollectiveConfig& config) {
  std::vector<base::Fact> facts;
  for (const auto& [kind, group] : leaving_groups(plan, dataflow.flow, program, cluster)) facts.push_back(fact_of(kind, group, cluster));
  if (plan.zero > 0 && !shares_any_weight(plan, dataflow)) facts.push_back(base::Fact("zero-unused", plan.zero));
  if (std::optional<base::Fact> fact = partial_link(traffic, cluster)) facts.push_back(std::move(*fact));
  if (reduces_in_switch(traffic, program, cluster, config)) facts.push_back(base::Fact("reduced-in-switch"));
  return facts;
}

}  // namespace sim
