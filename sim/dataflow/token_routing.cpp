#include "sim/dataflow/token_routing.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/check.hpp"

namespace sim {
namespace {

template <class Operator>
const Operator* operation_of(const pcg::Plan& plan, std::uint32_t node) {
  const pcg::Operator* op = plan.pcg.nodes()[node].operation();
  return op == nullptr ? nullptr : std::get_if<Operator>(op);
}

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

// In how many ways groups can be taken of some with so many experts: by number of groups and experts of all that are taken.
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

}  // namespace

std::optional<TokenRouting> token_routing(const pcg::Plan& plan, std::uint32_t producer, const Use& use) {
  const auto routing = [&](std::uint32_t node, const auto& op, const pcg::TensorShape& tokens, const pcg::TensorShape& places) {
    const double asked = op.top_k,
                 of_a_token = static_cast<double>(places.sizes[0] * places.sizes[2]) / static_cast<double>(tokens.sizes[1]);
    BASE_CHECK(of_a_token > 0, "operator {} has no places", node);
    return TokenRouting{places.sizes[0], std::min(asked, of_a_token / op.imbalance), op.imbalance / of_a_token, op.groups,
                        op.groups_per_token};
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
  if (!routing || plan.dispatch != pcg::Dispatch::hybridep || operation_of<pcg::MoeDispatch>(plan, producer) == nullptr) return routing;
  const std::int64_t width = plan.pcg.whole_inputs(pcg::NodeId(producer))[0].sizes.back();
  const base::Bytes token = pcg::element_bytes(pcg::Element::real, plan.training.precision) * static_cast<double>(width);
  routing->map = static_cast<double>(routing->experts) / token.value();
  return routing;
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

Movement forwarded(Movement exchange, const TokenRouting& routing, const topology::Cluster& cluster) {
  Round maps;
  for (Round& round : exchange.rounds)
    for (Transfer& t : round) {
      const auto ranks = static_cast<std::int64_t>(t.group.size());
      if (t.kind != CollectiveKind::all_to_all || routing.experts % ranks != 0) continue;
      const std::int64_t of_a_rank = routing.experts / ranks;
      if (routing.map > 0)
        maps.push_back({CollectiveKind::all_gather, t.bytes * (routing.tokens * routing.map * static_cast<double>(ranks)), t.group});
      std::vector<std::int64_t> domains = members_of_domains(t.group, cluster);
      for (std::int64_t& d : domains) d *= of_a_rank;
      const double domains_reached = parts_reached(routing, domains);
      t.bytes = t.bytes * (routing.tokens * domains_reached);
      t.copies = parts_reached(routing, std::vector(t.group.size(), of_a_rank)) / domains_reached;
    }
  if (!maps.empty()) exchange.rounds.insert(exchange.rounds.begin(), std::move(maps));
  return exchange;
}

}  // namespace sim
