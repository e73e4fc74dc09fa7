#include "sim/folding/traffic.hpp"

#include <map>
#include <tuple>

#include "sim/folding/slack.hpp"

namespace sim {
namespace {

class Planner {
 public:
  Planner(const topology::Cluster& cluster, const CollectiveConfig& config)
      : planner_(cluster, config), numbers_(cluster.links().size(), kUnused) {}

  // Returns: its number.
  std::uint32_t add(MovementId movement, std::uint32_t round, const Transfer& transfer) {
    TrafficTransfer out{movement, round, transfer.kind, transfer.group, {}, static_cast<std::uint32_t>(traffic_.flows.size()), 0};
    const Collective c = planner_.plan(transfer.kind, transfer.bytes, transfer.group, transfer.copies);
    strands_.clear();
    for (std::size_t p = 0; p < c.phases.size(); ++p) {
      out.delays.push_back(c.phases[p].latency);
      for (const CollectiveFlow& f : c.phases[p].flows) {
        TrafficFlow flow{
            static_cast<std::uint32_t>(p), 0, f.bytes, f.wire_factor, static_cast<std::uint32_t>(traffic_.flow_links.size()), 0};
        const auto strand = strands_.try_emplace({flow.phase, f.bytes.value(), f.wire_factor}, traffic_.strands).first;
        if (strand->second == traffic_.strands) ++traffic_.strands;
        flow.strand = strand->second;
        for (const topology::LinkId l : f.links) traffic_.flow_links.push_back(number_of(l));
        flow.links_end = static_cast<std::uint32_t>(traffic_.flow_links.size());
        traffic_.flows.push_back(flow);
      }
    }
    out.flows_end = static_cast<std::uint32_t>(traffic_.flows.size());
    traffic_.transfers.push_back(std::move(out));
    return static_cast<std::uint32_t>(traffic_.transfers.size() - 1);
  }
  [[nodiscard]] Traffic take() && { return std::move(traffic_); }
  Traffic& traffic() { return traffic_; }

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
  std::vector<std::uint32_t> numbers_;                                          // per link of the cluster
  std::map<std::tuple<std::uint32_t, double, double>, std::uint32_t> strands_;  // of a transfer: by phase, bytes and wire factor
  Traffic traffic_;
};

}  // namespace

Traffic traffic_of(const Program& program, const topology::Cluster& cluster, const CollectiveConfig& config) {
  Planner planner(cluster, config);
  Traffic& t = planner.traffic();
  t.of_movement.resize(program.movements.size());
  for (std::size_t m = 0; m < program.movements.size(); ++m) {
    for (std::size_t r = 0; r < program.movements[m].rounds.size(); ++r) {
      std::vector<std::uint32_t>& indices = t.of_movement[m].emplace_back();
      for (const Transfer& transfer : program.movements[m].rounds[r])
        indices.push_back(planner.add(MovementId(m), static_cast<std::uint32_t>(r), transfer));
    }
  }
  t.slack = slack_links(t, cluster);
  return std::move(planner).take();
}

}  // namespace sim
