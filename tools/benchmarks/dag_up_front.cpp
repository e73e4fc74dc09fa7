#include "tools/benchmarks/dag_up_front.hpp"

#include <fmt/core.h>
#include <simgrid/s4u.hpp>

#include <vector>

#include "sim/engine/simgrid_engine.hpp"
#include "tools/benchmarks/iteration_graph.hpp"

namespace benchmarks {
namespace {

namespace s4u = simgrid::s4u;

// Gives an Exec its predecessors before its host: with a host it may start at once.
s4u::ExecPtr exec(double seconds, s4u::Host* host, const std::vector<s4u::ExecPtr>& after,
                  const std::vector<s4u::CommPtr>& after_too = {}) {
  s4u::ExecPtr e = s4u::Exec::init();
  e->set_flops_amount(seconds);
  for (const s4u::ExecPtr& a : after) a->add_successor(e);
  for (const s4u::CommPtr& a : after_too) a->add_successor(e);
  e->set_host(host);
  e->vetoable_start();
  return e;
}

struct Platform {
  std::vector<s4u::Host*> gpus;
  s4u::Host* control = nullptr;  // where latencies pass
};

Platform make_platform(const sim::TaskGraph& g, int gpus) {
  s4u::NetZone* zone = s4u::create_full_zone("cluster");
  std::vector<s4u::Link*> links;
  for (const base::BytesPerSecond b : g.links) links.push_back(zone->create_link(fmt::format("l{}", links.size()), b.value())->seal());
  Platform p;
  for (int i = 0; i < gpus; ++i) p.gpus.push_back(zone->create_host(fmt::format("gpu{}", i), 1.0)->seal());
  p.control = zone->create_host("control", 1.0)->seal();
  for (std::size_t r = 0; r < g.routes.size(); ++r) {
    std::vector<s4u::LinkInRoute> over;
    for (const sim::WeightedLink& l : g.routes[r]) over.emplace_back(links[l.link]);
    zone->add_route(p.gpus[r]->get_netpoint(), p.gpus[(r + 1) % p.gpus.size()]->get_netpoint(), nullptr, nullptr, over, false);
  }
  zone->seal();
  return p;
}

}  // namespace

DagRun run_dag_up_front(int gpus, int layers) {
  const sim::TaskGraph g = iteration_graph(gpus, layers);  // for its links, routes and times
  static_cast<void>(simulate(sim::TaskGraph{}));           // SimGrid takes its settings once per process: the engine's, for both
  s4u::Engine engine("up front");
  const Platform p = make_platform(g, gpus);
  const double begin = s4u::Engine::get_clock();
  const double forward = g.steps[0].phases[0].delay.value(), backward = g.steps[1].phases[0].delay.value();
  const sim::Phase& ring = g.steps[2].phases[0];

  DagRun run;
  std::vector<s4u::ExecPtr> last(p.gpus.size());  // per GPU
  std::vector<s4u::ExecPtr> kept;                 // everything lives until the end
  std::vector<s4u::CommPtr> flows, kept_flows;
  for (int layer = 0; layer < 2 * layers; ++layer) {
    for (std::size_t i = 0; i < p.gpus.size(); ++i) {
      last[i] = exec(layer < layers ? forward : backward, p.gpus[i], last[i] ? std::vector{last[i]} : std::vector<s4u::ExecPtr>{});
      kept.push_back(last[i]);
    }
    if (layer < layers) continue;
    const s4u::ExecPtr latency = exec(ring.delay.value(), p.control, last, flows);
    kept.push_back(latency);
    flows.clear();
    for (std::size_t i = 0; i < p.gpus.size(); ++i) {
      s4u::CommPtr c = s4u::Comm::sendto_init();
      c->set_payload_size(static_cast<std::uint64_t>(ring.flows[i].bytes.value()));
      latency->add_successor(c);
      c->set_source(p.gpus[i])->set_destination(p.gpus[(i + 1) % p.gpus.size()]);
      flows.push_back(c);
      kept_flows.push_back(std::move(c));
    }
  }
  run.activities = kept.size() + kept_flows.size();
  engine.run();
  run.makespan = base::Seconds(s4u::Engine::get_clock() - begin);
  return run;
}

}  // namespace benchmarks
