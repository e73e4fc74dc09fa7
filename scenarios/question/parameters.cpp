#include "scenarios/question/parameters.hpp"

#include <fmt/core.h>

#include "base/units.hpp"

namespace scenarios {
namespace {

void add_node(const std::string& path, std::vector<Parameter>& all) {
  for (const char* key : {"compute_speed", "memory_speed", "host_speed"})
    all.push_back({fmt::format("{}.gpus.{}", path, key), false, false});
  all.push_back({path + ".gpus.memory", false, true});
}

bool is_zero(const base::Yaml& latency) {
  const auto seconds = base::parse_seconds(latency.scalar);
  return seconds && seconds->value() == 0;
}

}  // namespace

std::vector<Parameter> parameters_of(const base::Yaml& cluster) {
  std::vector<Parameter> all;
  if (const base::Yaml* links = cluster.find("links"))
    for (const base::Yaml::Entry& link : links->entries) {
      const std::string path = "cluster.links." + link.key;
      all.push_back({path + ".bandwidth", false, false});
      const base::Yaml* latency = link.value.find("latency");
      if (latency != nullptr && !is_zero(*latency)) all.push_back({path + ".latency", true, false});
    }
  if (cluster.find("node") != nullptr) add_node("cluster.node", all);
  if (const base::Yaml* types = cluster.find("node_types"))
    for (std::size_t t = 0; t < types->items.size(); ++t) add_node(fmt::format("cluster.node_types[{}]", t), all);
  return all;
}

WhatIf changed_by(const Parameter& p, double factor) {
  WhatIf w;
  w.name = w.place = p.path;
  const std::string text = fmt::format("{:.12g}x", factor);
  w.set.emplace_back(p.path, base::Yaml::make_scalar(text));
  w.settings.emplace_back(p.path, text);
  return w;
}

double improvement(const Parameter& p) { return p.more_is_worse ? 0.5 : 2; }

}  // namespace scenarios
