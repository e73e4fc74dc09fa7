// Traces of our own, and what becomes of them.
#include "scenarios/comparison/comparison.hpp"
#include "tests/fuzz/refused.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {

void read_own_trace(std::string_view bytes) {
  const MemoryFile file(bytes);
  refused_or_read([&] {
    if (!comparison::is_own_trace(file.path())) return;
    const comparison::OwnTrace own = comparison::read_own_trace(file.path());
    for (const comparison::DeviceTimeline& d : comparison::timeline_of(own.simulation, comparison::Times::exact).devices) {
      (void)comparison::parts_of(d, true);
      (void)comparison::align(d, d);
    }
  });
}

}  // namespace fuzz
