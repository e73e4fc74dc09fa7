// From NCCL's topology XML to a node.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "topology/imports/gpu_era.hpp"
#include "topology/imports/importers.hpp"
#include "topology/imports/nccl_tree.hpp"
#include "topology/imports/node_sketch.hpp"
#include "topology/imports/source_text.hpp"

namespace topology::imports {
namespace {

// The bandwidth of GPU traffic between two sockets; NCCL's src/graph/topo.h and the models that its topo.cc tells apart. POWER9: as the
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

class NcclImport {
 public:
  NcclImport(const SourceText& source, const NcclTree& tree, const std::string& file, const ImportConfig& config)
      : source_(source), tree_(tree), sketch_("NCCL topology XML", file), config_(config) {}

  ImportedTopology make() {
    for (const auto& note : tree_.notes) sketch_.note(note);
    for (const auto& cpu : tree_.cpus)
      for (const auto& device : cpu.devices) collect_gpus(device), choose_network(device);
    if (gpus_.empty()) refuse(source_.at(1), "no <gpu> in the file", "NCCL_TOPO_DUMP_FILE writes them when a communicator is made");
    std::ranges::sort(gpus_, {}, [](const PlacedGpu& g) { return g.place->gpu->dev; });
    name_gpus();
    for (const auto& [kind, ports] : port_kinds_) {
      if (!port_kinds_.contains(network_) || ports >= port_kinds_.at(network_)) network_ = kind;
    }
    for (const auto& cpu : tree_.cpus) wire_cpu(cpu);
    sketch_.wire_all_pairs(cpus_, sketch_.link("xbus", base::gb_per_s(xbus_gb_s(tree_.cpus.front()))));
    if (cpus_.size() > 1)
      sketch_.note(fmt::format("CPUs are joined two by two by a bus of {}, by what the file says of the CPU.",
                               base::to_text(base::gb_per_s(xbus_gb_s(tree_.cpus.front())))));
    wire_nvlinks();
    join_nodes();
    if (unknown_pcie_ > 0)
      sketch_.note(fmt::format("{} PCIe links without speed and width: PCIe 3.0 with 16 lanes, as NCCL takes them.", unknown_pcie_));
    if (only_nvlink_ > 0)
      sketch_.note(fmt::format("{} GPUs with NVLink to their CPU and PCIe of no speed: NVLink is their only way to it.", only_nvlink_));
    if (unused_ > 0) sketch_.note(fmt::format("{} PCI devices left out: neither a GPU that NCCL used nor a port is on them.", unused_));
    return std::move(sketch_).finish();
  }

 private:
  void collect_gpus(const NcclPci& device) {
    if (device.gpu) gpus_.push_back({&device, "", ""});
    for (const auto& child : device.children) collect_gpus(child);
  }

  void name_gpus() {
    const auto& first = *gpus_.front().place->gpu;
    bool has_nvlink = false, one_sm = true;
    std::vector<int> devs;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const auto& gpu = *gpus_[i].place->gpu;
      gpus_[i].name = fmt::format("gpu{}", i);
      has_nvlink = has_nvlink || !gpu.nvlinks.empty();
      one_sm = one_sm && gpu.sm == first.sm;
      devs.push_back(gpu.dev);
    }
    if (!one_sm) refuse(first.mark, "GPUs of several compute capabilities in one node", "a node of ours has one GPU type");
    if (devs.back() != static_cast<int>(devs.size()) - 1)
      sketch_.note(fmt::format("GPUs are numbered from 0; NCCL's numbers were {}.", fmt::join(devs, ", ")));
    auto [era, type] = choose_gpu(config_.gpu, era_of_sm(first.sm.value_or(0)), fmt::format("compute capability {}", first.sm.value_or(0)),
                                  has_nvlink ? PeerLinks::nvlink : PeerLinks::pcie, sketch_);
    era_ = era;
    if (!era.switched_preset.empty()) sketch_.resemble(era.direct_preset, era.switched_preset);
    sketch_.add_gpus(std::move(type), static_cast<int>(gpus_.size()));
    if (has_nvlink)
      sketch_.note(
          fmt::format("NVLinks of {} each, one way: the file has their number only.", base::to_text(base::gb_per_s(era_.nvlink_gb_s))));
  }

  void wire_cpu(const NcclCpu& cpu) {
    const auto name = cpus_.emplace_back(sketch_.add_cpu());
    for (const auto& device : cpu.devices) wire_device(device, name, name);
  }

  void wire_device(const NcclPci& device, const std::string& above, const std::string& cpu) {
    if (!device.serves()) {
      ++unused_;
      return;
    }
    // A POWER9's bricks to its GPUs show up as PCIe devices of no speed: not a second way.
    const bool only_nvlink = !device.bandwidth && device.gpu &&
                             std::ranges::any_of(device.gpu->nvlinks, [](const NcclNvlink& l) { return l.to == NcclNvlink::To::cpu; });
    if (!device.bandwidth) ++(only_nvlink ? only_nvlink_ : unknown_pcie_);
    const int link = sketch_.link("pcie", device.bandwidth.value_or(base::gb_per_s(16)));
    if (device.gpu) {
      const auto gpu = std::ranges::find(gpus_, &device, &PlacedGpu::place);
      gpu->cpu = cpu;
      if (!only_nvlink) sketch_.wire(gpu->name, above, link);
    }
    wire_ports(device, above, link);
    if (device.children.empty()) return;
    const auto hub = sketch_.add_switch();
    sketch_.wire(hub, above, link);
    for (const auto& child : device.children) wire_device(child, hub, cpu);
  }

  // A network of ours has one link type: that of most ports, of the faster ones in a draw. The others are left out.
  void choose_network(const NcclPci& device) {
    for (const auto& net : device.nets) ++port_kinds_[kind_of(device, net)];
    for (const auto& child : device.children) choose_network(child);
  }

  static std::pair<double, std::string> kind_of(const NcclPci& device, const NcclNet& net) {
    return {net.speed.value(), device.device_class.starts_with("0x0207") ? "infiniband" : "ethernet"};
  }

  // Every port is a NIC of ours; several on one adapter share its PCIe link, so they hang on a switch.
  void wire_ports(const NcclPci& device, const std::string& above, int link) {
    std::vector<const NcclNet*> ports;
    for (const auto& net : device.nets) {
      if (kind_of(device, net) == network_) ports.push_back(&net);
      else others_.push_back(fmt::format("{} ({} of {})", net.name, kind_of(device, net).second, base::to_text(net.speed)));
    }
    if (ports.empty()) return;
    auto to = above;
    if (ports.size() > 1) {
      to = sketch_.add_switch();
      sketch_.wire(to, above, link);
    }
    for (const auto* net : ports) {
      const auto nic = sketch_.add_nic();
      sketch_.wire(nic, to, link);
      nics_.push_back(fmt::format("{} is {}", nic, net->name));
    }
  }

  void wire_nvlinks() {
    std::map<std::pair<std::size_t, std::size_t>, int> between;
    std::map<std::size_t, int> to_switch, to_cpu;
    int elsewhere = 0;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      for (const auto& link : gpus_[i].place->gpu->nvlinks) {
        if (link.to == NcclNvlink::To::nvswitch) {
          to_switch[i] += link.count;
        } else if (link.to == NcclNvlink::To::cpu) {
          to_cpu[i] += link.count;
        } else {
          const auto other = std::ranges::find(gpus_, link.target, [](const PlacedGpu& g) { return g.place->bus_id; });
          if (other == gpus_.end()) ++elsewhere;
          else if (other->place == gpus_[i].place) refuse(link.mark, fmt::format("an NVLink from {} to itself", link.target));
          else between[{i, static_cast<std::size_t>(other - gpus_.begin())}] += link.count;
        }
      }
      if (gpus_[i].place->gpu->c2c_gb_s > 0)
        sketch_.wire(gpus_[i].name, gpus_[i].cpu, sketch_.link("c2c", base::gb_per_s(gpus_[i].place->gpu->c2c_gb_s)));
    }
    if (elsewhere > 0) sketch_.note(fmt::format("{} NVLinks lead to devices that are not in the file; left out.", elsewhere));
    for (const auto& [i, count] : to_cpu)
      sketch_.wire(gpus_[i].name, gpus_[i].cpu, sketch_.link("nvlink", base::gb_per_s(era_.nvlink_gb_s)), bounded(count, i));
    wire_pairs(between);
    wire_nvswitch(to_switch);
  }

  void wire_pairs(const std::map<std::pair<std::size_t, std::size_t>, int>& between) {
    for (const auto& [pair, count] : between) {
      const auto [a, b] = pair;
      const auto back = between.find({b, a});
      if (back == between.end() || back->second != count) {
        refuse(gpus_[a].place->gpu->mark, fmt::format("{} NVLinks from {} to {}, but {} back", count, gpus_[a].place->bus_id,
                                                      gpus_[b].place->bus_id, back == between.end() ? 0 : back->second));
      }
      if (a < b) sketch_.wire(gpus_[a].name, gpus_[b].name, sketch_.link("nvlink", base::gb_per_s(era_.nvlink_gb_s)), bounded(count, a));
    }
  }

  void wire_nvswitch(const std::map<std::size_t, int>& links) {
    if (links.empty()) return;
    const auto hub = sketch_.add_switch(era_.nvls ? SwitchKind::in_network : SwitchKind::plain);
    for (const auto& [gpu, count] : links)
      sketch_.wire(gpus_[gpu].name, hub, sketch_.link("nvswitch", base::gb_per_s(era_.nvlink_gb_s)), bounded(count, gpu));
    sketch_.note(fmt::format("All NVSwitches are one crossbar, {}{}.", hub,
                             era_.nvls ? ", that reduces and multicasts (NVLS), as this generation's do" : ""));
  }

  int bounded(int count, std::size_t gpu) {
    if (count > 1000) refuse(gpus_[gpu].place->gpu->mark, fmt::format("{} NVLinks on one GPU", count));
    return count;
  }

  void join_nodes() {
    if (nics_.empty()) return;
    sketch_.join_by_switch(sketch_.link(network_.second, base::BytesPerSecond(network_.first)));
    sketch_.note(fmt::format("Names: {}.", fmt::join(nics_, ", ")));
    if (!others_.empty())
      sketch_.note(fmt::format("A network has one link type, here {} of {}; ports left out: {}.", network_.second,
                               base::to_text(base::BytesPerSecond(network_.first)), fmt::join(others_, ", ")));
  }

  const SourceText& source_;
  const NcclTree& tree_;
  NodeSketch sketch_;
  const ImportConfig& config_;
  std::vector<PlacedGpu> gpus_;
  std::vector<std::string> cpus_;
  std::map<std::pair<double, std::string>, int> port_kinds_;  // (bytes per second, link type) -> ports
  std::pair<double, std::string> network_;
  std::vector<std::string> nics_, others_;  // "nic0 is mlx5_0"; ports left out
  GpuEra era_;
  int unknown_pcie_ = 0, only_nvlink_ = 0, unused_ = 0;
};

}  // namespace

std::optional<ImportedTopology> import_nccl_xml(std::string_view text, const std::string& file, const ImportConfig& config) {
  const SourceText source(text, file);
  const auto tree = read_nccl_tree(source);
  if (!tree) return std::nullopt;
  return NcclImport(source, *tree, file, config).make();
}

}  // namespace topology::imports
