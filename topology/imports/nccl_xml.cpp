// From NCCL's topology XML to a node.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "topology/imports/machine_facts.hpp"
#include "topology/imports/nccl_tree.hpp"
#include "topology/imports/node_sketch.hpp"
#include "topology/imports/source_text.hpp"

namespace topology::imports {
namespace {

// A GPU and where it hangs.
struct PlacedGpu {
  const NcclPci* place = nullptr;
  std::string name;
  std::string cpu;
};

struct NcclNode {
  const SourceText& source;
  const NcclTree& tree;
  NodeSketch sketch;
  const ImportConfig& config;
  std::vector<PlacedGpu> gpus;
  std::vector<std::string> cpus;
  std::map<std::pair<double, std::string>, int> port_kinds;  // (bytes per second, link type) -> ports
  std::pair<double, std::string> network;
  std::vector<std::string> nics, others;  // "nic0 is mlx5_0"; ports left out
  MachineFacts facts;
  NodeSketch::Figures figures = NodeSketch::Figures::assumed;
  int unknown_pcie = 0, only_nvlink = 0, unused = 0, emulated = 0;
};

void collect_gpus(NcclNode& n, const NcclPci& device) {
  if (device.gpu) n.gpus.push_back({&device, "", ""});
  for (const auto& child : device.children) collect_gpus(n, child);
}

std::pair<double, std::string> kind_of(const NcclPci& device, const NcclNet& net) {
  return {net.speed.value(), device.device_class.starts_with("0x0207") ? "infiniband" : "ethernet"};
}

// A network of ours has one link type: that of most ports, of the faster ones in a draw. The others are left out.
void choose_network(NcclNode& n, const NcclPci& device) {
  for (const auto& net : device.nets) ++n.port_kinds[kind_of(device, net)];
  for (const auto& child : device.children) choose_network(n, child);
}

int links_of(const NcclGpu& gpu) {
  int links = 0;
  for (const auto& link : gpu.nvlinks) links += link.count;
  return links;
}

GpuClues clues_of(NcclNode& n) {
  const auto& place = *n.gpus.front().place;
  const auto& first = *place.gpu;
  GpuClues clues{.id = place.id, .sm = first.sm.value_or(0), .gcn = first.gcn};
  for (const auto& [device, name, cpu] : n.gpus) {
    if (device->gpu->sm != first.sm)
      refuse(first.mark, "GPUs of several compute capabilities in one node", "a node of ours has one GPU type");
    if (device->id != place.id)
      refuse(device->mark, fmt::format("GPUs of two sorts ({}, {}) in one node", place.id, device->id), "a node of ours has one GPU type");
    clues.coherent = clues.coherent || device->gpu->c2c_gb_s > 0;
    for (const auto& link : device->gpu->nvlinks) clues.peers = link.kind;
  }
  if (clues.peers == "xgmi") clues.sm = 0;  // AMD's compute units
  return clues;
}

void name_gpus(NcclNode& n) {
  std::vector<int> devs;
  for (auto& gpu : n.gpus) {
    gpu.name = fmt::format("gpu{}", devs.size());
    devs.push_back(gpu.place->gpu->dev);
  }
  if (devs.back() != static_cast<int>(devs.size()) - 1)
    n.sketch.note(fmt::format("GPUs are numbered from 0; NCCL's numbers were {}.", fmt::join(devs, ", ")));
  const auto clues = clues_of(n);
  auto choice = choose_gpu(n.config.gpu, clues, n.sketch);
  n.facts = std::move(choice.facts);
  n.figures = choice.figures;
  n.sketch.add_gpus(std::move(choice.type), static_cast<int>(n.gpus.size()), n.facts.peer_access);
  if (clues.peers.empty()) return;
  n.facts.peers = clues.peers;
  n.sketch.note(fmt::format("Links of type {} of {} each, one way: the file has their number only.", clues.peers,
                            base::to_text(base::gb_per_s(n.facts.each))));
  const auto most = std::ranges::max_element(n.gpus, {}, [](const PlacedGpu& g) { return links_of(*g.place->gpu); });
  for (const auto& gpu : n.gpus)
    if (const int links = links_of(*gpu.place->gpu); links < links_of(*most->place->gpu))
      n.sketch.note(fmt::format("{} has {} {}, but {} has {}: if it is not made so, a link has failed, or the file is not whole.", gpu.name,
                                links == 0 ? "no" : fmt::format("{}", links), clues.peers == "xgmi" ? "xGMI links" : "NVLinks", most->name,
                                links_of(*most->place->gpu)));
}

// Every port is a NIC of ours; several on one adapter share its PCIe link, so they hang on a switch.
void wire_ports(NcclNode& n, const NcclPci& device, const std::string& above, int link) {
  std::vector<const NcclNet*> ports;
  for (const auto& net : device.nets) {
    if (kind_of(device, net) == n.network) ports.push_back(&net);
    else n.others.push_back(fmt::format("{} ({} of {})", net.name, kind_of(device, net).second, base::to_text(net.speed)));
  }
  if (ports.empty()) return;
  auto to = above;
  if (ports.size() > 1) {
    to = n.sketch.add_switch();
    n.sketch.wire(to, above, link);
  }
  for (const auto* net : ports) {
    const auto nic = n.sketch.add_nic();
    n.sketch.wire(nic, to, link);
    n.nics.push_back(fmt::format("{} is {}", nic, net->name));
  }
}

// A virtual machine's bridges are emulated: whatever hangs below them, their link is that of one lane of PCIe 1.0, 1/16 of what real ones
// have at the very least.
constexpr double kEmulated = 16;

base::BytesPerSecond fastest(const std::vector<NcclPci>& devices) {
  base::BytesPerSecond most;
  for (const auto& d : devices)
    if (d.serves()) most = std::max({most, d.bandwidth.value_or(base::BytesPerSecond()), fastest(d.children)});
  return most;
}

void wire_device(NcclNode& n, const NcclPci& device, const std::string& above, const std::string& cpu) {
  if (!device.serves()) {
    ++n.unused;
    return;
  }
  // A POWER9's bricks to its GPUs show up as PCIe devices of no speed: not a second link.
  const bool only_nvlink = !device.bandwidth && device.gpu &&
                           std::ranges::any_of(device.gpu->nvlinks, [](const NcclNvlink& l) { return l.to == NcclNvlink::To::cpu; });
  if (!device.bandwidth) ++(only_nvlink ? n.only_nvlink : n.unknown_pcie);
  const auto below = fastest(device.children);
  const bool emulated = device.bandwidth && kEmulated * *device.bandwidth <= below;
  n.emulated += emulated ? 1 : 0;
  const int link = n.sketch.link("pcie", emulated ? below : device.bandwidth.value_or(base::gb_per_s(16)),
                                 device.bandwidth && !emulated ? NodeSketch::Figures::known : NodeSketch::Figures::assumed);
  if (device.gpu) {
    const auto gpu = std::ranges::find(n.gpus, &device, &PlacedGpu::place);
    gpu->cpu = cpu;
    if (!only_nvlink) n.sketch.wire(gpu->name, above, link);
  }
  wire_ports(n, device, above, link);
  if (device.children.empty()) return;
  const auto hub = n.sketch.add_switch();
  n.sketch.wire(hub, above, link);
  for (const auto& child : device.children) wire_device(n, child, hub, cpu);
}

void wire_cpu(NcclNode& n, const NcclCpu& cpu) {
  const auto name = n.cpus.emplace_back(n.sketch.add_cpu());
  for (const auto& device : cpu.devices) wire_device(n, device, name, name);
}

void wire_links(NcclNode& n, std::size_t gpu, const std::string& to, const char* kind, int count) {
  if (count > 1000) refuse(n.gpus[gpu].place->gpu->mark, fmt::format("{} links on one GPU", count));
  n.sketch.wire(n.gpus[gpu].name, to, n.sketch.link(kind, base::gb_per_s(n.facts.each), n.figures), count);
}

void wire_pairs(NcclNode& n, const std::map<std::pair<std::size_t, std::size_t>, int>& between) {
  for (const auto& [pair, count] : between) {
    const auto [a, b] = pair;
    const auto back = between.find({b, a});
    if (back == between.end() || back->second != count) {
      refuse(n.gpus[a].place->gpu->mark,
             fmt::format("{} {} from {} to {}, but {} back", count, n.facts.peers == "xgmi" ? "xGMI links" : "NVLinks",
                         n.gpus[a].place->bus_id, n.gpus[b].place->bus_id, back == between.end() ? 0 : back->second));
    }
    if (a < b) wire_links(n, a, n.gpus[b].name, n.facts.peers.c_str(), count);
  }
}

void wire_nvswitch(NcclNode& n, const std::map<std::size_t, int>& links) {
  if (links.empty()) return;
  const auto kind = n.facts.nvls ? SwitchKind::in_network : SwitchKind::plain;
  const int count = links.begin()->second;
  if (n.facts.rack > 0 && links.size() == n.gpus.size() && std::ranges::all_of(links, [&](const auto& l) { return l.second == count; }))
    return n.sketch.join_by_fabric(n.facts.rack, n.sketch.link("nvswitch", base::gb_per_s(n.facts.each), n.figures), count, kind);
  const auto hub = n.sketch.add_switch(kind);
  for (const auto& [gpu, count_here] : links) wire_links(n, gpu, hub, "nvswitch", count_here);
  n.sketch.note(fmt::format("All NVSwitches are one crossbar, {}{}.", hub,
                            n.facts.nvls ? ", that reduces and multicasts (NVLS), as this generation's do" : ""));
}

void wire_nvlinks(NcclNode& n) {
  std::map<std::pair<std::size_t, std::size_t>, int> between;
  std::map<std::size_t, int> to_switch, to_cpu;
  int elsewhere = 0;
  for (std::size_t i = 0; i < n.gpus.size(); ++i) {
    for (const auto& link : n.gpus[i].place->gpu->nvlinks) {
      if (link.to == NcclNvlink::To::nvswitch) {
        to_switch[i] += link.count;
      } else if (link.to == NcclNvlink::To::cpu) {
        to_cpu[i] += link.count;
      } else {
        const auto other = std::ranges::find(n.gpus, link.target, [](const PlacedGpu& g) { return g.place->bus_id; });
        if (other == n.gpus.end()) ++elsewhere;
        else if (other->place == n.gpus[i].place)
          refuse(link.mark, fmt::format("an NVLink from {} to itself", link.target),
                 "a virtual machine hides where it leads: import a dump of the host, or write the bus id of the GPU at its other end");
        else between[{i, static_cast<std::size_t>(other - n.gpus.begin())}] += link.count;
      }
    }
    if (n.gpus[i].place->gpu->c2c_gb_s > 0)
      n.sketch.wire(n.gpus[i].name, n.gpus[i].cpu, n.sketch.link("c2c", base::gb_per_s(n.gpus[i].place->gpu->c2c_gb_s)));
  }
  if (elsewhere > 0) n.sketch.note(fmt::format("{} links lead to devices that are not in the file; left out.", elsewhere));
  for (const auto& [gpu, count] : to_cpu) wire_links(n, gpu, n.gpus[gpu].cpu, "nvlink", count);
  wire_pairs(n, between);
  wire_nvswitch(n, to_switch);
}

void join_nodes(NcclNode& n) {
  if (n.nics.empty()) return;
  n.sketch.join_by_switch(n.sketch.link(n.network.second, base::BytesPerSecond(n.network.first)));
  n.sketch.note(fmt::format("Names: {}.", fmt::join(n.nics, ", ")));
  if (!n.others.empty())
    n.sketch.note(fmt::format("A network has one link type, here {} of {}; ports left out: {}.", n.network.second,
                              base::to_text(base::BytesPerSecond(n.network.first)), fmt::join(n.others, ", ")));
}

}  // namespace

std::optional<ImportedTopology> import_nccl_xml(std::string_view text, const std::string& file, const ImportConfig& config) {
  const SourceText source(text, file);
  const auto tree = read_nccl_tree(source);
  if (!tree) return std::nullopt;
  NcclNode n{.source = source, .tree = *tree, .sketch = NodeSketch("NCCL topology XML", file), .config = config};
  for (const auto& note : n.tree.notes) n.sketch.note(note);
  for (const auto& cpu : n.tree.cpus)
    for (const auto& device : cpu.devices) collect_gpus(n, device), choose_network(n, device);
  std::ranges::sort(n.gpus, {}, [](const PlacedGpu& g) { return g.place->gpu->dev; });
  name_gpus(n);
  for (const auto& [kind, ports] : n.port_kinds)
    if (!n.port_kinds.contains(n.network) || ports >= n.port_kinds.at(n.network)) n.network = kind;
  for (const auto& cpu : n.tree.cpus) wire_cpu(n, cpu);
  const auto& cpu = n.tree.cpus.front();
  const auto xbus = base::gb_per_s(n.facts.c2c > 0 ? n.facts.xbus : xbus_gb_s(cpu.arch, cpu.vendor, cpu.family, cpu.model));
  n.sketch.wire_all_pairs(n.cpus, n.sketch.link("xbus", xbus, NodeSketch::Figures::assumed));
  if (n.cpus.size() > 1)
    n.sketch.note(fmt::format("CPUs are joined two by two by a bus of {}, by what is known of such CPUs.", base::to_text(xbus)));
  wire_nvlinks(n);
  join_nodes(n);
  if (n.unknown_pcie > 0)
    n.sketch.note(fmt::format("{} PCIe links without speed and width: PCIe 3.0 with 16 lanes, as NCCL takes them.", n.unknown_pcie));
  if (n.emulated > 0)
    n.sketch.note(
        fmt::format("{} PCIe bridges of a virtual machine, whose speed is made up: as fast as the fastest device below them.", n.emulated));
  if (n.only_nvlink > 0)
    n.sketch.note(fmt::format("{} GPUs with NVLink to their CPU and PCIe of no speed: NVLink is their only link to it.", n.only_nvlink));
  if (n.unused > 0) n.sketch.note(fmt::format("{} PCI devices left out: neither a GPU that NCCL used nor a port is on them.", n.unused));
  return std::move(n.sketch).finish();
}

}  // namespace topology::imports
