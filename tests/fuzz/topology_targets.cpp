#include "base/yaml/parse.hpp"
#include "tests/fuzz/refused.hpp"
#include "tests/fuzz/targets.hpp"
#include "topology/cluster.hpp"
#include "topology/imports/imports.hpp"
#include "topology/load.hpp"

namespace fuzz {

void read_cluster(std::string_view bytes) {
  refused_or_read([&] {
    const base::Yaml y = base::parse_yaml(std::string(bytes), "input.yaml");
    const base::Yaml* section = y.find("cluster");
    const topology::Cluster c = topology::load_cluster(topology::expand_cluster(section != nullptr ? *section : y, "cluster"), "cluster");
    BASE_CHECK(c.device_count() > 0, "a cluster without devices");
  });
}

void read_topology(std::string_view bytes) {
  static const topology::ImportedTopology kNode =
      topology::import_topology("\tGPU0\tGPU1\tNIC0\nGPU0\tX\tPIX\tPIX\nGPU1\tPIX\tX\tPIX\nNIC0\tPIX\tPIX\tX\n", "node").value();
  const auto load = [](const std::optional<topology::ImportedTopology>& found) {
    if (!found || found->gpus == 0) return;
    const base::Yaml y = base::parse_yaml(found->yaml, "made.yaml");
    try {
      (void)topology::load_cluster(topology::expand_cluster(*y.find("cluster"), "cluster"), "cluster");
    } catch (const base::InputError& e) { BASE_CHECK(false, "{} is refused: {}", found->yaml, e.what()); }
  };
  refused_or_read([&] { load(topology::import_topology(bytes, "input.txt", {.node = &kNode})); });
  refused_or_read([&] {
    const auto node = topology::import_topology(bytes, "input.txt");
    load(node);
    if (node && node->gpus > 0) load(topology::import_topology("SwitchName=s0 Nodes=n[0-3]\n", "slurm", {.node = &*node}));
  });
}

}  // namespace fuzz
