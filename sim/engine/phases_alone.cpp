#include "sim/engine/phases_alone.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>

namespace sim {
namespace {

// Sums of doubles that ought to be equal differ by less.
constexpr double kRounding = 1e-12;

struct LinkLoad {
  double seconds = 0;     // of all flows at full bandwidth
  double most_bytes = 0;  // of a flow
  std::size_t any = 0;    // one of the flows
};

}  // namespace

bool moves(const TaskGraph& graph, const Flow& flow) { return flow.bytes.value() > 0 && !graph.routes[flow.route].empty(); }

PhaseAlone phase_alone(const TaskGraph& graph, const Phase& phase) {
  PhaseAlone out;
  std::map<std::uint32_t, LinkLoad> loads;
  boost::disjoint_sets_with_storage<> together(phase.flows.size());  // flows that share links
  for (std::size_t f = 0; f < phase.flows.size(); ++f) {
    if (!moves(graph, phase.flows[f])) continue;
    const double bytes = phase.flows[f].bytes.value();
    for (const WeightedLink& l : graph.routes[phase.flows[f].route]) {
      const auto [at, is_new] = loads.try_emplace(l.link, LinkLoad{0, 0, f});
      if (!is_new) together.union_set(f, at->second.any);
      at->second.seconds += bytes * l.weight / graph.links[l.link].value();
      at->second.most_bytes = std::max(at->second.most_bytes, bytes);
    }
  }
  std::vector<double> longest(phase.flows.size(), 0);  // by the number of flows together
  for (const auto& [link, load] : loads) {
    out.links.push_back(link);
    double& seconds = longest[together.find_set(load.any)];
    seconds = std::max(seconds, load.seconds);
  }
  for (std::size_t f = 0; f < phase.flows.size(); ++f) {
    const Flow& flow = phase.flows[f];
    if (!moves(graph, flow)) {
      out.flow_s.push_back(0);
      continue;
    }
    const double seconds = longest[together.find_set(f)];
    const auto holds_back = [&](const WeightedLink& l) {
      const LinkLoad& load = loads.at(l.link);
      return load.seconds >= seconds * (1 - kRounding) && flow.bytes.value() >= load.most_bytes * (1 - kRounding);
    };
    if (std::ranges::none_of(graph.routes[flow.route], holds_back)) return {std::move(out.links), {}, 0};
    out.flow_s.push_back(seconds);
    out.seconds = std::max(out.seconds, seconds);
  }
  return out;
}

}  // namespace sim
