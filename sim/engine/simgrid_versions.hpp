#pragma once
// SimGrid's releases differ, and two of its facts are private: everything that depends on either is here. It is built and run with 3.32
// (Debian 12) and 4.0 (Debian 13). Releases between them (Ubuntu 24.04 has one) take each branch by their version or
// by what their headers declare; they were not tried. Only sim/engine/simgrid_engine.cpp includes this.

#include <simgrid/version.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <functional>
#include <string>
#include <vector>

// The clock is a private static that outlives its Engine and has no setter. A run that starts late rounds differently
// from one that starts at 0, so equal runs would not give equal bytes: each run sets it back.
extern double simgrid_clock_s __asm__("_ZN7simgrid6kernel10EngineImpl4now_E");

#if SIMGRID_VERSION < 33400
// Until 3.33 all activities share one signal, to which every Engine connects a callback of its own for good; each completion calls them
// all, so that a flow would cost ten times as much after 500 runs (docs/decisions/0005). The signal is private; an explicit instantiation
// may name it ([temp.spec]/6).
template <auto* signal>
struct CompletionSignal {
  friend auto& completion_signal() { return *signal; }
};
auto& completion_signal();
template struct CompletionSignal<&simgrid::s4u::Activity::on_completion>;
#endif

namespace sim::simgrid_versions {

namespace s4u = simgrid::s4u;

// The same in 3.32 and 4.0. The public way to wait until a date is an actor, which needs a stack and a switch to it.
using Timer = simgrid::kernel::timer::Timer;

// Returns: whether SimGrid's clock follows, that is, whether this release keeps it where it is expected.
inline bool set_clock(double seconds) {
  simgrid_clock_s = seconds;
  return s4u::Engine::get_clock() == seconds;
}

// From now on each flow's end calls `arrived`, and nothing that was given before; an empty function ends that.
#if SIMGRID_VERSION < 33400
inline void on_each_arrival(const std::function<void(const s4u::Activity&)>& arrived) {
  completion_signal().disconnect_slots();  // also SimGrid's own, which is for virtual machines
  if (arrived) s4u::Activity::on_completion_cb(arrived);
}
#else
inline void on_each_arrival(const std::function<void(const s4u::Activity&)>& arrived) {
  static std::function<void(const s4u::Activity&)> current;  // a callback can be connected, but not disconnected
  static const bool connected = [] {
    s4u::Comm::on_completion_cb([](const s4u::Comm& c) {
      if (current) current(c);
    });
    return true;
  }();
  static_cast<void>(connected);
  current = arrived;
}
#endif

// Returns: the zone that hosts and links go into, where each pair of hosts has a route of its own.
inline s4u::NetZone& full_zone([[maybe_unused]] s4u::Engine& engine) {
#if SIMGRID_VERSION < 40000
  return *s4u::create_full_zone("cluster");
#else
  return *engine.get_netzone_root();  // comes with the engine
#endif
}

// 4.0 renames what adds to a zone.
template <class Zone>
s4u::Host* add_host(Zone& zone, const std::string& name) {
  if constexpr (requires { zone.add_host(name, 1.0); }) return zone.add_host(name, 1.0)->seal();
  else return zone.create_host(name, 1.0)->seal();
}

template <class Zone>
s4u::Link* add_link(Zone& zone, const std::string& name, double bandwidth) {
  if constexpr (requires { zone.add_link(name, bandwidth); }) return zone.add_link(name, bandwidth)->seal();
  else return zone.create_link(name, bandwidth)->seal();
}

// The route in one direction.
template <class Zone>
void add_route(Zone& zone, s4u::Host* from, s4u::Host* to, const std::vector<s4u::LinkInRoute>& links) {
  if constexpr (requires { zone.add_route(from, to, links, false); }) zone.add_route(from, to, links, false);
  else zone.add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, links, false);
}

}  // namespace sim::simgrid_versions
