// From the matrix of `nvidia-smi topo -m` to a node.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "topology/imports/gpu_era.hpp"
#include "topology/imports/importers.hpp"
#include "topology/imports/node_sketch.hpp"
#include "topology/imports/smi_matrix.hpp"
#include "topology/imports/smi_places.hpp"
#include "topology/imports/source_text.hpp"

namespace topology::imports {
namespace {

// GPUs that NVLink joins, directly or through others.
struct NvlinkDomain {
  std::vector<std::size_t> gpus;  // devices of the matrix
  bool complete = true;           // every pair has NVLinks
  int most_per_pair = 0;
  int most_summed = 0;  // of one GPU over all its pairs

  // No GPU has more links than kNvlinksOfAGpu: pairs that would need them share links through NVSwitches.
  [[nodiscard]] bool switched(int links_of_a_gpu) const { return most_summed > links_of_a_gpu; }
};

constexpr int kMostNvlinks = 18;  // of any GPU so far (H100, B200)

std::vector<NvlinkDomain> nvlink_domains(const SmiMatrix& m) {
  std::vector<NvlinkDomain> domains;
  std::vector<bool> seen(m.devices.size(), false);
  for (std::size_t start = 0; start < m.devices.size(); ++start) {
    if (seen[start] || !m.devices[start].gpu) continue;
    NvlinkDomain d{{start}};
    seen[start] = true;
    for (std::size_t i = 0; i < d.gpus.size(); ++i) {
      int sum = 0;
      for (std::size_t other = 0; other < m.devices.size(); ++other) {
        const int links = m.at(d.gpus[i], other).nvlinks;
        sum += links;
        d.most_per_pair = std::max(d.most_per_pair, links);
        if (links == 0 || seen[other]) continue;
        seen[other] = true;
        d.gpus.push_back(other);
      }
      d.most_summed = std::max(d.most_summed, sum);
    }
    std::ranges::sort(d.gpus);
    for (const auto a : d.gpus)
      for (const auto b : d.gpus) d.complete = d.complete && (a == b || m.at(a, b).nvlinks > 0);
    if (d.gpus.size() > 1) domains.push_back(std::move(d));
  }
  return domains;
}

class SmiImport {
 public:
  SmiImport(const SourceText& source, const SmiMatrix& matrix, const std::string& file, const ImportConfig& config)
      : source_(source), m_(matrix), sketch_("nvidia-smi topo -m", file), config_(config) {}

  ImportedTopology make() {
    const auto domains = nvlink_domains(m_);
    choose(domains);
    name_devices();
    auto places = place_devices(m_);
    for (const auto& problem : places.problems)
      refuse(source_.at(m_.devices[0].line), problem, "PCIe is a tree: one of these relations is wrong");
    for (auto& note : places.notes) sketch_.note(std::move(note));
    for (const auto& domain : domains) wire_nvlink(domain);
    pcie_ = sketch_.link("pcie", base::gb_per_s(era_.pcie_gb_s));
    wire_cpus(places);
    wire_network();
    note_assumptions();
    return std::move(sketch_).finish();
  }

 private:
  [[nodiscard]] int links_of_a_gpu() const { return era_.sm == 0 && config_.gpu.empty() ? kMostNvlinks : era_.nvlinks; }

  void choose(const std::vector<NvlinkDomain>& domains) {
    int used = 0;
    for (const auto& d : domains) used = std::max(used, d.most_summed > kMostNvlinks ? d.most_per_pair : d.most_summed);
    auto [era, type] = choose_gpu(config_.gpu, era_of_nvlinks(used), fmt::format("{} NVLinks per GPU", used),
                                  used > 0 ? PeerLinks::nvlink : PeerLinks::pcie, sketch_);
    if (used == kMostNvlinks && config_.gpu.empty())
      sketch_.note("18 NVLinks are those of H100, H200 and B200 alike; H100 is taken. Those of a B200 are twice as fast.");
    era_ = era;
    if (!era.switched_preset.empty()) sketch_.resemble(era.direct_preset, era.switched_preset);
    if (used > links_of_a_gpu())
      refuse(source_.at(m_.devices[0].line), fmt::format("{} NVLinks per GPU, but {} has {}", used, type, era_.nvlinks), "is --gpu right?");
    type_ = std::move(type);
  }

  void name_devices() {
    int gpus = 0;
    for (const auto& d : m_.devices) gpus += d.gpu ? 1 : 0;
    sketch_.add_gpus(type_, gpus);
    gpus = 0;
    std::vector<std::string> renamed;
    for (const auto& d : m_.devices) {
      names_.push_back(d.gpu ? fmt::format("gpu{}", gpus++) : sketch_.add_nic());
      const auto own = d.legend.empty() ? d.name : fmt::format("{} ({})", d.name, d.legend);
      if (!d.gpu || d.name != fmt::format("GPU{}", gpus - 1)) renamed.push_back(fmt::format("{} is {}", names_.back(), own));
    }
    if (!renamed.empty()) sketch_.note(fmt::format("Names: {}.", fmt::join(renamed, ", ")));
  }

  void wire_nvlink(const NvlinkDomain& d) {
    if (!d.switched(links_of_a_gpu())) {
      const int link = sketch_.link("nvlink", base::gb_per_s(era_.nvlink_gb_s));
      for (const auto a : d.gpus) {
        for (const auto b : d.gpus) {
          if (a < b && m_.at(a, b).nvlinks > 0) sketch_.wire(names_[a], names_[b], link, m_.at(a, b).nvlinks);
        }
      }
      return;
    }
    if (!d.complete)
      refuse(source_.at(m_.devices[d.gpus[0]].line),
             fmt::format("{} NVLinks on one GPU, more than the {} that it can have", d.most_summed, links_of_a_gpu()),
             "NVSwitch would join every pair, and here some have no NVLink");
    const int link = sketch_.link("nvswitch", base::gb_per_s(era_.nvlink_gb_s));
    const auto hub = sketch_.add_switch(era_.nvls ? SwitchKind::in_network : SwitchKind::plain);
    for (const auto a : d.gpus) {
      int links = 0;
      for (const auto b : d.gpus) links = std::max(links, m_.at(a, b).nvlinks);
      sketch_.wire(names_[a], hub, link, links);
    }
    sketch_.note(
        fmt::format("NV{} between all of {} GPUs is more than a GPU has links for, so they go through NVSwitches: {}, one crossbar{}.",
                    d.most_per_pair, d.gpus.size(), hub, era_.nvls ? " that reduces and multicasts (NVLS), as this generation's do" : ""));
  }

  void wire_cpus(const SmiPlaces& places) {
    const int count = *std::ranges::max_element(places.cpu) + 1;
    if (count > kMaxCpus) refuse(source_.at(m_.devices[0].line), fmt::format("{} NUMA nodes in one node, more than {}", count, kMaxCpus));
    std::vector<std::string> cpus;
    for (int c = 0; c < count; ++c) {
      const auto cpu = cpus.emplace_back(sketch_.add_cpu());
      std::vector<std::size_t> here;
      for (std::size_t i = 0; i < m_.devices.size(); ++i) {
        if (places.cpu[i] == c) here.push_back(i);
      }
      wire_groups(here, places.pxb, cpu, [&](const std::vector<std::size_t>& group, const std::string& above) {
        wire_groups(group, places.pix, above, [&](const std::vector<std::size_t>& leaf, const std::string& to) { wire_all(leaf, to); });
      });
    }
    const int xbus = sketch_.link("xbus", base::gb_per_s(era_.xbus_gb_s));
    sketch_.wire_all_pairs(cpus, xbus);
    if (count > 1)
      sketch_.note(fmt::format("{} NUMA nodes, a CPU each, every two joined by a bus of {}: the matrix does not say how.", count,
                               base::to_text(base::gb_per_s(era_.xbus_gb_s))));
  }

  // Each group of `devices` hangs on `above`: a group of one directly, a larger one by a switch of its own (unless it is all there is
  // and `above` is such a switch already).
  template <class Inside>
  void wire_groups(const std::vector<std::size_t>& devices, const std::vector<int>& groups, const std::string& above, Inside inside) {
    std::vector<int> done;
    for (const auto first : devices) {
      if (std::ranges::find(done, groups[first]) != done.end()) continue;
      done.push_back(groups[first]);
      std::vector<std::size_t> group;
      std::ranges::copy_if(devices, std::back_inserter(group), [&](std::size_t i) { return groups[i] == groups[first]; });
      if (group.size() == 1) {
        sketch_.wire(names_[first], above, pcie_);
      } else if (group.size() == devices.size() && above.starts_with("switch")) {
        inside(group, above);
      } else {
        const auto hub = sketch_.add_switch();
        sketch_.wire(hub, above, pcie_);
        inside(group, hub);
      }
    }
  }

  void wire_all(const std::vector<std::size_t>& devices, const std::string& to) {
    for (const auto i : devices) sketch_.wire(names_[i], to, pcie_);
  }

  void wire_network() {
    if (std::ranges::all_of(m_.devices, &SmiDevice::gpu)) return;
    sketch_.join_by_switch(sketch_.link("infiniband", base::gb_per_s(era_.nic_gb_s)));
    sketch_.note(fmt::format(
        "The matrix has no speeds of NICs: InfiniBand of {} each is assumed. Take out those that only serve storage or management.",
        base::to_text(base::gb_per_s(era_.nic_gb_s))));
  }

  void note_assumptions() {
    sketch_.note(fmt::format(
        "The matrix has no speeds: {} per PCIe link (16 lanes) and {} per NVLink, one way, are assumed of the GPU's generation.",
        base::to_text(base::gb_per_s(era_.pcie_gb_s)), base::to_text(base::gb_per_s(era_.nvlink_gb_s))));
    const auto has = [&](Distance d) { return std::ranges::any_of(m_.cells, [&](const SmiCell& c) { return c.distance == d; }); };
    if (has(Distance::phb) && has(Distance::node)) sketch_.note("PHB and NODE are the same here: both ways lead through the CPU.");
    if (has(Distance::pxb))
      sketch_.note("PXB: the switches between two devices are one switch here; the matrix does not say how they are joined.");
  }

  const SourceText& source_;
  const SmiMatrix& m_;
  NodeSketch sketch_;
  const ImportConfig& config_;
  GpuEra era_;
  std::string type_;
  std::vector<std::string> names_;  // one per device of the matrix
  int pcie_ = 0;
};

}  // namespace

std::optional<ImportedTopology> import_nvidia_smi(std::string_view text, const std::string& file, const ImportConfig& config) {
  const SourceText source(text, file);
  const auto matrix = read_smi_matrix(source);
  if (!matrix) return std::nullopt;
  return SmiImport(source, *matrix, file, config).make();
}

}  // namespace topology::imports
