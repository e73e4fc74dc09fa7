#include "sim/collectives/plan_collective.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.hpp"
#include "sim/collectives/algorithms.hpp"

namespace sim {
namespace {

using profiles::NetworkProfile;
using profiles::Protocol;

// A plan by one algorithm, without costs, and its shape; what it costs with each protocol, and by the wires alone, once somebody asked.
// nullopt inside: the library does not use the algorithm with this protocol here.
struct Candidate {
  Collective plan;
  CollectiveShape shape;
  std::map<Protocol, std::optional<CollectiveCost>> by_protocol = {};
  std::optional<CollectiveCost> by_wires = {};
};

// The candidate that is the quickest of some, and with which protocol.
struct Pick {
  Candidate* candidate = nullptr;
  const CollectiveCost* cost = nullptr;
  std::optional<Protocol> protocol;
};

// The plans of one group. Candidates are found once, however many protocols they are asked about with.
class GroupPlans {
 public:
  GroupPlans(CollectiveKind kind, base::Bytes bytes, const Forwarding& forwarding, std::span<const topology::DeviceId> group,
             const topology::Cluster& cluster, const NetworkProfile* profile, ShapeFinder& finder)
      : profile_(profile),
        finder_(finder),
        nodes_(by_node(group, cluster)),
        route_classes_(cluster),
        request_{.kind = kind,
                 .bytes = bytes,
                 .forwarding = forwarding,
                 .group = group,
                 .nodes = nodes_,
                 .cluster = cluster,
                 .profiled = profile != nullptr,
                 .relays = profile != nullptr && profile->relays ? Relays::by_gpus : Relays::none,
                 .route_classes = route_classes_,
                 .known_channels = {}} {
    for (const NodeMembers& n : nodes_)
      BASE_CHECK(std::ranges::adjacent_find(n.members) == n.members.end(), "a device takes part twice in one {}", to_text(kind));
  }
  GroupPlans(const GroupPlans&) = delete;
  GroupPlans& operator=(const GroupPlans&) = delete;

  // The algorithm that is asked for; where the library does not have it here, and it may give way, its own; where it has none here, by the
  // wires alone.
  [[nodiscard]] Pick pick(const CollectiveChoice& asked, bool gives_way = true) {
    Pick best;
    const auto attempt = [&](std::span<const Algorithm> algorithms, const NetworkProfile* with, std::optional<Protocol> protocol) {
      if (best.candidate == nullptr) best = quickest(algorithms, with, protocol);
    };
    if (asked.algorithm != Algorithm::automatic) attempt(std::array{asked.algorithm}, profile_, asked.protocol);
    if (!gives_way) return best;
    attempt(automatic_algorithms(profile_), profile_, asked.protocol);
    if (asked.protocol) attempt(automatic_algorithms(profile_), profile_, std::nullopt);
    if (profile_ != nullptr) attempt(automatic_algorithms(nullptr), nullptr, std::nullopt);
    BASE_CHECK(best.candidate != nullptr && !best.candidate->plan.phases.empty(), "no algorithm for {} among {} devices",
               to_text(request_.kind), request_.group.size());
    return best;
  }

 private:
  Pick quickest(std::span<const Algorithm> algorithms, const NetworkProfile* profile, std::optional<Protocol> protocol) {
    Pick best;
    for (const Algorithm a : algorithms)
      for (Candidate& c : candidates(a)) {
        const Pick pick = costed(c, profile, protocol);
        if (pick.candidate != nullptr && (best.candidate == nullptr || pick.cost->total() < best.cost->total())) best = pick;
      }
    return best;
  }

  // Many channels and one: several NICs help unless the wires to them are what is short. Cycles inside a node only take what is left of
  // the wires, so there more is never worse.
  std::vector<Candidate>& candidates(Algorithm a) {
    const auto [at, is_new] = candidates_.try_emplace(a);
    if (!is_new) return at->second;
    for (const int channels : {kMostChannels, 1}) {
      std::optional<Collective> c = plan_with(a, request_, channels);
      if (!c) break;
      const bool single = c->rings == 1 || nodes_.size() == 1 || a == Algorithm::hierarchical;
      CollectiveShape shape = finder_.find(request_.kind, static_cast<int>(request_.group.size()), *c, route_classes_.all());
      at->second.push_back({.plan = std::move(*c), .shape = std::move(shape)});
      if (single) break;
    }
    return at->second;
  }

  const std::optional<CollectiveCost>& cost(Candidate& c, const NetworkProfile& profile, Protocol p) const {
    const auto [at, is_new] = c.by_protocol.try_emplace(p);
    if (!is_new) return at->second;
    at->second = cost_of(c.shape, profile, p);
    if (at->second) wait_for_rows(*at->second, c.shape, profile, p, request_.forwarding, request_.bytes);
    return at->second;
  }

  // By the quickest protocol, or the one asked for; by the wires alone without a profile.
  Pick costed(Candidate& c, const NetworkProfile* profile, std::optional<Protocol> protocol) const {
    if (profile == nullptr) {
      if (!c.by_wires) c.by_wires = cost_of_wires(c.shape);
      return {&c, &*c.by_wires, std::nullopt};
    }
    Pick least;
    for (const Protocol p : profiles::kProtocols) {
      if (protocol && *protocol != p) continue;
      const std::optional<CollectiveCost>& with = cost(c, *profile, p);
      if (!with || (least.candidate != nullptr && with->total() >= least.cost->total())) continue;
      least = {&c, &*with, with->basis != profiles::Basis::defaults ? std::optional(p) : std::nullopt};
    }
    return least;
  }

  const NetworkProfile* profile_;
  ShapeFinder& finder_;
  std::vector<NodeMembers> nodes_;
  RouteClasses route_classes_;
  CollectiveRequest request_;
  std::map<Algorithm, std::vector<Candidate>> candidates_;
};

// The plan with the costs that were found for it.
Collective with_costs(Collective plan, const Pick& pick) {
  for (std::size_t i = 0; i < plan.phases.size(); ++i) {
    plan.phases[i].latency = pick.cost->latency[i];
    for (CollectiveFlow& f : plan.phases[i].flows) f.wire_factor = pick.cost->wire_factor[f.route_class.value];
  }
  plan.estimate = pick.cost->total();
  plan.basis = pick.cost->basis;
  plan.protocol = pick.protocol;
  return plan;
}

const NetworkProfile* profile_of(const topology::Cluster& cluster, const CollectiveConfig& config) {
  if (config.network != nullptr) return config.network;
  return cluster.network_profile().empty() ? nullptr : &profiles::network_profile(cluster.network_profile());
}

void check(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group) {
  BASE_CHECK(!group.empty() && bytes.value() >= 0, "{} of {} B among {} devices", to_text(kind), bytes.value(), group.size());
}

}  // namespace

void Messages::send(topology::DeviceId from, topology::DeviceId to, topology::Route route, base::Bytes bytes, CollectivePhase& phase,
                    int copies) {
  const RouteClassId c = r_.route_classes.of(route);
  if (!slowest_ || r_.route_classes[c].latency > r_.route_classes[*slowest_].latency) slowest_ = c;
  phase.flows.push_back({.from = from, .to = to, .links = std::move(route.links), .bytes = bytes, .route_class = c, .copies = copies});
}

void Messages::send(const NodeMembers& node, topology::DeviceId from, topology::DeviceId to, base::Bytes bytes, CollectivePhase& phase) {
  std::vector<topology::Route> routes = message_routes(from, to, node.members, r_.cluster, r_.relays);
  for (topology::Route& route : routes) send(from, to, std::move(route), bytes / static_cast<double>(routes.size()), phase);
}

const std::vector<Channel>& CollectiveRequest::channels(int most) const {
  // Several algorithms ask for the same channels, and finding them is most of what planning a collective costs.
  const auto [at, is_new] = known_channels.try_emplace(most);
  if (is_new) at->second = find_channels(nodes, cluster, most, relays);
  return at->second;
}

std::optional<Collective> plan_with(Algorithm a, const CollectiveRequest& r, int channels) {
  switch (a) {
    case Algorithm::ring: return plan_ring(r, channels);
    case Algorithm::tree: return plan_tree(r, channels);
    case Algorithm::hierarchical: return plan_hierarchical(r, channels);
    case Algorithm::in_switch:
    case Algorithm::in_switch_tree: return plan_in_switch(a, r);
    case Algorithm::pairwise: return plan_pairwise(r);
    case Algorithm::forwarded:
    case Algorithm::bulk_forwarded: return plan_forwarded(a, r);
    case Algorithm::automatic: break;
  }
  base::fail_check(__FILE__, __LINE__, "one algorithm", "automatic is a choice among algorithms");
}

std::span<const Algorithm> automatic_algorithms(const NetworkProfile* profile) {
  static constexpr std::array kByWires = {Algorithm::ring,     Algorithm::tree,      Algorithm::in_switch,     Algorithm::in_switch_tree,
                                          Algorithm::pairwise, Algorithm::forwarded, Algorithm::bulk_forwarded};
  if (profile != nullptr) return kAlgorithms;
  return kByWires;
}

CollectivePlanner::CollectivePlanner(const topology::Cluster& cluster, const CollectiveConfig& config)
    : cluster_(cluster), config_(config), profile_(profile_of(cluster, config)), finder_(cluster) {}

Collective CollectivePlanner::plan(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                                   const Forwarding& forwarding) {
  check(kind, bytes, group);
  if (group.size() == 1) return {};
  GroupPlans plans(kind, bytes, forwarding, group, cluster_, profile_, finder_);
  const Pick pick = plans.pick({config_.algorithm, config_.protocol});
  return with_costs(std::move(pick.candidate->plan), pick);
}

// An algorithm that the config asks for may fall back.
bool CollectivePlanner::applies(const CollectiveChoice& choice, const CollectiveChoice& made) const {
  return (choice.algorithm == config_.algorithm || made.algorithm == choice.algorithm) &&
         (choice.protocol == config_.protocol || made.protocol == choice.protocol);
}

std::vector<std::optional<Collective>> CollectivePlanner::plan_each(CollectiveKind kind, base::Bytes bytes,
                                                                    std::span<const topology::DeviceId> group,
                                                                    std::span<const CollectiveChoice> choices,
                                                                    const Forwarding& forwarding) {
  check(kind, bytes, group);
  if (group.size() == 1) return std::vector(choices.size(), std::optional(Collective{}));
  std::vector<std::optional<Collective>> result(choices.size());
  GroupPlans plans(kind, bytes, forwarding, group, cluster_, profile_, finder_);
  for (std::size_t c = 0; c < choices.size(); ++c) {
    const Pick pick = plans.pick(choices[c], choices[c].algorithm == config_.algorithm || choices[c].protocol == config_.protocol);
    if (pick.candidate != nullptr && applies(choices[c], {pick.candidate->plan.algorithm, pick.protocol}))
      result[c] = with_costs(pick.candidate->plan, pick);
  }
  return result;
}

Collective plan_collective(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                           const topology::Cluster& cluster, const CollectiveConfig& config) {
  return CollectivePlanner(cluster, config).plan(kind, bytes, group);
}

TaskGraph collective_graph(std::span<const Collective> collectives, const topology::Cluster& cluster) {
  TaskGraph g;
  std::map<topology::LinkId, std::uint32_t> links;
  std::map<std::pair<std::vector<topology::LinkId>, int>, std::uint32_t> routes;
  const auto route_of = [&](const std::vector<topology::LinkId>& over, int copies) {
    const auto [at, is_new] = routes.try_emplace({over, copies}, static_cast<std::uint32_t>(g.routes.size()));
    if (!is_new) return at->second;
    std::vector<WeightedLink>& route = g.routes.emplace_back();
    for (const topology::LinkId l : over) {
      const auto [link, is_new_link] = links.try_emplace(l, static_cast<std::uint32_t>(g.links.size()));
      if (is_new_link) g.links.push_back(cluster.link(l).bandwidth);
      // The engine wants each link once in a route.
      const auto before = std::ranges::find(route, link->second, &WeightedLink::link);  // a half-duplex link, there and back
      if (before == route.end()) route.push_back({link->second, static_cast<double>(copies)});
      else before->weight += copies;
    }
    return at->second;
  };
  for (const Collective& c : collectives) {
    Step step{{}, StepKind::transfer};
    for (const CollectivePhase& p : c.phases) {
      step.phases.push_back({p.latency, {}});
      for (const CollectiveFlow& f : p.flows)
        step.phases.back().flows.push_back({route_of(f.links, f.copies), f.on_wire() / static_cast<double>(f.copies)});
    }
    g.steps.push_back(std::move(step));
    g.add(static_cast<std::uint32_t>(g.steps.size() - 1), {}, {});
  }
  return g;
}

}  // namespace sim
