#pragma once
// A node (and the network beyond it) while an importer finds out about it; written as YAML at the end. Private to this folder.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "base/yaml/tree.hpp"
#include "topology/imports/imports.hpp"

namespace topology::imports {

inline constexpr int kMaxDevices = 256;  // GPUs and NICs of one node: real ones have tens
inline constexpr int kMaxCpus = 32;      // NUMA nodes of one node: real ones have up to eight

// Whether a switch reduces and multicasts in the network.
enum class SwitchKind { plain, in_network };

class NodeSketch {
 public:
  NodeSketch(std::string format, std::string file) : format_(std::move(format)), file_(std::move(file)) {}

  // Link types of one name but different figures get different names when written: the one used most keeps the plain name. `figures`:
  // whether the file says how fast the link is, or its GPU's data sheet; else the description marks the link as assumed.
  enum class Figures { known, assumed };
  int link(std::string_view name, base::BytesPerSecond bandwidth, Figures figures = Figures::known);
  // `peer_access`: whether they reach each other's memory over PCIe.
  void add_gpus(std::string type, int count, bool peer_access = true);
  [[nodiscard]] std::string add_cpu() { return add("cpu", cpus_++); }
  [[nodiscard]] std::string add_nic() { return add("nic", nics_++); }
  [[nodiscard]] std::string add_switch(SwitchKind kind = SwitchKind::plain) { return add("switch", switches_++, kind); }
  void wire(const std::string& a, const std::string& b, int link, int count = 1);
  void wire_all_pairs(std::vector<std::string> ends, int link);
  // Latencies, and the network profile if it has one, are those of a preset: "dgx-1v" for NVLinks from GPU to GPU, "dgx-h100" for NVLinks
  // to an NVSwitch. Empty: none ships.
  void resemble(std::string_view direct_preset, std::string_view switched_preset);
  // One fabric joins every GPU of `nodes` such nodes, with `count` links each.
  void join_by_fabric(int nodes, int link, int count, SwitchKind kind);
  // How several such nodes are joined: one switch, NICs on links of this type.
  void join_by_switch(int link);
  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }

  [[nodiscard]] ImportedTopology finish() &&;

 private:
  struct LinkType {
    std::string name;
    base::BytesPerSecond bandwidth;
    Figures figures = Figures::known;
    int uses = 0;
  };
  struct Wire {
    std::vector<std::string> ends;
    int link = 0;
    int count = 1;
  };

  std::string add(const char* kind, int number, SwitchKind switch_kind = SwitchKind::plain);
  [[nodiscard]] base::Seconds latency(std::string_view link) const;
  void add_network_profile(base::Yaml& cluster);
  // The name of each link type in the file, one per entry of links_.
  [[nodiscard]] std::vector<std::string> link_names() const;
  [[nodiscard]] base::Yaml links_yaml(const std::vector<std::string>& names) const;
  [[nodiscard]] base::Yaml node_yaml(const std::vector<std::string>& names) const;

  std::string format_;
  std::string file_;
  std::vector<LinkType> links_;
  std::string direct_preset_, switched_preset_;
  std::string gpu_type_;
  int gpus_ = 0, cpus_ = 0, switches_ = 0, nics_ = 0;
  std::vector<std::pair<std::string, SwitchKind>> components_;  // plain, too, what is no switch
  std::vector<Wire> wires_;
  int network_link_ = -1;
  int fabric_link_ = -1;
  bool peer_access_ = true;
  base::Yaml domain_;  // without its link, whose name is not final
  std::vector<std::string> notes_;
};

// A file: comments that say where it is from and what was assumed, then the section.
[[nodiscard]] std::string cluster_file(const std::string& format, const std::string& file, const std::vector<std::string>& notes,
                                       base::Yaml cluster);
// A map entry with a plain scalar.
void put(base::Yaml& map, std::string_view key, std::string text);

}  // namespace topology::imports
