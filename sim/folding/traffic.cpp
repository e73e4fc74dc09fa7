#include "sim/folding/traffic.hpp"

namespace sim {

Traffic traffic_of(const Program& program, const topology::Cluster& cluster, const CollectiveConfig& config) {
  CollectivePlanner planner(cluster, config);
  Traffic t;
  std::map<topology::LinkId, std::uint32_t> numbers;
  t.of_movement.resize(program.movements.size());
  for (std::size_t m = 0; m < program.movements.size(); ++m) {
    for (std::size_t r = 0; r < program.movements[m].rounds.size(); ++r) {
      auto& indices = t.of_movement[m].emplace_back();
      for (const Transfer& transfer : program.movements[m].rounds[r]) {
        TrafficTransfer out{MovementId(m), static_cast<std::uint32_t>(r), transfer.kind, transfer.group, {}, {}};
        const Collective c = planner.plan(transfer.kind, transfer.bytes, transfer.group);
        for (std::size_t p = 0; p < c.phases.size(); ++p) {
          out.delays.push_back(c.phases[p].latency);
          for (const CollectiveFlow& f : c.phases[p].flows) {
            TrafficFlow flow{static_cast<std::uint32_t>(p), f.from, f.to, f.bytes, f.wire_factor, {}};
            for (topology::LinkId l : f.links) {
              // A large cluster has far more links than a plan uses: those that it uses are numbered anew.
              const auto [it, fresh] = numbers.try_emplace(l, static_cast<std::uint32_t>(t.links.size()));
              if (fresh) t.links.push_back(l);
              flow.links.push_back(it->second);
            }
            out.flows.push_back(std::move(flow));
          }
        }
        indices.push_back(static_cast<std::uint32_t>(t.transfers.size()));
        t.transfers.push_back(std::move(out));
      }
    }
  }
  return t;
}

}  // namespace sim
