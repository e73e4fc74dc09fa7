// From NCCL's topology XML to a node.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "topology/imports/gpu_era.hpp"
#include "topology/imports/nccl_tree.hpp"
#include "topology/imports/node_sketch.hpp"
#include "topology/imports/source_text.hpp"

namespace topology::imports {
namespace {

// The bandwidth of GPU traffic between two sockets; NCCL's src/graph/topo.h and the models that its topo.cc distinguishes. POWER9: as the
// preset summit (4 bytes x 16 GT/s; NCCL plans with 32 GB/s).
double xbus_gb_s(const NcclCpu& cpu) {
  if (cpu.arch.starts_with("ppc64")) return 64;
  if (cpu.arch.starts_with("arm") || cpu.arch.starts_with("aarch")) return 6;
  if (cpu.vendor == "AuthenticAMD") return 16;
  if (cpu.vendor != "GenuineIntel" || cpu.family != 6) return 10;
  if (cpu.model >= 0xCF) return 40;   // Emerald Rapids and later
  if (cpu.model >= 0x8F) return 22;   // Sapphire Rapids
  return cpu.model >= 0x55 ? 10 : 6;  // Skylake; Broadwell
}

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
  GpuEra era;
  int unknown_pcie = 0, only_nvlink = 0, unused = 0;
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

void name_gpus(NcclNode& n) {
  const auto& first = *n.gpus.front().place->gpu;
  bool has_nvlink = false, one_sm = true;
  std::vector<int> devs;
  for (std::size_t i = 0; i < n.gpus.size(); ++i) {
    const auto& gpu = *n.gpus[i].place->gpu;
    n.gpus[i].name = fmt::format("gpu{}", i);
    has_nvlink = has_nvlink || !gpu.nvlinks.empty();
    one_sm = one_sm && gpu.sm == first.sm;
    devs.push_back(gpu.dev);
  }
  if (!one_sm) refuse(first.mark, "GPUs of several compute capabilities in one node", "a node of ours has one GPU type");
  if (devs.back() != static_cast<int>(devs.size()) - 1)
    n.sketch.note(fmt::format("GPUs are numbered from 0; NCCL's numbers were {}.", fmt::join(devs, ", ")));
  auto [era, type] = choose_gpu(n.config.gpu, era_of_sm(first.sm.value_or(0)), fmt::format("compute capability {}", first.sm.value_or(0)),
                                has_nvlink ? PeerLinks::nvlink : PeerLinks::pcie, n.sketch);
  n.era = era;
  if (!era.switched_preset.empty()) n.sketch.resemble(era.direct_preset, era.switched_preset);
  n.sketch.add_gpus(std::move(type), static_cast<int>(n.gpus.size()));
  if (has_nvlink)
    n.sketch.note(
        fmt::format("NVLinks of {} each, one way: the file has their number only.", base::to_text(base::gb_per_s(n.era.nvlink_gb_s))));
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

void wire_device(NcclNode& n, const NcclPci& device, const std::string& above, const std::string& cpu) {
  if (!device.serves()) {
    ++n.unused;
    return;
  }
  // A POWER9's bricks to its GPUs show up as PCIe devices of no speed: not a second link.
  const bool only_nvlink = !device.bandwidth && device.gpu &&
                           std::ranges::any_of(device.gpu->nvlinks, [](const NcclNvlink& l) { return l.to == NcclNvlink::To::cpu; });
  if (!device.bandwidth) ++(only_nvlink ? n.only_nvlink : n.unknown_pcie);
  const int link = n.sketch.link("pcie", device.bandwidth.value_or(base::gb_per_s(16)),
                                 device.bandwidth ? NodeSketch::Figures::known : NodeSketch::Figures::assumed);
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
  if (count > 1000) refuse(n.gpus[gpu].place->gpu->mark, fmt::format("{} NVLinks on one GPU", count));
  n.sketch.wire(n.gpus[gpu].name, to, n.sketch.link(kind, base::gb_per_s(n.era.nvlink_gb_s)), count);
}

void wire_pairs(NcclNode& n, const std::map<std::pair<std::size_t, std::size_t>, int>& between) {
  for (const auto& [pair, count] : between) {
    const auto [a, b] = pair;
    const auto back = between.find({b, a});
    if (back == between.end() || back->second != count) {
      refuse(n.gpus[a].place->gpu->mark, fmt::format("{} NVLinks from {} to {}, but {} back", count, n.gpus[a].place->bus_id,
                                                     n.gpus[b].place->bus_id, back == between.end() ? 0 : back->second));
    }
    if (a < b) wire_links(n, a, n.gpus[b].name, "nvlink", count);
  }
}

void wire_nvswitch(NcclNode& n, const std::map<std::size_t, int>& links) {
  if (links.empty()) return;
  const auto hub = n.sketch.add_switch(n.era.nvls ? SwitchKind::in_network : SwitchKind::plain);
  for (const auto& [gpu, count] : links) wire_links(n, gpu, hub, "nvswitch", count);
  n.sketch.note(fmt::format("All NVSwitches are one crossbar, {}{}.", hub,
                            n.era.nvls ? ", that reduces and multicasts (NVLS), as this generation's do" : ""));
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
        else if (other->place == n.gpus[i].place) refuse(link.mark, fmt::format("an NVLink from {} to itself", link.target));
        else between[{i, static_cast<std::size_t>(other - n.gpus.begin())}] += link.count;
      }
    }
    if (n.gpus[i].place->gpu->c2c_gb_s > 0)
      n.sketch.wire(n.gpus[i].name, n.gpus[i].cpu, n.sketch.link("c2c", base::gb_per_s(n.gpus[i].place->gpu->c2c_gb_s)));
  }
  if (elsewhere > 0) n.sketch.note(fmt::format("{} NVLinks lead to devices that are not in the file; left out.", elsewhere));
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
  if (n.gpus.empty()) refuse(n.source.at(1), "no <gpu> in the file", "NCCL_TOPO_DUMP_FILE writes them when a communicator is made");
  std::ranges::sort(n.gpus, {}, [](const PlacedGpu& g) { return g.place->gpu->dev; });
  name_gpus(n);
  for (const auto& [kind, ports] : n.port_kinds)
    if (!n.port_kinds.contains(n.network) || ports >= n.port_kinds.at(n.network)) n.network = kind;
  for (const auto& cpu : n.tree.cpus) wire_cpu(n, cpu);
  n.sketch.wire_all_pairs(n.cpus, n.sketch.link("xbus", base::gb_per_s(xbus_gb_s(n.tree.cpus.front())), NodeSketch::Figures::assumed));
  if (n.cpus.size() > 1)
    n.sketch.note(fmt::format("CPUs are joined two by two by a bus of {}, by what the file says of the CPU.",
                              base::to_text(base::gb_per_s(xbus_gb_s(n.tree.cpus.front())))));
  wire_nvlinks(n);
  join_nodes(n);
  if (n.unknown_pcie > 0)
    n.sketch.note(fmt::format("{} PCIe links without speed and width: PCIe 3.0 with 16 lanes, as NCCL takes them.", n.unknown_pcie));
  if (n.only_nvlink > 0)
    n.sketch.note(fmt::format("{} GPUs with NVLink to their CPU and PCIe of no speed: NVLink is their only link to it.", n.only_nvlink));
  if (n.unused > 0) n.sketch.note(fmt::format("{} PCI devices left out: neither a GPU that NCCL used nor a port is on them.", n.unused));
  return std::move(n.sketch).finish();
}

}  // namespace topology::imports
