#include "reports/show/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>

#include "base/numbers.hpp"
#include "profiles/profile_files.hpp"
#include "reports/layout/table.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;
using topology::Cluster;
using topology::DeviceId;

// Links of a type may differ (bonded ones are wider), so they are grouped by all three.
std::map<std::tuple<std::string, base::BytesPerSecond, base::Seconds>, int> link_types(const Cluster& c) {
  std::map<std::tuple<std::string, base::BytesPerSecond, base::Seconds>, int> types;
  for (const topology::Link& l : c.links()) ++types[{l.type, l.bandwidth, l.latency}];
  return types;
}

// A device that is not as its profile says: "a100-sxm-80gb (compute 2x, memory 1x)".
std::string device_text(const topology::Device& d) {
  const std::string title = profiles::device_title(d.type);
  if (d.speed == topology::DeviceSpeed{}) return title;
  const double watts = d.speed.power_limit.value();
  return fmt::format("{} (compute {:g}x, memory {:g}x{})", title, d.speed.compute, d.speed.memory,
                     watts > 0 ? fmt::format(", {:g} W", watts) : "");
}

std::map<std::string, int> device_types(const Cluster& c) {
  std::map<std::string, int> types;
  for (const topology::Device& d : c.devices()) ++types[device_text(d)];
  return types;
}

bool is_slow(const topology::Device& d) { return d.slowdown > 1 || d.host_slowdown > 1; }

// Types, not names, of the links: routes that differ in their names alone are of one kind.
std::string route_text(const Cluster& c, DeviceId a, DeviceId b) {
  const topology::Route r = c.route(a, b);
  const auto type = [&](topology::LinkId l) -> const std::string& { return c.link(l).type; };
  return fmt::format("{} ({})", base::to_text(r.bandwidth), fmt::join(r.links | std::views::transform(type), ", "));
}

// From device 0 to the first of its node for each kind of route, to the first of the next node, and of the next domain if that is another.
std::vector<std::pair<std::string, DeviceId>> sample_routes(const Cluster& c) {
  std::vector<std::pair<std::string, DeviceId>> samples;
  const auto node = c.node_devices(0);
  for (std::size_t i = 1; i < node.size(); ++i) {
    const std::string route = route_text(c, node[0], node[i]);
    const auto is_such = [&](const auto& sample) { return route_text(c, node[0], sample.second) == route; };
    if (std::ranges::none_of(samples, is_such)) samples.emplace_back(fmt::format("GPU 0 to GPU {}", node[i].value), node[i]);
  }
  if (c.nodes() > 1) {
    const DeviceId other = c.node_devices(1)[0];
    samples.emplace_back(fmt::format("GPU 0 to GPU {}, the next node", other.value), other);
    if (c.domains() > 1 && c.domain_devices(1)[0] != other) {
      const DeviceId beyond = c.domain_devices(1)[0];
      samples.emplace_back(fmt::format("GPU 0 to GPU {}, the next domain", beyond.value), beyond);
    }
  }
  return samples;
}

}  // namespace

std::string cluster_text(const Cluster& c) {
  std::string out = fmt::format("{}: {}, {}", c.name(), base::counted(c.nodes(), "node"), base::counted(c.device_count(), "GPU"));
  if (c.domains() != c.nodes()) out += fmt::format(" in {} domain{}", c.domains(), c.domains() == 1 ? "" : "s");
  for (const auto& [type, count] : device_types(c)) out += fmt::format(", {} {}", count, type);
  if (const auto slow = std::ranges::count_if(c.devices(), is_slow); slow > 0) out += fmt::format(", {} slow", slow);
  out += "\n\n";
  Table links({left("link"), right("count"), right("bandwidth"), right("latency")});
  for (const auto& [type, count] : link_types(c))
    links.row({std::get<0>(type), fmt::format("{}", count), base::to_text(std::get<1>(type)), base::to_text(std::get<2>(type))});
  out += links.text() + "\n";
  Table routes({left("route"), left("widest path")});
  for (const auto& [what, device] : sample_routes(c)) routes.row({what, route_text(c, c.node_devices(0)[0], device)});
  return c.device_count() > 1 ? out + routes.text() : out;
}

std::string cluster_json(const Cluster& c) {
  Json j = {{"name", c.name()}, {"nodes", c.nodes()}, {"domains", c.domains()}, {"gpus", c.device_count()}, {"devices", Json::object()}};
  for (const auto& [type, count] : device_types(c)) j["devices"][type] = count;
  j["nics_per_node"] = c.nodes() > 0 ? c.nics_per_node(0) : 0;
  j["links"] = Json::array();
  for (const auto& [type, count] : link_types(c))
    j["links"].push_back({{"type", std::get<0>(type)},
                          {"count", count},
                          {"bandwidth_bytes_per_s", std::get<1>(type).value()},
                          {"latency_s", std::get<2>(type).value()}});
  j["routes"] = Json::array();
  for (const auto& [what, device] : sample_routes(c)) {
    const topology::Route r = c.route(c.node_devices(0)[0], device);
    Json links = Json::array();
    for (topology::LinkId l : r.links) links.push_back(c.link(l).name);
    j["routes"].push_back({{"from", c.node_devices(0)[0].value},
                           {"to", device.value},
                           {"bandwidth_bytes_per_s", r.bandwidth.value()},
                           {"latency_s", r.latency.value()},
                           {"links", links}});
  }
  return j.dump(1) + "\n";
}

}  // namespace reports
