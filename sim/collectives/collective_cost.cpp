#include "sim/collectives/collective_cost.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/plan_collective.hpp"

namespace sim {
namespace {

// Leaves out links that are no busier than another over any route class.
void keep_busiest(std::vector<std::vector<double>>& loads) {
  std::ranges::sort(loads, std::greater<>());
  std::vector<std::vector<double>> kept;
  for (std::vector<double>& load : loads) {
    const auto covers = [&](const std::vector<double>& k) { return std::ranges::equal(k, load, std::greater_equal<>()); };
    if (std::ranges::none_of(kept, covers)) kept.push_back(std::move(load));
  }
  loads = std::move(kept);
}

using profiles::NetworkProfile;
using profiles::Protocol;

// Sends of a rank's part that follow each other; a rank's own copy of its part counts against them. 0: none is kept at home.
double rounds_of(CollectiveKind kind, Algorithm a, int ranks) {
  if (a != Algorithm::ring && a != Algorithm::pairwise) return 0;
  switch (kind) {
    case CollectiveKind::all_reduce: return 2.0 * (ranks - 1);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all: return ranks - 1.0;
    case CollectiveKind::broadcast:
    case CollectiveKind::send: return 0;
  }
  return 0;
}

bool knows_any(const CollectiveShape& s, const NetworkProfile& profile) {
  for (std::size_t c = 0; c < s.route_classes.size(); ++c)
    if (s.used[c] && std::ranges::any_of(s.route_classes[c].narrowest, [&](const auto& l) { return profile.knows(l.first); })) return true;
  return false;
}

// The cost of a message over routes of one class.
struct MessageCost {
  base::Seconds latency;
  double wire_factor = 1;
};
// nullopt: the library does not use the algorithm with this protocol on one of the route's links.
std::optional<MessageCost> cost_of_message(const RouteClass& c, Algorithm a, const NetworkProfile& profile, Protocol p) {
  base::Seconds overhead;
  double least = 1e300, reached = 1e300;
  for (const auto& [type, bandwidth] : c.narrowest) {
    const profiles::NetworkHop* hop = profile.find(type, a, p);
    if (hop == nullptr && profile.knows(type)) return std::nullopt;
    if (hop != nullptr) overhead = std::max(overhead, hop->latency);
    least = std::min(least, bandwidth.value());
    reached = std::min(reached, bandwidth.value() * (hop != nullptr ? hop->efficiency : 1));
  }
  return MessageCost{c.latency + overhead, c.narrowest.empty() ? 1 : least / reached};
}

// Messages that wait for each other. In lockstep each takes as long as the slowest of them.
base::Seconds seconds_of(const std::vector<Hops>& chain, std::span<const base::Seconds> hop, bool lockstep) {
  base::Seconds sum, slowest;
  double messages = 0;
  for (const Hops& h : chain) {
    sum += hop[h.route_class.value] * h.count;
    slowest = std::max(slowest, hop[h.route_class.value]);
    messages += h.count;
  }
  return lockstep ? slowest * messages : sum;
}

// Adds up latencies and the busiest links' seconds. `hop`: seconds of a message, per route class. `call`: seconds of the call itself.
void sum_up(CollectiveCost& cost, const CollectiveShape& s, std::span<const base::Seconds> hop, base::Seconds call, bool lockstep) {
  for (const PhaseShape& phase : s.phases) {
    const base::Seconds latency = seconds_of(phase.chain, hop, lockstep) + (cost.latency.empty() ? call : base::Seconds(0));
    double busiest = 0;
    for (const std::vector<double>& load : phase.loads) {
      double seconds = 0;
      for (std::size_t c = 0; c < load.size(); ++c) seconds += load[c] * cost.wire_factor[c];
      busiest = std::max(busiest, seconds);
    }
    cost.latency.push_back(latency);
    cost.latency_sum += latency;
    cost.transfer += base::Seconds(busiest);
  }
}

}  // namespace

CollectiveShape ShapeFinder::find(CollectiveKind kind, int ranks, const Collective& plan, std::span<const RouteClass> route_classes) {
  const std::size_t width = route_classes.size();
  CollectiveShape s{kind, plan.algorithm, ranks, {route_classes.begin(), route_classes.end()}, std::vector<bool>(width, false), {}};
  if (const std::size_t needed = cluster_.links().size() * width; seconds_.size() < needed) seconds_.resize(needed, 0);
  for (const CollectivePhase& p : plan.phases) {
    PhaseShape& shape = s.phases.emplace_back(PhaseShape{p.chain, {}});
    for (const Hops& h : p.chain) s.used[h.route_class.value] = true;
    for (const CollectiveFlow& f : p.flows) {
      s.used[f.route_class.value] = true;
      for (const topology::LinkId l : f.links)
        seconds_[l.value * width + f.route_class.value] += (f.bytes / cluster_.link(l).bandwidth).value();
    }
    // Most links of a regular cluster carry the same: each load is kept once.
    std::set<std::vector<double>> distinct;
    for (const CollectiveFlow& f : p.flows)
      for (const topology::LinkId l : f.links) {
        double* const load = seconds_.data() + l.value * width;
        if (std::all_of(load, load + width, [](double x) { return x == 0; })) continue;  // seen
        distinct.emplace(load, load + width);
        std::fill(load, load + width, 0);
      }
    shape.loads.assign(distinct.begin(), distinct.end());
    keep_busiest(shape.loads);
  }
  return s;
}

std::vector<CollectiveShape> collective_shapes(CollectiveKind kind, std::span<const topology::DeviceId> group,
                                               const topology::Cluster& cluster, Relays relays) {
  const std::vector<NodeMembers> nodes = by_node(group, cluster);
  RouteClasses route_classes(cluster);
  const CollectiveRequest request{kind, base::Bytes(1), {}, group, nodes, cluster, true, relays, route_classes, {}};
  ShapeFinder finder(cluster);
  std::vector<CollectiveShape> shapes;
  for (const Algorithm a : kAlgorithms)
    for (const int channels : {kMostChannels, 1})
      if (const std::optional<Collective> c = plan_with(a, request, channels); c && (channels > 1 || nodes.size() > 1))
        shapes.push_back(finder.find(kind, static_cast<int>(group.size()), *c, route_classes.all()));
  return shapes;
}

CollectiveCost cost_of_wires(const CollectiveShape& s) {
  CollectiveCost out;
  std::vector<base::Seconds> hop;
  for (const RouteClass& c : s.route_classes) hop.push_back(c.latency);
  out.wire_factor.assign(s.route_classes.size(), 1);
  // A library pipelines a ring's chunks, so that each hop counts as what it is; by the wires alone its steps follow each other.
  sum_up(out, s, hop, base::Seconds(0), s.algorithm == Algorithm::ring);
  return out;
}

std::optional<CollectiveCost> cost_of(const CollectiveShape& s, const NetworkProfile& profile, Protocol protocol) {
  if (!knows_any(s, profile)) {
    const std::span<const Algorithm> by_wires = automatic_algorithms(nullptr);
    const bool is_used = std::ranges::find(by_wires, s.algorithm) != by_wires.end();
    return is_used && protocol == Protocol::simple ? std::optional(cost_of_wires(s)) : std::nullopt;
  }
  CollectiveCost out;
  base::Seconds call;
  double copy = 1;
  if (const auto at = profile.calls.find(s.kind); at != profile.calls.end()) {
    if (const auto base = at->second.base.find(protocol); base != at->second.base.end()) call = base->second;
    if (const double rounds = rounds_of(s.kind, s.algorithm, s.ranks); rounds > 0) copy += at->second.local / rounds;
  }
  std::vector<base::Seconds> hop;
  for (std::size_t c = 0; c < s.route_classes.size(); ++c) {
    const std::optional<MessageCost> message =
        s.used[c] ? cost_of_message(s.route_classes[c], s.algorithm, profile, protocol) : MessageCost{};
    if (!message) return std::nullopt;
    hop.push_back(message->latency);
    out.wire_factor.push_back(message->wire_factor * copy);
  }
  sum_up(out, s, hop, call, false);
  out.basis = profiles::Basis::fitted;
  return out;
}

void wait_for_rows(CollectiveCost& cost, const CollectiveShape& s, const NetworkProfile& profile, Protocol protocol,
                   const Forwarding& forwarding, base::Bytes bytes) {
  if (s.algorithm != Algorithm::bulk_forwarded) return;
  base::Seconds row;
  for (std::size_t c = 0; c < s.route_classes.size(); ++c)
    for (const auto& [type, bandwidth] : s.route_classes[c].narrowest) {
      const profiles::NetworkHop* hop = s.used[c] ? profile.find(type, s.algorithm, protocol) : nullptr;
      if (hop != nullptr) row = std::max(row, forwarding.sums ? hop->summed_row : hop->sent_row);
    }
  const double rows = forwarding.rows * bytes.value();
  const double stretch = cost.transfer.value() > 0 ? row.value() * rows / cost.transfer.value() : 1;
  if (stretch <= 1) return;
  for (double& factor : cost.wire_factor) factor *= stretch;
  cost.transfer = cost.transfer * stretch;
}

}  // namespace sim
