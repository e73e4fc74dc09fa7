#include "scenarios/confidence/measured.hpp"

#include <fmt/core.h>

#include <map>

#include "profiles/device_profile.hpp"
#include "profiles/fit/network_fit.hpp"
#include "profiles/kernel_time.hpp"
#include "sim/collectives/plan_collective.hpp"
#include "topology/load.hpp"

namespace confidence {
namespace {

std::string first_message(const base::InputError& e) { return e.diagnostics().front().message; }

Item item_of(const measured::KernelMeasurement& m) {
  Item i;
  i.subject = Subject::kernel;
  i.group = fmt::format("{} {} {}", m.device, pcg::precision_names()[static_cast<std::size_t>(m.precision)], pcg::to_text(m.kernel.kind));
  i.id = m.kernel.m > 0 ? fmt::format("{} x {} x {} x {}", m.kernel.batch, m.kernel.m, m.kernel.n, m.kernel.k)
                        : fmt::format("{:.4g} FLOP, {:.4g} B", m.kernel.flops.value(), m.kernel.bytes.value());
  i.where = m.source;
  i.measured = m.time;
  try {
    const profiles::DeviceProfile& device = profiles::device_profile(m.device);
    if (const auto why = profiles::unsupported(device, m.precision)) i.failure = *why;
    else i.predicted = profiles::kernel_time(device, m.kernel, m.precision).time;
  } catch (const base::InputError& e) { i.failure = first_message(e); }
  return i;
}

// Tables name a preset and a number of nodes, as a scenario does.
topology::Cluster load(const std::string& preset, int nodes) {
  base::Yaml section = base::Yaml::make_map();
  section.set("preset", base::Yaml::make_scalar(preset));
  section.set("nodes", base::Yaml::make_scalar(std::to_string(nodes)));
  return topology::load_cluster(topology::expand_cluster(section, "cluster"), "cluster");
}

// The first GPUs of each node, as many on each.
std::vector<topology::DeviceId> group_of(const topology::Cluster& cluster, int nodes, int gpus) {
  std::vector<topology::DeviceId> group;
  for (int node = 0; node < nodes; ++node) {
    const auto devices = cluster.node_devices(node);
    for (int g = 0; g < gpus / nodes; ++g) group.push_back(devices[static_cast<std::size_t>(g)]);
  }
  return group;
}

class Collectives {
 public:
  Item item_of(const measured::CollectiveMeasurement& m) {
    Item i;
    i.subject = Subject::collective;
    i.group = fmt::format("{} {} on {} of {} node{}, {} 1 MB", m.cluster, profiles::to_text(m.kind), m.gpus, m.nodes,
                          m.nodes > 1 ? "s" : "", m.bytes < fit::kShortMessage ? "below" : "from");
    i.id = base::to_text(m.bytes);
    i.where = m.source;
    i.measured = m.time;
    try {
      i.predicted = predict(m);
      if (i.predicted.value() <= 0) i.failure = "nothing moves";
    } catch (const base::InputError& e) { i.failure = first_message(e); }
    return i;
  }

 private:
  // Clusters are kept: a table has thousands of rows on a handful of them.
  base::Seconds predict(const measured::CollectiveMeasurement& m) {
    const auto key = std::pair(m.cluster, m.nodes);
    auto at = clusters_.find(key);
    if (at == clusters_.end()) at = clusters_.emplace(key, load(m.cluster, m.nodes)).first;
    const topology::Cluster& cluster = at->second;
    if (m.gpus % m.nodes != 0 || m.gpus / m.nodes > static_cast<int>(cluster.node_devices(0).size()))
      throw base::InputError(
          std::vector<base::Diagnostic>{{{}, "", fmt::format("{} GPUs do not fit on {} nodes of {}", m.gpus, m.nodes, m.cluster), {}}});
    return sim::plan_collective(m.kind, m.bytes, group_of(cluster, m.nodes, m.gpus), cluster).estimate;
  }

  std::map<std::pair<std::string, int>, topology::Cluster> clusters_;
};

}  // namespace

std::vector<Item> items_of(const measured::Measurements& measured) {
  std::vector<Item> items;
  for (const auto& k : measured.kernels) items.push_back(item_of(k));
  Collectives collectives;
  for (const auto& c : measured.collectives) items.push_back(collectives.item_of(c));
  return items;
}

}  // namespace confidence
