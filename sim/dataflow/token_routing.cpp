#include "sim/dataflow/token_routing.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/check.hpp"

namespace sim {
namespace {

// C(n, k): as a floating-point number, as only quotients are wanted.
double choose(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  double c = 1;
  for (std::int64_t i = 0; i < k; ++i) c *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  return c;
}

// That none of `chosen` experts is among `part` of `all`: C(all - part, chosen) / C(all, chosen), for any number of chosen ones.
double missed(double all, std::int64_t part, double chosen) {
  double p = 1;
  for (std::int64_t i = 0; i < part; ++i) p *= std::max(0.0, (all - chosen - static_cast<double>(i)) / (all - static_cast<double>(i)));
  return p;
}

// How many of the experts [begin, end) are in each group that has some.
std::vector<std::int64_t> by_group(std::int64_t begin, std::int64_t end, std::int64_t group) {
  std::vector<std::int64_t> counts;
  for (std::int64_t g = begin / group; g * group < end; ++g) counts.push_back(std::min(end, (g + 1) * group) - std::max(begin, g * group));
  return counts;
}

// The number of choices of groups, by how many groups and how many experts in all are taken.
using Ways = std::map<std::pair<std::int64_t, std::int64_t>, double>;

Ways ways_of(std::span<const std::int64_t> counts) {
  Ways ways{{{0, 0}, 1}};
  for (const std::int64_t experts : counts) {
    Ways next = ways;
    for (const auto& [taken, n] : ways) next[{taken.first + 1, taken.second + experts}] += n;
    ways = std::move(next);
  }
  return ways;
}

// That a token comes to the experts [begin, end).
double reached(const TokenRouting& r, std::int64_t begin, std::int64_t end) {
  const std::int64_t group = r.experts / r.groups;
  const std::vector<std::int64_t> counts = by_group(begin, end, group);
  const auto met = static_cast<std::int64_t>(counts.size());
  const double all = static_cast<double>(group * r.groups_per_token);
  double missing = 0;
  for (const auto& [taken, n] : ways_of(counts))
    missing += n * choose(r.groups - met, r.groups_per_token - taken.first) * missed(all, taken.second, r.per_token);
  return 1 - missing / choose(r.groups, r.groups_per_token);
}

// Members of each domain of an ascending group, in order.
std::vector<std::int64_t> members_of_domains(std::span<const base::DeviceId> group, const topology::Cluster& cluster) {
  std::vector<std::int64_t> members;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i == 0 || cluster.device(group[i]).domain != cluster.device(group[i - 1]).domain) members.push_back(0);
    ++members.back();
  }
  return members;
}

// All ranks of an all-to-all gather the tokens that each has, or `share` of their bytes.
Transfer gather_of_tokens(const Transfer& all_to_all, const TokenRouting& routing, double share) {
  return {CollectiveKind::all_gather, all_to_all.bytes * (routing.tokens * share * static_cast<double>(all_to_all.group.size())),
          all_to_all.group};
}

// Adds to an exchange, which has the bytes of tokens alone, the weights of rows and the number of rows that a rank handles.
void send_rows(Transfer& t, const TokenRouting& routing, std::int64_t domains) {
  const double tokens = t.bytes / routing.token;
  const double members = static_cast<double>(t.group.size()) / static_cast<double>(domains);
  t.bytes += tokens * routing.weight * (static_cast<double>(routing.experts) / static_cast<double>(domains));
  t.forwarding.bulk = true;
  t.forwarding.sums = !routing.to_experts;
  t.forwarding.rows = tokens / t.bytes.value() * (t.forwarding.sums ? t.forwarding.copies : members);
}

// The bytes that HybridEP copies of a token that goes to experts or comes from them. `weighed`: with experts' weights, or their gradients.
void copy_in_bulk(const pcg::Plan& plan, const pcg::TensorShape& tokens, bool weighed, TokenRouting& routing) {
  if (plan.dispatch != pcg::Dispatch::forwarded_sorted) return;
  routing.bulk = true;
  routing.token = pcg::element_bytes(pcg::Element::real, plan.training.precision) * static_cast<double>(tokens.sizes.back());
  if (weighed) routing.weight = kExpertWeight;
}

// The tokens that a dispatch reads or a combine makes.
pcg::TensorShape tokens_of(const pcg::Plan& plan, std::uint32_t producer, const Use& use) {
  if (operation_of<pcg::MoeDispatch>(plan, producer) != nullptr) return plan.pcg.whole_inputs(pcg::NodeId(producer))[0];
  return plan.pcg.whole_outputs(pcg::NodeId(use.consumer))[0];
}

Movement after(Round first, Movement rest) {
  if (!first.empty()) rest.rounds.insert(rest.rounds.begin(), std::move(first));
  return rest;
}

}  // namespace

std::optional<TokenRouting> token_routing(const pcg::Plan& plan, std::uint32_t producer, const Use& use) {
  const auto routing = [&](std::uint32_t node, const auto& op, const pcg::TensorShape& tokens, const pcg::TensorShape& places) {
    const double asked = op.top_k,
                 of_a_token = static_cast<double>(places.sizes[0] * places.sizes[2]) / static_cast<double>(tokens.sizes[1]);
    BASE_CHECK(of_a_token > 0, "operator {} has no places", node);
    const double mean = of_a_token / op.imbalance;
    return TokenRouting{places.sizes[0], std::min(asked, mean), 1 / mean, op.groups, op.groups_per_token, op.imbalance};
  };
  if (const auto* op = operation_of<pcg::MoeDispatch>(plan, producer)) {
    const pcg::NodeId id(producer);
    return routing(producer, *op, plan.pcg.whole_inputs(id)[0], plan.pcg.node(id).outputs[0].whole());
  }
  if (const auto* op = operation_of<pcg::MoeCombine>(plan, use.consumer); op != nullptr && use.input == 0) {
    const pcg::NodeId id(use.consumer);
    const std::vector<pcg::TensorShape> in = plan.pcg.whole_inputs(id);
    return routing(use.consumer, *op, in[1], in[0]);
  }
  return std::nullopt;
}

std::optional<TokenRouting> forward_routing(const pcg::Plan& plan, std::uint32_t producer, const Use& use) {
  std::optional<TokenRouting> routing = token_routing(plan, producer, use);
  if (!routing) return routing;
  routing->to_experts = operation_of<pcg::MoeDispatch>(plan, producer) != nullptr;
  copy_in_bulk(plan, tokens_of(plan, producer, use), routing->to_experts, *routing);
  const bool maps = plan.dispatch == pcg::Dispatch::forwarded_sorted || plan.dispatch == pcg::Dispatch::all_gather;
  if (!maps || !routing->to_experts) return routing;
  const base::Bytes element = pcg::element_bytes(pcg::Element::real, plan.training.precision);
  const double of_an_expert = 1 + (plan.dispatch == pcg::Dispatch::all_gather ? element.value() : 0);
  const auto width = static_cast<double>(plan.pcg.whole_inputs(pcg::NodeId(producer))[0].sizes.back());
  routing->map = static_cast<double>(routing->experts) * of_an_expert / (element.value() * width);
  return routing;
}

std::optional<TokenRouting> backward_routing(const pcg::Plan& plan, std::uint32_t producer, const Use& use) {
  std::optional<TokenRouting> routing = token_routing(plan, producer, use);
  if (!routing) return routing;
  routing->to_experts = operation_of<pcg::MoeCombine>(plan, use.consumer) != nullptr;
  copy_in_bulk(plan, tokens_of(plan, producer, use), !routing->to_experts, *routing);
  return routing;
}

std::int64_t ranks_of_experts(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  std::optional<std::uint32_t> experts;
  if (operation_of<pcg::MoeDispatch>(plan, node) != nullptr && !flow.uses[node][0].empty()) experts = flow.uses[node][0].front().consumer;
  if (operation_of<pcg::MoeCombine>(plan, node) != nullptr) experts = flow.origins[node][0].node.value;
  if (!experts || operation_of<pcg::ExpertLinear>(plan, *experts) == nullptr) return 1;
  const pcg::NodeId id(*experts);
  return plan.pcg.whole_inputs(id)[1].sizes[0] / plan.pcg.shard_inputs(id)[1].sizes[0];
}

double rows_arriving(const pcg::Plan& plan, const FlowGraph& flow, std::uint32_t node) {
  const std::int64_t ranks = ranks_of_experts(plan, flow, node);
  if (ranks == 1) return 1;
  const bool dispatches = operation_of<pcg::MoeDispatch>(plan, node) != nullptr;
  const std::optional<TokenRouting> routing =
      dispatches ? token_routing(plan, node, flow.uses[node][0].front()) : token_routing(plan, flow.origins[node][0].node.value, {node, 0});
  BASE_CHECK(routing, "operator {} brings no tokens", node);
  return parts_reached(*routing, std::vector(static_cast<std::size_t>(ranks), routing->experts / ranks));
}

double parts_reached(const TokenRouting& routing, std::span<const std::int64_t> parts) {
  double sum = 0;
  std::int64_t begin = 0;
  for (const std::int64_t experts : parts) {
    sum += reached(routing, begin, begin + experts);
    begin += experts;
  }
  return sum;
}

Movement of_unequal_experts(Movement exchange, const TokenRouting& routing) {
  for (Round& round : exchange.rounds)
    for (Transfer& t : round) {
      t.bytes = t.bytes / routing.imbalance;
      t.fullest = routing.imbalance;
    }
  return exchange;
}

Movement forwarded(Movement exchange, const TokenRouting& routing, const topology::Cluster& cluster) {
  Round maps;
  for (Round& round : exchange.rounds)
    for (Transfer& t : round) {
      const auto ranks = static_cast<std::int64_t>(t.group.size());
      if (t.kind != CollectiveKind::all_to_all || routing.experts % ranks != 0) continue;
      const std::int64_t of_a_rank = routing.experts / ranks;
      if (routing.map > 0) maps.push_back(gather_of_tokens(t, routing, routing.map));
      std::vector<std::int64_t> domains = members_of_domains(t.group, cluster);
      for (std::int64_t& d : domains) d *= of_a_rank;
      const double domains_reached = parts_reached(routing, domains);
      t.bytes = t.bytes * (routing.tokens * domains_reached);
      t.forwarding.copies = parts_reached(routing, std::vector(t.group.size(), of_a_rank)) / domains_reached;
      if (routing.bulk) send_rows(t, routing, static_cast<std::int64_t>(domains.size()));
    }
  return after(std::move(maps), std::move(exchange));
}

Movement gathered(Movement exchange, const TokenRouting& routing) {
  Round maps;
  for (Round& round : exchange.rounds)
    for (Transfer& t : round) {
      if (t.kind != CollectiveKind::all_to_all) continue;
      if (routing.map > 0) maps.push_back(gather_of_tokens(t, routing, routing.map));
      t = gather_of_tokens(t, routing, 1);
      if (!routing.to_experts) t.kind = CollectiveKind::reduce_scatter;
    }
  return after(std::move(maps), std::move(exchange));
}

}  // namespace sim
