#include "sim/oracle.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "sim/collectives/plan_collective.hpp"
#include "sim/effort.hpp"
#include "sim/engine/simgrid_engine.hpp"
#include "sim/kernels/kernel_cost.hpp"
#include "sim/memory/memory.hpp"

namespace sim {
namespace {

using base::Bytes;
using base::DeviceId;
using base::Seconds;

// Large against every latency, so that the slope loses no digits.
constexpr double kProbeBytes = 1e9;
using Groups = std::span<const std::vector<DeviceId>>;

// The key of a collective's time, its size apart: for every group its devices' places in their domains, nodes renumbered in the
// order of all that take part; the type of each such node; and what the route from it to the next is like (a leaf between them or not), or,
// where a network is not alike everywhere, which node it is.
std::vector<double> pattern_of(CollectiveKind kind, const Forwarding& forwarding, Groups groups, const topology::Cluster& cluster) {
  std::map<int, DeviceId> nodes;  // the first device seen of each
  for (const std::vector<DeviceId>& g : groups)
    for (const DeviceId d : g) nodes.try_emplace(cluster.device(d).node, d);
  std::map<int, int> ordinal;
  for (const auto& [node, device] : nodes) ordinal.emplace(node, static_cast<int>(ordinal.size()));

  std::vector<double> key{static_cast<double>(kind), forwarding.copies, forwarding.bulk ? 1.0 : 0.0, forwarding.rows,
                          forwarding.sums ? 1.0 : 0.0};
  for (const std::vector<DeviceId>& g : groups) {
    key.push_back(-1);
    for (const DeviceId d : g)
      key.insert(key.end(), {static_cast<double>(ordinal[cluster.device(d).node]), static_cast<double>(cluster.device(d).index_in_domain)});
  }
  key.push_back(-2);
  for (auto at = nodes.begin(); at != nodes.end(); ++at) {
    const auto next = std::next(at) == nodes.end() ? nodes.begin() : std::next(at);
    const auto here = cluster.node_devices(at->first), there = cluster.node_devices(next->first);
    key.push_back(cluster.node_type(at->first));
    if (!cluster.is_alike_everywhere()) key.push_back(at->first);
    if (at->first == next->first) continue;
    const topology::Route between = cluster.route(here.front(), there.front());
    key.insert(key.end(), {between.bandwidth.value(), between.latency.value(), static_cast<double>(between.links.size())});
  }
  return key;
}

Seconds latency_of(const Collective& c) {
  Seconds sum;
  for (const CollectivePhase& p : c.phases) sum += p.latency;
  return sum;
}

CollectiveTime quickest(std::span<const CostLine> lines, Bytes bytes) {
  const CostLine& best = *std::ranges::min_element(lines, {}, [&](const CostLine& l) { return l.at(bytes); });
  return {best.at(bytes), best.basis};
}

std::size_t flows_of(std::span<const Collective> together) {
  std::size_t n = 0;
  for (const Collective& c : together)
    for (const CollectivePhase& p : c.phases) n += p.flows.size();
  return n;
}

}  // namespace

CollectiveTime RoundCost::at(double factor) const {
  CollectiveTime slowest{{}, parts.size() > 1 ? TimeBasis::bound : TimeBasis::simulated};
  for (const Part& p : parts) {
    const CollectiveTime t = quickest(p.lines, p.bytes * factor);
    slowest = {std::max(slowest.time, t.time), std::max(slowest.basis, t.basis)};
  }
  return slowest;
}

// The time of collectives by their busiest links: exact where the flows of a phase on its busiest link end together, else a bound from
// below; of several collectives whose latencies or phases differ, an estimate.
class LinkLoads {
 public:
  explicit LinkLoads(const topology::Cluster& cluster) : cluster_(cluster), bytes_(cluster.links().size()) {}

  // Sum over the phases of latency + the busiest link's bytes on the wire / bandwidth, phase i of all collectives together.
  [[nodiscard]] Seconds seconds(std::span<const Collective> together) {
    std::size_t phases = 0;
    for (const Collective& c : together) phases = std::max(phases, c.phases.size());
    base::Seconds total;
    // Collectives that start together are taken to be in the same phase at the same time.
    for (std::size_t i = 0; i < phases; ++i) {
      const auto each_link = [&](auto&& visit) {
        for (const Collective& c : together)
          if (i < c.phases.size())
            for (const CollectiveFlow& f : c.phases[i].flows)
              for (const topology::LinkId l : f.links) visit(l, f.on_wire());
      };
      // Twice over the same flows: the second time finds each sum and clears it, so that the array is never cleared as a whole.
      each_link([this](topology::LinkId l, base::Bytes b) { bytes_[l.value] += b; });
      base::Seconds latency, busiest;
      each_link([&](topology::LinkId l, base::Bytes) {
        busiest = std::max(busiest, bytes_[l.value] / cluster_.link(l).bandwidth);
        bytes_[l.value] = base::Bytes(0);
      });
      for (const Collective& c : together)
        if (i < c.phases.size()) latency = std::max(latency, c.phases[i].latency);
      total += latency + busiest;
    }
    return total;
  }

 private:
  const topology::Cluster& cluster_;
  std::vector<Bytes> bytes_;  // per link; 0 between calls
};

struct Oracle::State {
  const topology::Cluster& cluster;
  SimulationConfig config;
  // Above this number of flows the bound by the busiest links replaces the engine, so that a question stays quick (an all-to-all of n
  // ranks has n (n - 1)).
  std::size_t most_flows;
  std::map<std::tuple<std::string, double, topology::DeviceSpeed>, profiles::DeviceProfile>
      profiles;                                                // by type, memory (-1: as the profile has it) and speed
  std::vector<const profiles::DeviceProfile*> device;          // per device
  std::map<std::vector<double>, std::vector<CostLine>> lines;  // per pattern: one per algorithm that may be the quickest
  // Per question asked before: kind, forwarding and groups.
  std::map<std::tuple<CollectiveKind, Forwarding, std::vector<std::vector<DeviceId>>>, const std::vector<CostLine>*> known;
  Seconds effort;
  LinkLoads loads{cluster};
  CollectivePlanner planner{cluster, config.collectives};

  State(const topology::Cluster& c, SimulationConfig s, std::size_t flows) : cluster(c), config(std::move(s)), most_flows(flows) {
    for (const topology::Device& d : cluster.devices()) {
      const auto [at, is_new] = profiles.try_emplace({d.type, d.memory ? d.memory->value() : -1, d.speed});
      if (is_new) {
        at->second = running_profile(d.type, d.speed);
        if (d.memory) at->second.memory = *d.memory;
      }
      device.push_back(&at->second);
    }
  }

  // For each choice that applies to all groups their plans.
  [[nodiscard]] std::vector<std::vector<Collective>> plan_all(CollectiveKind kind, const Forwarding& forwarding, Groups groups,
                                                              std::vector<CollectiveChoice> choices) {
    std::vector<std::vector<Collective>> together(choices.size());
    for (const std::vector<DeviceId>& g : groups) {
      std::vector<std::optional<Collective>> plans = planner.plan_each(kind, Bytes(kProbeBytes), g, choices, forwarding);
      for (std::size_t c = choices.size(); c-- > 0;) {
        if (plans[c]) together[c].push_back(std::move(*plans[c]));
        else
          choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(c)),
              together.erase(together.begin() + static_cast<std::ptrdiff_t>(c));
      }
    }
    return together;
  }

  // Alone, before the engine: latency from the phases, the rest by the busiest links.
  [[nodiscard]] CostLine estimate(std::span<const Collective> together) {
    CostLine line;
    for (const Collective& c : together) line.latency = std::max(line.latency, latency_of(c));
    line.seconds_per_byte = std::max(0.0, (loads.seconds(together) - line.latency).value()) / kProbeBytes;
    return line;
  }

  // The candidates for the quickest at some size: an algorithm or several, and protocols where a network profile has them.
  [[nodiscard]] std::vector<CollectiveChoice> choices(std::span<const Algorithm> algorithms) const {
    const CollectiveConfig& c = config.collectives;
    std::vector<CollectiveChoice> all;
    for (const Algorithm a : algorithms) {
      if (planner.profile() != nullptr && !c.protocol)
        for (const profiles::Protocol p : profiles::kProtocols) all.push_back({a, p});
      all.push_back({a, c.protocol});  // with none, the quickest for long messages, or by the wires alone
    }
    return all;
  }

  // The plans of all groups for each choice that applies. An algorithm that the config names and that does not do this here gives way to
  // all others, as in planning.
  [[nodiscard]] std::vector<std::vector<Collective>> plan_all(CollectiveKind kind, const Forwarding& forwarding, Groups groups) {
    if (kind == CollectiveKind::send)
      return plan_all(kind, forwarding, groups, choices(std::array{Algorithm::pairwise}));  // no other has it
    const Algorithm asked = config.collectives.algorithm;
    if (asked != Algorithm::automatic) {
      std::vector<std::vector<Collective>> plans = plan_all(kind, forwarding, groups, choices(std::span(&asked, 1)));
      const auto gives_way = [&](const Collective& c) { return !c.phases.empty() && c.algorithm != asked; };
      if (std::ranges::none_of(plans, [&](const auto& together) { return std::ranges::any_of(together, gives_way); })) return plans;
    }
    return plan_all(kind, forwarding, groups, choices(automatic_algorithms(planner.profile())));
  }

  // One line per algorithm that may be the quickest. A candidate that another dominates in latency and in bandwidth by estimate is not run.
  [[nodiscard]] std::vector<CostLine> find_lines(CollectiveKind kind, const Forwarding& forwarding, Groups groups) {
    std::vector<std::pair<std::vector<Collective>, CostLine>> candidates;
    for (std::vector<Collective>& plans : plan_all(kind, forwarding, groups)) {
      const CostLine line = estimate(plans);
      const auto is_dominated = [](const CostLine& x, const CostLine& y) {
        return x.latency >= y.latency && x.seconds_per_byte >= y.seconds_per_byte;
      };
      if (std::ranges::any_of(candidates, [&](const auto& c) { return is_dominated(line, c.second); })) continue;
      std::erase_if(candidates, [&](const auto& c) { return is_dominated(c.second, line); });
      candidates.emplace_back(std::move(plans), line);
    }
    BASE_CHECK(!candidates.empty(), "no algorithm for {}", to_text(kind));
    std::vector<CostLine> found;
    for (auto& [plans, line] : candidates) {
      const std::size_t flows = flows_of(plans);
      effort += (most_flows > 0 ? kCollectiveFlow : kBoundedFlow) * static_cast<double>(flows);
      if (flows <= most_flows) {
        line.seconds_per_byte = (simulate(collective_graph(plans, cluster)).makespan - line.latency).value() / kProbeBytes;
        line.basis = TimeBasis::simulated;
      }
      found.push_back(line);
    }
    if (most_flows > 0) effort += kCollectivePattern;
    return found;
  }

  [[nodiscard]] const std::vector<CostLine>& known_lines(CollectiveKind kind, const Forwarding& forwarding,
                                                         std::vector<std::vector<DeviceId>> groups) {
    const auto [at, is_new] = known.try_emplace({kind, forwarding, std::move(groups)});
    if (is_new) {
      const Groups asked = std::get<2>(at->first);
      const auto [pattern, is_new_pattern] = lines.try_emplace(pattern_of(kind, forwarding, asked, cluster));
      if (is_new_pattern) pattern->second = find_lines(kind, forwarding, asked);
      at->second = &pattern->second;
    }
    return *at->second;
  }
};

Oracle::Oracle(const topology::Cluster& cluster, SimulationConfig config, std::size_t most_flows)
    : state_(std::make_unique<State>(cluster, std::move(config), most_flows)) {}
Oracle::~Oracle() = default;

const topology::Cluster& Oracle::cluster() const { return state_->cluster; }
const SimulationConfig& Oracle::config() const { return state_->config; }

const profiles::DeviceProfile& Oracle::device(DeviceId d) const { return *state_->device[d.value]; }

const profiles::FrameworkProfile& Oracle::framework(const pcg::TrainingConfig& training) const {
  return framework_of(training, state_->config);
}

CollectiveTime Oracle::collective(CollectiveKind kind, Bytes bytes, std::span<const DeviceId> group) const {
  if (group.size() < 2) return {};
  return quickest(state_->known_lines(kind, {}, {std::vector<DeviceId>(group.begin(), group.end())}), bytes);
}

CollectiveTime Oracle::collectives(CollectiveKind kind, Bytes bytes, Groups groups) const {
  if (std::ranges::all_of(groups, [](const auto& g) { return g.size() < 2; })) return {};
  return quickest(state_->known_lines(kind, {}, {groups.begin(), groups.end()}), bytes);
}

RoundCost Oracle::round(const Round& round) const {
  std::map<std::tuple<CollectiveKind, Bytes, Forwarding>, std::vector<std::vector<DeviceId>>> alike;
  for (const Transfer& t : round)
    if (t.group.size() > 1) alike[{t.kind, t.bytes * t.fullest, t.forwarding}].push_back(t.group);
  RoundCost cost;
  for (auto& [what, groups] : alike) {
    const auto& [kind, bytes, forwarding] = what;
    const bool is_remembered = kind != CollectiveKind::send || state_->most_flows > 0;
    cost.parts.push_back(
        {bytes, is_remembered ? state_->known_lines(kind, forwarding, std::move(groups)) : state_->find_lines(kind, forwarding, groups)});
  }
  return cost;
}

SimulationResult Oracle::plan(const pcg::Plan& p) const {
  SimulationResult result = simulate_plan(p, state_->cluster, state_->config);
  spend(kSimulatePlan.of(p) + kActivity * static_cast<double>(result.activities));
  return result;
}

MemoryUse Oracle::memory(const pcg::Plan& p) const {
  spend(kCountMemory.of(p));
  return memory_of(p, state_->cluster, state_->config);
}

Seconds Oracle::effort() const { return state_->effort; }
void Oracle::spend(Seconds effort) const { state_->effort += effort; }

std::vector<MemoryUse> Oracle::memory_by_device(const pcg::Plan& p) const {
  spend(kCountMemory.of(p));
  return sim::memory_by_device(p, state_->cluster, state_->config);
}

}  // namespace sim
