#include "sim/collectives/collective.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/pricing.hpp"

namespace sim {
namespace {

using profiles::NetworkProfile;
using profiles::Protocol;

std::optional<Collective> plan_one(const CollectiveRequest& r, Algorithm a, int channels) {
  switch (a) {
    case Algorithm::ring: return plan_ring(r, channels);
    case Algorithm::tree: return plan_tree(r, channels);
    case Algorithm::hierarchical: return plan_hierarchical(r, channels);
    case Algorithm::in_switch: return plan_in_switch(r);
    case Algorithm::pairwise: return plan_pairwise(r);
    case Algorithm::automatic: break;
  }
  return std::nullopt;
}

// All algorithms' plans, priced one after another; the quickest is kept.
class Planner {
 public:
  Planner(CollectiveKind kind, const CollectiveRequest& request, const NetworkProfile* profile, std::optional<Protocol> protocol)
      : kind_(kind), request_(request), profile_(profile), protocol_(protocol), finder_(request.cluster) {}

  // Many channels and one: several NICs help unless the wires to them are what is short. Cycles inside a node only take what is left of
  // the wires, so there more is never worse.
  void try_all(std::span<const Algorithm> algorithms) {
    for (const Algorithm a : algorithms)
      for (const int channels : {kMostChannels, 1}) {
        std::optional<Collective> c = plan_one(request_, a, channels);
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
    const Shape shape = finder_.find(kind_, static_cast<int>(request_.group.size()), c, request_.ways.all());
    std::optional<Price> least;
    if (profile_ == nullptr) least = price(shape);
    std::optional<Protocol> with;
    for (const Protocol p : profiles::kProtocols) {
      if (profile_ == nullptr || (protocol_ && *protocol_ != p)) continue;
      std::optional<Price> price_of_p = price(shape, *profile_, p);
      if (!price_of_p || (least && total(*price_of_p) >= total(*least))) continue;
      least = std::move(price_of_p);
      with = p;
    }
    if (!least || (best_ && total(*least) >= total(best_price_))) return;
    best_ = std::move(c);
    if (least->basis != profiles::Basis::defaults) best_->protocol = with;
    best_price_ = std::move(*least);
  }
  void apply() {
    for (std::size_t i = 0; i < best_->phases.size(); ++i) {
      best_->phases[i].latency = best_price_.latency[i];
      for (CollectiveFlow& f : best_->phases[i].flows) f.cost = best_price_.cost[f.way];
    }
    best_->estimate = total(best_price_);
    best_->basis = best_price_.basis;
  }
  [[nodiscard]] static base::Seconds total(const Price& p) { return p.latency_sum + p.transfer; }

  CollectiveKind kind_;
  const CollectiveRequest& request_;
  const NetworkProfile* profile_;
  std::optional<Protocol> protocol_;
  ShapeFinder finder_;
  std::optional<Collective> best_;
  Price best_price_;
};

constexpr std::array kAll = {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical, Algorithm::in_switch, Algorithm::pairwise};

// What is asked for; where the library does not do that here, what it does; where it does nothing here, by the wires alone.
std::optional<Collective> plan_priced(CollectiveKind kind, const CollectiveRequest& request, const CollectiveConfig& config,
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
  attempt(kAll, profile, config.protocol);
  if (config.protocol) attempt(kAll, profile, std::nullopt);
  if (profile != nullptr) attempt(kAll, nullptr, std::nullopt);
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
  Ways ways(cluster);
  const CollectiveRequest request{
      kind, bytes, group, nodes, cluster, config.step_by_step, profile != nullptr, profile != nullptr && profile->relays, ways, {}};
  std::optional<Collective> planned = plan_priced(kind, request, config, profile);
  BASE_CHECK(planned && !planned->phases.empty(), "no algorithm for {} among {} devices", to_text(kind), group.size());
  planned->phases.front().latency += config.base_latency;
  planned->estimate += config.base_latency;
  return std::move(*planned);
}

std::vector<Shape> collective_shapes(CollectiveKind kind, std::span<const topology::DeviceId> group, const topology::Cluster& cluster,
                                     bool relays) {
  const std::vector<NodeMembers> nodes = by_node(group, cluster);
  Ways ways(cluster);
  const CollectiveRequest request{kind, base::Bytes(1), group, nodes, cluster, false, true, relays, ways, {}};
  ShapeFinder finder(cluster);
  std::vector<Shape> shapes;
  for (const Algorithm a : kAll)
    for (const int channels : {kMostChannels, 1})
      if (const std::optional<Collective> c = plan_one(request, a, channels); c && (channels > 1 || nodes.size() > 1))
        shapes.push_back(finder.find(kind, static_cast<int>(group.size()), *c, ways.all()));
  return shapes;
}

}  // namespace sim
