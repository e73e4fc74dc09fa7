#include "sim/collectives/plan_collective.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/collective_cost.hpp"

namespace sim {
namespace {

using profiles::NetworkProfile;
using profiles::Protocol;

// Finds the costs of plans one after another and keeps the quickest.
class Planner {
 public:
  Planner(CollectiveKind kind, const CollectiveRequest& request, const NetworkProfile* profile, std::optional<Protocol> protocol)
      : kind_(kind), request_(request), profile_(profile), protocol_(protocol), finder_(request.cluster) {}

  // Many channels and one: several NICs help unless the wires to them are what is short. Cycles inside a node only take what is left of
  // the wires, so there more is never worse.
  void try_all(std::span<const Algorithm> algorithms) {
    for (const Algorithm a : algorithms)
      for (const int channels : {kMostChannels, 1}) {
        std::optional<Collective> c = plan_with(a, request_, channels);
        if (!c) break;
        const bool single = c->rings == 1 || request_.nodes.size() == 1 || a == Algorithm::hierarchical;
        offer(std::move(*c));
        if (single) break;
      }
  }
  [[nodiscard]] std::optional<Collective> best() && {
    if (best_) apply();
    return std::move(best_);
  }

 private:
  void offer(Collective&& c) {
    const CollectiveShape shape = finder_.find(kind_, static_cast<int>(request_.group.size()), c, request_.route_classes.all());
    std::optional<CollectiveCost> least;
    if (profile_ == nullptr) least = cost_of_wires(shape);
    std::optional<Protocol> with;
    for (const Protocol p : profiles::kProtocols) {
      if (profile_ == nullptr || (protocol_ && *protocol_ != p)) continue;
      std::optional<CollectiveCost> cost = cost_of(shape, *profile_, p);
      if (!cost || (least && cost->total() >= least->total())) continue;
      least = std::move(cost);
      with = p;
    }
    if (!least || (best_ && least->total() >= best_cost_.total())) return;
    best_ = std::move(c);
    if (least->basis != profiles::Basis::defaults) best_->protocol = with;
    best_cost_ = std::move(*least);
  }
  void apply() {
    for (std::size_t i = 0; i < best_->phases.size(); ++i) {
      best_->phases[i].latency = best_cost_.latency[i];
      for (CollectiveFlow& f : best_->phases[i].flows) f.wire_factor = best_cost_.wire_factor[f.route_class.value];
    }
    best_->estimate = best_cost_.total();
    best_->basis = best_cost_.basis;
  }

  CollectiveKind kind_;
  const CollectiveRequest& request_;
  const NetworkProfile* profile_;
  std::optional<Protocol> protocol_;
  ShapeFinder finder_;
  std::optional<Collective> best_;
  CollectiveCost best_cost_;
};

// What is asked for; where the library does not do that here, what it does; where it does nothing here, by the wires alone.
std::optional<Collective> plan_quickest(CollectiveKind kind, const CollectiveRequest& request, const CollectiveConfig& config,
                                        const NetworkProfile* profile) {
  const std::array asked = {config.algorithm};
  std::optional<Collective> planned;
  const auto attempt = [&](std::span<const Algorithm> algorithms, const NetworkProfile* with, std::optional<Protocol> protocol) {
    if (planned) return;
    Planner planner(kind, request, with, protocol);
    planner.try_all(algorithms);
    planned = std::move(planner).best();
  };
  if (config.algorithm != Algorithm::automatic) attempt(asked, profile, config.protocol);
  attempt(kAlgorithms, profile, config.protocol);
  if (config.protocol) attempt(kAlgorithms, profile, std::nullopt);
  if (profile != nullptr) attempt(kAlgorithms, nullptr, std::nullopt);
  return planned;
}

const NetworkProfile* profile_of(const topology::Cluster& cluster, const CollectiveConfig& config) {
  if (config.network != nullptr) return config.network;
  return cluster.network_profile().empty() ? nullptr : &profiles::network_profile(cluster.network_profile());
}

}  // namespace

Collective plan_collective(CollectiveKind kind, base::Bytes bytes, std::span<const topology::DeviceId> group,
                           const topology::Cluster& cluster, const CollectiveConfig& config) {
  BASE_CHECK(!group.empty() && bytes.value() >= 0, "{} of {} B among {} devices", to_text(kind), bytes.value(), group.size());
  const std::vector<NodeMembers> nodes = by_node(group, cluster);
  for (const NodeMembers& n : nodes)
    BASE_CHECK(std::ranges::adjacent_find(n.members) == n.members.end(), "a device takes part twice in one {}", to_text(kind));
  if (group.size() == 1) return {};
  const NetworkProfile* profile = profile_of(cluster, config);
  RouteClasses route_classes(cluster);
  const CollectiveRequest request{.kind = kind,
                                  .bytes = bytes,
                                  .group = group,
                                  .nodes = nodes,
                                  .cluster = cluster,
                                  .step_by_step = config.step_by_step,
                                  .profiled = profile != nullptr,
                                  .relays = profile != nullptr && profile->relays ? Relays::by_gpus : Relays::none,
                                  .route_classes = route_classes,
                                  .known_channels = {}};
  std::optional<Collective> planned = plan_quickest(kind, request, config, profile);
  BASE_CHECK(planned && !planned->phases.empty(), "no algorithm for {} among {} devices", to_text(kind), group.size());
  planned->phases.front().latency += config.base_latency;
  planned->estimate += config.base_latency;
  return std::move(*planned);
}

}  // namespace sim
