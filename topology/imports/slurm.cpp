// From Slurm's topology.conf to the network of a cluster and its number of nodes.
//
// Ours has leaves of one size and a core that does not block above them. Anything that a file says beyond that becomes a note.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/yaml/parse.hpp"
#include "topology/imports/node_sketch.hpp"
#include "topology/imports/slurm_lines.hpp"
#include "topology/imports/source_text.hpp"
#include "topology/load.hpp"

namespace topology::imports {
namespace {

constexpr const char* kFormat = "Slurm topology.conf";

struct SlurmNetwork {
  const SourceText& source;
  const SlurmTopology& t;
  const std::string& file;
  const ImportConfig& config;
  base::Diagnostics sink;
  std::map<int, int> leaves_of_size;
  std::map<const SlurmSwitch*, int> level_of;
  int nodes = 0, levels = 1, roots = 0;
  bool shared = false;
  std::vector<std::string> notes;
};

const std::vector<SlurmSwitch>& entries(const SlurmNetwork& net) { return net.t.switches.empty() ? net.t.blocks : net.t.switches; }

void complain(SlurmNetwork& net, int line, std::string message) { net.sink.add(net.source.at(line), "", std::move(message)); }

// Every node in one leaf; leaf sizes.
void check_nodes(SlurmNetwork& net) {
  std::map<std::string, const SlurmSwitch*> leaf_of;
  for (const auto& s : entries(net)) {
    for (const auto& node : s.nodes) {
      const auto [at, is_new] = leaf_of.emplace(node, &s);
      if (is_new) continue;
      complain(net, s.line,
               at->second == &s ? fmt::format("node \"{}\" is there twice", node)
                                : fmt::format("node \"{}\" is below \"{}\" already: a node of ours has one leaf", node, at->second->name));
    }
    if (!s.nodes.empty()) ++net.leaves_of_size[static_cast<int>(s.nodes.size())];
  }
  net.nodes = static_cast<int>(leaf_of.size());
  if (net.nodes == 0 && net.sink.empty()) net.sink.add(net.source.at(1), "", "no line names a node");
}

// 1 for a leaf. Switches are followed child by child without recursion: a file may stack thousands.
int level(SlurmNetwork& net, const SlurmSwitch& top, const std::map<std::string, const SlurmSwitch*>& by_name) {
  struct Step {
    const SlurmSwitch* at;
    std::size_t next = 0;
  };
  std::vector<Step> path{{&top}};
  std::set<const SlurmSwitch*> on_path{&top};
  while (!path.empty()) {
    auto& [at, next] = path.back();
    if (net.level_of.contains(at) || next == at->switches.size()) {
      if (!net.level_of.contains(at)) {
        int deepest = 0;
        for (const auto& child : at->switches) deepest = std::max(deepest, net.level_of.at(by_name.at(child)));
        net.level_of[at] = deepest + 1;
      }
      on_path.erase(at);
      path.pop_back();
      continue;
    }
    const auto* child = by_name.at(at->switches[next++]);
    if (!on_path.insert(child).second) refuse(net.source.at(at->line), fmt::format("switch \"{}\" is below itself", child->name));
    path.push_back({child});
  }
  return net.level_of.at(&top);
}

// Switches below switches exist, and none is below itself.
void check_switches(SlurmNetwork& net) {
  std::map<std::string, const SlurmSwitch*> by_name;
  for (const auto& s : net.t.switches) by_name.emplace(s.name, &s);
  std::map<std::string, int> parents;
  for (const auto& s : net.t.switches) {
    for (const auto& child : s.switches) {
      if (!by_name.contains(child)) complain(net, s.line, fmt::format("switch \"{}\" below \"{}\" is not in the file", child, s.name));
      ++parents[child];
    }
  }
  if (!net.sink.empty()) return;
  for (const auto& s : net.t.switches) net.levels = std::max(net.levels, level(net, s, by_name));
  for (const auto& s : net.t.switches) net.roots += parents.contains(s.name) ? 0 : 1;
  net.shared = std::ranges::any_of(parents, [](const auto& p) { return p.second > 1; });
}

// The size that most leaves have, the smaller of two: more leaves, so more traffic through the core.
int leaf_size(const SlurmNetwork& net) {
  return std::ranges::max_element(net.leaves_of_size, {}, [](const auto& entry) { return entry.second; })->first;
}

int leaves(const SlurmNetwork& net) {
  return static_cast<int>(std::ranges::count_if(entries(net), [](const SlurmSwitch& s) { return !s.nodes.empty(); }));
}

void note_what_is_lost(SlurmNetwork& net) {
  if (net.leaves_of_size.size() > 1) {
    std::vector<std::string> sizes;
    for (const auto& [size, count] : net.leaves_of_size) sizes.push_back(fmt::format("{} x {}", count, size));
    net.notes.push_back(fmt::format("Leaves of several sizes ({} nodes): nodes are filled into leaves of {}, in the order of the file.",
                                    fmt::join(sizes, ", "), leaf_size(net)));
  }
  if (net.levels > 2)
    net.notes.push_back(
        fmt::format("{} levels of switches: the {} above the leaves are one core that does not block.", net.levels, net.levels - 1));
  if (net.roots > 1 && leaves(net) > 1)
    net.notes.push_back(fmt::format("{} switches have nothing above them; here one core joins all leaves.", net.roots));
  if (net.shared) net.notes.emplace_back("Switches with several above them: those above are one core here.");
  std::set<std::string> speeds;
  for (const auto& s : entries(net))
    if (!s.link_speed.empty()) speeds.insert(s.link_speed);
  if (!speeds.empty())
    net.notes.push_back(
        fmt::format("LinkSpeed ({}) has no unit in Slurm and is left out: set the link's bandwidth.", fmt::join(speeds, ", ")));
  if (!net.t.blocks.empty()) net.notes.emplace_back("A block is a leaf here.");
  if (!net.t.block_sizes.empty())
    net.notes.push_back(fmt::format("BlockSizes ({}) say how Slurm allocates nodes and are left out.", fmt::join(net.t.block_sizes, ", ")));
  if (leaves(net) > 1) net.notes.emplace_back("How far leaves are oversubscribed is not in the file: not at all is assumed.");
  net.notes.emplace_back("The names of nodes and switches are left out: nodes are numbered in the order of the file.");
}

// topology.conf knows names of nodes only.
ImportedTopology placeholder(SlurmNetwork& net) {
  NodeSketch sketch(kFormat, net.file);
  sketch.add_gpus(net.config.gpu.empty() ? std::string(kChooseGpu) : net.config.gpu, 1);
  const auto cpu = sketch.add_cpu(), nic = sketch.add_nic();
  const int pcie = sketch.link("pcie", base::BytesPerSecond(16e9), NodeSketch::Figures::assumed);
  sketch.wire("gpu0", cpu, pcie);
  sketch.wire(cpu, nic, pcie);
  sketch.join_by_switch(sketch.link("infiniband", base::BytesPerSecond(12.5e9), NodeSketch::Figures::assumed));
  net.notes.emplace_back(
      "CHOOSE a node: topology.conf says nothing of it. One GPU and one adapter of 100 Gbit/s are assumed; "
      "write a preset, or import the node's nvidia-smi or NCCL file with this one behind it.");
  return std::move(sketch).finish();
}

// Of such nodes, joined as the node's file has it.
base::Yaml cluster_of(SlurmNetwork& net, const ImportedTopology& node) {
  const auto document = base::parse_yaml(node.yaml, net.file);
  if (document.find("cluster")->find("network") == nullptr)
    refuse({}, "the node's file has no NIC, so nothing joins such nodes", "import a file that has NICs, or name a preset with --cluster");
  net.notes.insert(net.notes.begin(), node.notes.begin(), node.notes.end());
  std::erase_if(net.notes, [](const std::string& note) { return note.starts_with("How several such nodes are joined"); });
  return *document.find("cluster");
}

void check_preset(SlurmNetwork& net) {
  if (preset_section(net.config.preset) == nullptr)
    refuse({}, unknown_preset(net.config.preset), base::suggest(net.config.preset, preset_names()));
  net.notes.push_back(fmt::format("A node, and the type of its network's link, are those of the preset {}.", net.config.preset));
}

base::Yaml network(const SlurmNetwork& net, const base::Yaml* node_network) {
  auto network = base::Yaml::make_map();
  const bool tree = leaves(net) > 1;
  put(network, "type", tree ? "fat-tree" : "switch");
  if (node_network != nullptr) put(network, "link", node_network->find("link")->scalar);
  if (tree || node_network == nullptr) put(network, "oversubscription", "1");
  if (tree) put(network, "nodes_per_leaf", std::to_string(leaf_size(net)));
  return network;
}

}  // namespace

std::optional<ImportedTopology> import_slurm(std::string_view text, const std::string& file, const ImportConfig& config) {
  const SourceText source(text, file);
  const auto topology = read_slurm_lines(source);
  if (!topology) return std::nullopt;
  SlurmNetwork net{.source = source, .t = *topology, .file = file, .config = config};
  check_nodes(net);
  check_switches(net);
  net.sink.throw_if_any();
  net.notes = topology->notes;
  note_what_is_lost(net);
  const auto* const node = net.config.node;
  const bool has_preset = !net.config.preset.empty();
  base::Yaml cluster = has_preset ? base::Yaml::make_map() : cluster_of(net, node != nullptr ? *node : placeholder(net));
  put(cluster, "name", "imported");
  if (has_preset) put(cluster, "preset", net.config.preset), check_preset(net);
  put(cluster, "nodes", std::to_string(net.nodes));
  cluster.set("network", network(net, cluster.find("network")));
  ImportedTopology result = node != nullptr ? *node : ImportedTopology();
  result.format = node != nullptr ? fmt::format("{}, {}", node->format, kFormat) : kFormat;
  result.yaml = cluster_file(result.format, net.file, net.notes, std::move(cluster));
  result.notes = std::move(net.notes);
  result.nodes = net.nodes;
  return result;
}

}  // namespace topology::imports
