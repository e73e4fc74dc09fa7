#include "sim/folding/traffic.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace sim {
namespace {

class Planner {
 public:
  Planner(const topology::Cluster& cluster, const CollectiveConfig& config, Traffic& traffic)
      : planner_(cluster, config), numbers_(cluster.links().size(), kUnused), traffic_(traffic) {}

  // Returns: its number.
  std::uint32_t add(MovementId movement, std::uint32_t round, const Transfer& transfer) {
    TrafficTransfer out{movement, round, transfer.kind, transfer.group, {}, static_cast<std::uint32_t>(traffic_.flows.size()), 0, 0, 0};
    const Collective c = planner_.plan(transfer.kind, transfer.bytes * transfer.fullest, transfer.group, transfer.forwarding);
    for (std::size_t p = 0; p < c.phases.size(); ++p) {
      out.delays.push_back(c.phases[p].latency);
      for (const CollectiveFlow& f : c.phases[p].flows) {
        TrafficFlow flow{static_cast<std::uint32_t>(p), f.bytes / transfer.fullest, f.wire_factor * transfer.fullest,
                         static_cast<std::uint32_t>(traffic_.flow_links.size()), 0};
        for (const topology::LinkId l : f.links) traffic_.flow_links.push_back(number_of(l));
        flow.links_end = static_cast<std::uint32_t>(traffic_.flow_links.size());
        traffic_.flows.push_back(flow);
      }
    }
    out.flows_end = static_cast<std::uint32_t>(traffic_.flows.size());
    traffic_.transfers.push_back(std::move(out));
    return static_cast<std::uint32_t>(traffic_.transfers.size() - 1);
  }

 private:
  static constexpr std::uint32_t kUnused = 0xffffffff;
  // A large cluster has far more links than a plan uses: those that it uses are numbered anew.
  std::uint32_t number_of(topology::LinkId l) {
    std::uint32_t& number = numbers_[l.value];
    if (number == kUnused) {
      number = static_cast<std::uint32_t>(traffic_.links.size());
      traffic_.links.push_back(l);
    }
    return number;
  }

  CollectivePlanner planner_;
  std::vector<std::uint32_t> numbers_;  // per link of the cluster
  Traffic& traffic_;
};

// Twists the flows of each transfer into strands.
class Twister {
 public:
  explicit Twister(Traffic& traffic) : traffic_(traffic), crossed_(traffic.links.size(), 0) {}

  void twist(TrafficTransfer& t) {
    t.strands_begin = static_cast<std::uint32_t>(traffic_.strands.size());
    std::map<Alike, std::vector<const TrafficFlow*>> alike;
    for (const TrafficFlow& f : traffic_.flows_of(t)) alike[{f.phase, f.bytes.value(), f.wire_factor}].push_back(&f);
    for (const auto& [what, flows] : alike) add(flows);
    t.strands_end = static_cast<std::uint32_t>(traffic_.strands.size());
  }

 private:
  using Alike = std::tuple<std::uint32_t, double, double>;  // phase, bytes and wire factor

  void add(std::span<const TrafficFlow* const> flows) {
    const TrafficFlow& first = *flows.front();
    Strand s{first.phase, first.bytes, first.wire_factor, static_cast<std::uint32_t>(traffic_.strand_links.size()), 0};
    for (const TrafficFlow* f : flows)
      for (const std::uint32_t l : traffic_.links_of(*f))
        if (!traffic_.slack[l] && crossed_[l]++ == 0) traffic_.strand_links.push_back({l, 0});
    s.links_end = static_cast<std::uint32_t>(traffic_.strand_links.size());
    for (std::uint32_t i = s.links_begin; i < s.links_end; ++i) {
      StrandLink& l = traffic_.strand_links[i];
      l.flows = std::exchange(crossed_[l.link], 0);
    }
    traffic_.strands.push_back(s);
  }

  Traffic& traffic_;
  std::vector<std::uint32_t> crossed_;  // per link: flows so far
};

}  // namespace

Traffic traffic_of(const Program& program, const topology::Cluster& cluster, const CollectiveConfig& config) {
  Traffic t;
  Planner planner(cluster, config, t);
  t.of_movement.resize(program.movements.size());
  for (std::size_t m = 0; m < program.movements.size(); ++m) {
    for (std::size_t r = 0; r < program.movements[m].rounds.size(); ++r) {
      std::vector<std::uint32_t>& indices = t.of_movement[m].emplace_back();
      for (const Transfer& transfer : program.movements[m].rounds[r])
        indices.push_back(planner.add(MovementId(m), static_cast<std::uint32_t>(r), transfer));
    }
  }
  t.slack = slack_links(t, cluster);
  Twister twister(t);
  for (TrafficTransfer& transfer : t.transfers) twister.twist(transfer);
  return t;
}

}  // namespace sim
