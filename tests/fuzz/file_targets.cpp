// Profiles, tables of measurements, traces.
#include "base/yaml/parse.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "profiles/imports/import.hpp"
#include "profiles/measured/measurements.hpp"
#include "profiles/measured/points.hpp"
#include "profiles/measured/tables.hpp"
#include "profiles/network_profile.hpp"
#include "tests/fuzz/refused.hpp"
#include "tests/fuzz/targets.hpp"

namespace fuzz {

void read_profile(std::string_view bytes) {
  refused_or_read([&] {
    const base::Yaml y = base::parse_yaml(std::string(bytes), "input.yaml");
    if (y.find("framework") != nullptr) (void)profiles::load_framework_profile(y);
    else if (y.find("network") != nullptr) (void)profiles::load_network_profile(y);
    else (void)profiles::load_device_profile(y);
  });
}

void read_tables(std::string_view bytes) {
  refused_or_read([&] {
    if (measured::is_points_header(bytes)) {
      for (const measured::Point& p : measured::read_points(std::string(bytes), "input.csv")) (void)measured::scenario_of(p);
      return;
    }
    const measured::Measurements m = measured::read_measurements(bytes, "input.csv");
    (void)measured::to_csv(m.kernels);
    (void)measured::to_csv(m.collectives);
  });
}

void read_trace(std::string_view bytes) {
  const MemoryFile file(bytes);
  refused_or_read([&] {
    const imports::ImportedTrace t = imports::import_trace(file.path());
    (void)imports::summarise(t);
    (void)imports::to_measurements(t, {.device = "x", .cluster = "y"});
  });
}

}  // namespace fuzz
