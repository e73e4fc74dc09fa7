// From Slurm's topology.conf to the network of a cluster and its number of nodes.
//
// Ours has leaves of one size and a core that does not block above them. Anything that a file says beyond that becomes a note.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/yaml/parse.hpp"
#include "topology/imports/importers.hpp"
#include "topology/imports/node_sketch.hpp"
#include "topology/imports/slurm_lines.hpp"
#include "topology/imports/source_text.hpp"
#include "topology/presets.hpp"

namespace topology::imports {
namespace {

class SlurmImport {
 public:
  SlurmImport(const SourceText& source, const SlurmTopology& topology, const std::string& file, const ImportConfig& config)
      : source_(source), t_(topology), file_(file), config_(config) {}

  ImportedTopology make() {
    check_nodes();
    check_switches();
    sink_.throw_if_any();
    note_what_is_lost();
    auto cluster = base::Yaml::make_map();
    put(cluster, "name", "imported");
    if (!config_.preset.empty()) put(cluster, "preset", config_.preset);
    put(cluster, "nodes", std::to_string(nodes_));
    if (config_.preset.empty()) add_placeholder_node(cluster);
    else check_preset();
    cluster.set("network", network());
    ImportedTopology result{kFormat, cluster_file(kFormat, file_, notes_, std::move(cluster)), notes_};
    result.nodes = nodes_;
    return result;
  }

 private:
  static constexpr const char* kFormat = "Slurm topology.conf";

  [[nodiscard]] const std::vector<SlurmSwitch>& entries() const { return t_.switches.empty() ? t_.blocks : t_.switches; }
  void complain(int line, std::string message) { sink_.add(source_.at(line), "", std::move(message)); }

  // Every node in one leaf; leaf sizes.
  void check_nodes() {
    std::map<std::string, const SlurmSwitch*> leaf_of;
    for (const auto& s : entries()) {
      for (const auto& node : s.nodes) {
        const auto [at, is_new] = leaf_of.emplace(node, &s);
        if (is_new) continue;
        complain(s.line, at->second == &s
                             ? fmt::format("node \"{}\" is there twice", node)
                             : fmt::format("node \"{}\" is below \"{}\" already: a node of ours has one leaf", node, at->second->name));
      }
      if (!s.nodes.empty()) ++leaves_of_size_[static_cast<int>(s.nodes.size())];
    }
    nodes_ = static_cast<int>(leaf_of.size());
    if (nodes_ == 0 && sink_.empty()) sink_.add(source_.at(1), "", "no line names a node");
  }

  // Switches below switches exist, and none is below itself.
  void check_switches() {
    std::map<std::string, const SlurmSwitch*> by_name;
    for (const auto& s : t_.switches) by_name.emplace(s.name, &s);
    std::map<std::string, int> parents;
    for (const auto& s : t_.switches) {
      for (const auto& child : s.switches) {
        if (!by_name.contains(child)) complain(s.line, fmt::format("switch \"{}\" below \"{}\" is not in the file", child, s.name));
        ++parents[child];
      }
    }
    if (!sink_.empty()) return;
    for (const auto& s : t_.switches) levels_ = std::max(levels_, level(s, by_name));
    for (const auto& s : t_.switches) roots_ += parents.contains(s.name) ? 0 : 1;
    shared_ = std::ranges::any_of(parents, [](const auto& p) { return p.second > 1; });
  }

  // 1 for a leaf. Switches are followed child by child without recursion: a file may stack thousands.
  int level(const SlurmSwitch& top, const std::map<std::string, const SlurmSwitch*>& by_name) {
    struct Step {
      const SlurmSwitch* at;
      std::size_t next = 0;
    };
    std::vector<Step> way{{&top}};
    std::set<const SlurmSwitch*> on_way{&top};
    while (!way.empty()) {
      auto& [at, next] = way.back();
      if (level_of_.contains(at) || next == at->switches.size()) {
        if (!level_of_.contains(at)) {
          int deepest = 0;
          for (const auto& child : at->switches) deepest = std::max(deepest, level_of_.at(by_name.at(child)));
          level_of_[at] = deepest + 1;
        }
        on_way.erase(at);
        way.pop_back();
        continue;
      }
      const auto* child = by_name.at(at->switches[next++]);
      if (!on_way.insert(child).second) refuse(source_.at(at->line), fmt::format("switch \"{}\" is below itself", child->name));
      way.push_back({child});
    }
    return level_of_.at(&top);
  }

  [[nodiscard]] int leaves() const {
    int count = 0;
    for (const auto& [size, leaves] : leaves_of_size_) count += leaves;
    return count;
  }
  // The size that most leaves have, the smaller of two: more leaves, so more traffic through the core.
  [[nodiscard]] int leaf_size() const {
    return std::ranges::max_element(leaves_of_size_, {}, [](const auto& entry) { return entry.second; })->first;
  }

  void note_what_is_lost() {
    if (leaves_of_size_.size() > 1) {
      std::vector<std::string> sizes;
      for (const auto& [size, count] : leaves_of_size_) sizes.push_back(fmt::format("{} x {}", count, size));
      notes_.push_back(fmt::format("Leaves of several sizes ({} nodes): nodes are filled into leaves of {}, in the order of the file.",
                                   fmt::join(sizes, ", "), leaf_size()));
    }
    if (levels_ > 2)
      notes_.push_back(
          fmt::format("{} levels of switches: the {} above the leaves are one core that does not block.", levels_, levels_ - 1));
    if (roots_ > 1 && leaves() > 1)
      notes_.push_back(fmt::format("{} switches have nothing above them; here one core joins all leaves.", roots_));
    if (shared_) notes_.emplace_back("Switches with several above them: those above are one core here.");
    std::set<std::string> speeds;
    for (const auto& s : entries()) {
      if (!s.link_speed.empty()) speeds.insert(s.link_speed);
    }
    if (!speeds.empty())
      notes_.push_back(
          fmt::format("LinkSpeed ({}) has no unit in Slurm and is left out: set the link's bandwidth.", fmt::join(speeds, ", ")));
    if (!t_.blocks.empty()) notes_.emplace_back("A block is a leaf here.");
    if (!t_.block_sizes.empty())
      notes_.push_back(fmt::format("BlockSizes ({}) tell how Slurm gives out nodes and are left out.", fmt::join(t_.block_sizes, ", ")));
    if (leaves() > 1) notes_.emplace_back("How far leaves are oversubscribed is not in the file: not at all is assumed.");
    notes_.emplace_back("The names of nodes and switches are left out: nodes are numbered in the order of the file.");
  }

  void check_preset() {
    if (preset_section(config_.preset) == nullptr)
      refuse({}, unknown_preset(config_.preset), base::suggest(config_.preset, preset_names()));
    notes_.push_back(fmt::format("A node, and the type of its network's link, are those of the preset {}.", config_.preset));
  }

  // topology.conf knows names of nodes only.
  void add_placeholder_node(base::Yaml& cluster) {
    NodeSketch sketch(kFormat, file_);
    sketch.add_gpus(config_.gpu.empty() ? std::string(kChooseGpu) : config_.gpu, 1);
    const auto cpu = sketch.add_cpu(), nic = sketch.add_nic();
    const int pcie = sketch.link("pcie", base::BytesPerSecond(16e9));
    sketch.wire("gpu0", cpu, pcie);
    sketch.wire(cpu, nic, pcie);
    sketch.join_by_switch(sketch.link("infiniband", base::BytesPerSecond(12.5e9)));
    const auto document = base::parse_yaml(std::move(sketch).finish().yaml, file_);
    for (const char* key : {"links", "node"}) cluster.set(key, *document.find("cluster")->find(key));
    notes_.emplace_back(
        "CHOOSE a node: topology.conf says nothing of it. One GPU and one adapter of 100 Gbit/s stand here in its place; "
        "write a preset or the node of an imported nvidia-smi or NCCL file.");
  }

  [[nodiscard]] base::Yaml network() const {
    auto network = base::Yaml::make_map();
    const bool tree = leaves() > 1;
    put(network, "type", tree ? "fat-tree" : "switch");
    if (config_.preset.empty()) put(network, "link", "infiniband");
    if (tree || !config_.preset.empty()) put(network, "oversubscription", "1");
    if (tree) put(network, "nodes_per_leaf", std::to_string(leaf_size()));
    return network;
  }

  const SourceText& source_;
  const SlurmTopology& t_;
  const std::string& file_;
  const ImportConfig& config_;
  base::Diagnostics sink_;
  std::map<int, int> leaves_of_size_;
  std::map<const SlurmSwitch*, int> level_of_;
  int nodes_ = 0, levels_ = 1, roots_ = 0;
  bool shared_ = false;
  std::vector<std::string> notes_;
};

}  // namespace

std::optional<ImportedTopology> import_slurm(std::string_view text, const std::string& file, const ImportConfig& config) {
  const SourceText source(text, file);
  const auto topology = read_slurm_lines(source);
  if (!topology) return std::nullopt;
  return SlurmImport(source, *topology, file, config).make();
}

}  // namespace topology::imports
