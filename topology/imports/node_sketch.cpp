#include "topology/imports/node_sketch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/yaml/parse.hpp"
#include "topology/load.hpp"

namespace topology::imports {
namespace {

base::Yaml list_of(const std::vector<std::string>& names) {
  auto list = base::Yaml::make_sequence();
  for (const auto& name : names) list.items.push_back(base::Yaml::make_scalar(name));
  return list;
}

// One line of a comment: whatever a foreign file has in its names, it must not end the comment.
std::string in_a_comment(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E ? '?' : c;
  return out;
}

// A link's latency in a preset, if it has one.
std::optional<base::Seconds> preset_latency(std::string_view preset, std::string_view link) {
  const auto* found = preset_value(preset, {"links", link, "latency"});
  return found != nullptr ? base::parse_seconds(found->scalar) : std::nullopt;
}

}  // namespace

void put(base::Yaml& map, std::string_view key, std::string text) { map.set(key, base::Yaml::make_scalar(std::move(text))); }

std::string cluster_file(const std::string& format, const std::string& file, const std::vector<std::string>& notes, base::Yaml cluster) {
  std::string text =
      fmt::format("# Made of {} ({}) by foreshard import. Latencies are assumptions, as in the presets.\n", in_a_comment(file), format);
  for (const auto& note : notes) text += fmt::format("# - {}\n", in_a_comment(note));
  return text + base::emit_yaml(base::map_of({{"foreshard", base::Yaml::make_scalar("1")}, {"cluster", std::move(cluster)}}));
}

void NodeSketch::resemble(std::string_view direct_preset, std::string_view switched_preset) {
  direct_preset_ = direct_preset;
  switched_preset_ = switched_preset;
}

// Of the machine that it resembles, else of one that has such a link.
base::Seconds NodeSketch::latency(std::string_view link) const {
  // A GPU's link to a crossbar is half of a route from GPU to GPU.
  if (link == "nvlink" && direct_preset_.empty() && !switched_preset_.empty()) return 2 * latency("nvswitch");
  const bool crossbar = link == "nvswitch";
  for (const std::string_view preset : {std::string_view(crossbar ? switched_preset_ : direct_preset_),
                                        crossbar || link == "nvlink" ? std::string_view() : std::string_view(switched_preset_),
                                        std::string_view(crossbar             ? "dgx-2"
                                                         : link == "ethernet" ? "aws-p3.16xlarge"
                                                         : link == "xgmi"     ? "mi300x-node"
                                                         : link == "c2c"      ? "gb200-nvl72"
                                                                              : "dgx-1v")})
    if (const auto found = preset_latency(preset, crossbar ? "nvlink" : link)) return *found;
  return {};
}

// Collectives are timed as on the preset that has the same kind of NVLinks, where it has a profile.
void NodeSketch::add_network_profile(base::Yaml& cluster) {
  const auto uses = [&](std::string_view link) {
    return std::ranges::any_of(links_, [&](const LinkType& l) { return l.name == link && l.uses > 0; });
  };
  const auto preset = uses("nvswitch")                                                       ? switched_preset_
                      : uses("nvlink") || uses("xgmi") || direct_preset_ == switched_preset_ ? direct_preset_
                                                                                             : std::string();
  const auto* profile = preset_value(preset, {"network_profile"});
  if (profile == nullptr) return;
  cluster.set("network_profile", *profile);
  notes_.push_back(fmt::format("Collectives are timed with the network profile {}, that of the preset {}.", profile->scalar, preset));
}

int NodeSketch::link(std::string_view name, base::BytesPerSecond bandwidth, Figures figures) {
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (links_[i].name == name && links_[i].bandwidth == bandwidth) return static_cast<int>(i);
  links_.push_back({std::string(name), bandwidth, figures, 0});
  return static_cast<int>(links_.size()) - 1;
}

void NodeSketch::add_gpus(std::string type, int count, bool peer_access) {
  gpu_type_ = std::move(type);
  gpus_ = count;
  peer_access_ = peer_access;
  if (!peer_access) note("GPUs have no peer access over PCIe: what they exchange goes through the host's memory.");
}

std::string NodeSketch::add(const char* kind, int number, SwitchKind switch_kind) {
  return components_.emplace_back(fmt::format("{}{}", kind, number), switch_kind).first;
}

void NodeSketch::wire(const std::string& a, const std::string& b, int link, int count) {
  wires_.push_back({{a, b}, link, count});
  ++nth(links_, link).uses;
}

void NodeSketch::wire_all_pairs(std::vector<std::string> ends, int link) {
  if (ends.size() < 2) return;
  ++nth(links_, link).uses;
  wires_.push_back({std::move(ends), link, 1});
}

void NodeSketch::join_by_fabric(int nodes, int link, int count, SwitchKind kind) {
  ++nth(links_, link).uses;
  fabric_link_ = link;
  put(domain_ = base::Yaml::make_map(), "nodes", std::to_string(nodes));
  if (count > 1) put(domain_, "count", std::to_string(count));
  if (kind == SwitchKind::in_network) put(domain_, "in_network", "true");
  note(fmt::format("One fabric joins {} such nodes, as in the preset {}: write how many there are for nodes.", nodes, switched_preset_));
}

void NodeSketch::join_by_switch(int link) {
  network_link_ = link;
  nth(links_, link).uses += kMaxDevices;  // the network's link keeps its plain name
}

std::vector<std::string> NodeSketch::link_names() const {
  std::vector<std::string> names(links_.size());
  std::map<std::string, int> taken;
  std::vector<std::size_t> order(links_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return links_[a].uses > links_[b].uses; });
  for (const auto i : order) {
    // A GPU's link to an NVSwitch is NVLink too; only its latency is another.
    const std::string plain = links_[i].name == "nvswitch" ? "nvlink" : links_[i].name;
    const int n = ++taken[plain];
    names[i] = n == 1 ? plain : fmt::format("{}-{}", plain, n);
  }
  return names;
}

base::Yaml NodeSketch::links_yaml(const std::vector<std::string>& names) const {
  auto links = base::Yaml::make_map();
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].uses == 0) continue;
    auto link = base::map_of({{"bandwidth", base::Yaml::make_scalar(base::to_text(links_[i].bandwidth))},
                              {"latency", base::Yaml::make_scalar(base::to_text(latency(links_[i].name)))}});
    if (links_[i].figures == Figures::assumed) put(link, "assumed", "true");
    links.set(names[i], std::move(link));
  }
  return links;
}

base::Yaml NodeSketch::node_yaml(const std::vector<std::string>& names) const {
  auto node = base::Yaml::make_map();
  node.set("gpus", base::map_of({{"type", base::Yaml::make_scalar(gpu_type_)}, {"count", base::Yaml::make_scalar(std::to_string(gpus_))}}));
  if (!peer_access_) put(*node.find("gpus"), "peer_access", "false");
  if (fabric_link_ >= 0) {
    node.set("domain", domain_);
    put(*node.find("domain"), "link", nth(names, fabric_link_));
  }
  auto components = base::Yaml::make_sequence();
  for (const auto& [name, kind] : components_) {
    auto item = base::Yaml::make_scalar(name);
    if (kind == SwitchKind::in_network) item = base::map_of({{name, base::map_of({{"in_network", base::Yaml::make_scalar("true")}})}});
    components.items.push_back(std::move(item));
  }
  node.set("components", std::move(components));
  auto wires = base::Yaml::make_sequence();
  for (const auto& w : wires_) {
    auto wire = base::map_of(
        {{w.ends.size() == 2 ? "between" : "all_pairs", list_of(w.ends)}, {"link", base::Yaml::make_scalar(nth(names, w.link))}});
    if (w.count != 1) put(wire, "count", std::to_string(w.count));
    wires.items.push_back(std::move(wire));
  }
  node.set("wires", std::move(wires));
  return node;
}

ImportedTopology NodeSketch::finish() && {
  const auto names = link_names();
  auto cluster = base::Yaml::make_map();
  put(cluster, "name", "imported");
  put(cluster, "nodes", "1");
  cluster.set("links", links_yaml(names));
  cluster.set("node", node_yaml(names));
  if (network_link_ >= 0) {
    cluster.set("network",
                base::map_of({{"type", base::Yaml::make_scalar("switch")}, {"link", base::Yaml::make_scalar(nth(names, network_link_))}}));
    notes_.emplace_back("How several such nodes are joined is not in the file: one switch that does not block is assumed.");
  } else {
    notes_.emplace_back("No NIC is known, so the description serves for one node only.");
  }
  add_network_profile(cluster);
  std::string yaml = cluster_file(format_, file_, notes_, std::move(cluster));
  return {format_, std::move(yaml), std::move(notes_), 1, gpus_, cpus_, switches_, nics_, static_cast<int>(wires_.size())};
}

}  // namespace topology::imports
