// From a matrix of `nvidia-smi topo -m`, or what `rocm-smi --showtopo` says as one, to a node.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "topology/imports/machine_facts.hpp"
#include "topology/imports/node_sketch.hpp"
#include "topology/imports/smi_matrix.hpp"
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

struct SmiNode {
  const SourceText& source;
  const SmiMatrix& m;
  NodeSketch sketch;
  const ImportConfig& config;
  MachineFacts facts;
  NodeSketch::Figures figures = NodeSketch::Figures::assumed;
  std::string type;
  std::vector<std::string> names;  // one per device of the matrix
  int pcie = 0;
};

int links_of_a_gpu(const SmiNode& n) { return n.facts.links == 0 ? kMostNvlinks : n.facts.links; }

void choose(SmiNode& n, const std::vector<NvlinkDomain>& domains) {
  GpuClues clues{.coherent = std::ranges::any_of(n.m.devices, &SmiDevice::coherent), .peers = domains.empty() ? "" : n.m.peers};
  for (const auto& d : domains) {
    const bool switched = d.most_summed > kMostNvlinks;
    clues.switched = clues.switched || switched;
    clues.links = std::max(clues.links, switched ? d.most_per_pair : d.most_summed);
  }
  auto choice = choose_gpu(n.config.gpu, clues, n.sketch);
  if (clues.links == kMostNvlinks && n.config.gpu.empty() && (!clues.coherent || clues.switched))
    n.sketch.note(fmt::format("18 NVLinks are those of {} alike; {} is taken.", clues.coherent ? "GB200 and GB300" : "H100, H200 and B200",
                              clues.coherent ? "GB200" : "H100, whose links have half the speed of a B200's,"));
  n.facts = std::move(choice.facts);
  n.figures = choice.figures;
  n.type = std::move(choice.type);
  if (clues.links > links_of_a_gpu(n))
    refuse(n.source.at(n.m.devices[0].line), fmt::format("{} NVLinks per GPU, but {} has {}", clues.links, n.type, links_of_a_gpu(n)),
           "is --gpu right?");
  for (std::size_t i = 0; i < n.m.devices.size() && !domains.empty(); ++i)
    if (n.m.devices[i].gpu && std::ranges::none_of(domains, [&](const auto& d) { return std::ranges::find(d.gpus, i) != d.gpus.end(); }))
      n.sketch.note(fmt::format("{} has no {}, but {} has: if it is not made so, a link has failed.", n.m.devices[i].name,
                                n.facts.peers == "xgmi" ? "xGMI link" : "NVLink", n.m.devices[domains[0].gpus[0]].name));
}

void name_devices(SmiNode& n) {
  int gpus = 0;
  for (const auto& d : n.m.devices) gpus += d.gpu ? 1 : 0;
  n.sketch.add_gpus(n.type, gpus, n.m.peer_access && n.facts.peer_access);
  gpus = 0;
  std::vector<std::string> renamed;
  for (const auto& d : n.m.devices) {
    n.names.push_back(d.gpu ? fmt::format("gpu{}", gpus++) : n.sketch.add_nic());
    const auto own = d.legend.empty() ? d.name : fmt::format("{} ({})", d.name, d.legend);
    if (!d.gpu || d.name != fmt::format("GPU{}", gpus - 1)) renamed.push_back(fmt::format("{} is {}", n.names.back(), own));
  }
  if (!renamed.empty()) n.sketch.note(fmt::format("Names: {}.", fmt::join(renamed, ", ")));
}

void wire_nvlink(SmiNode& n, const NvlinkDomain& d) {
  if (!d.switched(links_of_a_gpu(n)) && (n.facts.rack == 0 || !d.complete)) {
    const int link = n.sketch.link(n.facts.peers, base::gb_per_s(n.facts.each), n.figures);
    for (const auto a : d.gpus)
      for (const auto b : d.gpus)
        if (a < b && n.m.at(a, b).nvlinks > 0) n.sketch.wire(n.names[a], n.names[b], link, n.m.at(a, b).nvlinks);
    return;
  }
  if (!d.complete)
    refuse(n.source.at(n.m.devices[d.gpus[0]].line),
           fmt::format("{} NVLinks on one GPU, more than the {} that it can have", d.most_summed, links_of_a_gpu(n)),
           "NVSwitch would join every pair, and here some have no NVLink");
  const int link = n.sketch.link("nvswitch", base::gb_per_s(n.facts.each), n.figures);
  const auto kind = n.facts.nvls ? SwitchKind::in_network : SwitchKind::plain;
  const auto gpus = static_cast<std::size_t>(std::ranges::count_if(n.m.devices, &SmiDevice::gpu));
  if (n.facts.rack > 0 && d.gpus.size() == gpus) return n.sketch.join_by_fabric(n.facts.rack, link, d.most_per_pair, kind);
  const auto hub = n.sketch.add_switch(kind);
  for (const auto a : d.gpus) {
    int links = 0;
    for (const auto b : d.gpus) links = std::max(links, n.m.at(a, b).nvlinks);
    n.sketch.wire(n.names[a], hub, link, links);
  }
  n.sketch.note(
      fmt::format("NV{} between all of {} GPUs is more than a GPU has links for, so they go through NVSwitches: {}, one crossbar{}.",
                  d.most_per_pair, d.gpus.size(), hub, n.facts.nvls ? " that reduces and multicasts (NVLS), as this generation's do" : ""));
}

// Each group of `devices` hangs on `above`: a group of one directly, a larger one by a switch of its own (unless it is all there is
// and `above` is such a switch already).
template <class Inside>
void wire_groups(SmiNode& n, const std::vector<std::size_t>& devices, const std::vector<int>& groups, const std::string& above,
                 Inside inside) {
  std::vector<int> done;
  for (const auto first : devices) {
    if (std::ranges::find(done, groups[first]) != done.end()) continue;
    done.push_back(groups[first]);
    std::vector<std::size_t> group;
    std::ranges::copy_if(devices, std::back_inserter(group), [&](std::size_t i) { return groups[i] == groups[first]; });
    if (group.size() == 1) {
      const bool own = n.m.devices[first].coherent && n.facts.c2c > 0 && above.starts_with("cpu");
      n.sketch.wire(n.names[first], above, own ? n.sketch.link("c2c", base::gb_per_s(n.facts.c2c), n.figures) : n.pcie);
    } else if (group.size() == devices.size() && above.starts_with("switch")) {
      inside(group, above);
    } else {
      const auto hub = n.sketch.add_switch();
      n.sketch.wire(hub, above, n.pcie);
      inside(group, hub);
    }
  }
}

void wire_cpus(SmiNode& n, const SmiPlaces& places) {
  const int count = *std::ranges::max_element(places.cpu) + 1;
  if (count > kMaxCpus) refuse(n.source.at(n.m.devices[0].line), fmt::format("{} NUMA nodes in one node, more than {}", count, kMaxCpus));
  std::vector<std::string> cpus;
  for (int c = 0; c < count; ++c) {
    const auto cpu = cpus.emplace_back(n.sketch.add_cpu());
    std::vector<std::size_t> here;
    for (std::size_t i = 0; i < n.m.devices.size(); ++i)
      if (places.cpu[i] == c) here.push_back(i);
    wire_groups(n, here, places.pxb, cpu, [&](const std::vector<std::size_t>& group, const std::string& above) {
      wire_groups(n, group, places.pix, above, [&](const std::vector<std::size_t>& leaf, const std::string& to) {
        for (const auto i : leaf) n.sketch.wire(n.names[i], to, n.pcie);
      });
    });
  }
  const int xbus = n.sketch.link("xbus", base::gb_per_s(n.facts.xbus), NodeSketch::Figures::assumed);
  n.sketch.wire_all_pairs(cpus, xbus);
  if (count > 1)
    n.sketch.note(fmt::format("{} NUMA nodes, a CPU each, every two joined by a bus of {}: the matrix does not say how.", count,
                              base::to_text(base::gb_per_s(n.facts.xbus))));
}

void wire_network(SmiNode& n) {
  if (std::ranges::all_of(n.m.devices, &SmiDevice::gpu)) return;
  n.sketch.join_by_switch(n.sketch.link("infiniband", base::gb_per_s(n.facts.nic), NodeSketch::Figures::assumed));
  n.sketch.note(fmt::format(
      "The matrix has no speeds of NICs: InfiniBand of {} each is assumed. Take out those that only serve storage or management.",
      base::to_text(base::gb_per_s(n.facts.nic))));
}

void note_assumptions(SmiNode& n) {
  n.sketch.note(fmt::format(
      "The matrix has no speeds: {} per PCIe link (16 lanes) and {} per link of type {}, one way, are assumed of the GPU's generation.",
      base::to_text(base::gb_per_s(n.facts.pcie)), base::to_text(base::gb_per_s(n.facts.each)), n.facts.peers));
  const auto has = [&](Distance d) { return std::ranges::any_of(n.m.cells, [&](const SmiCell& c) { return c.distance == d; }); };
  if (has(Distance::phb) && has(Distance::node)) n.sketch.note("PHB and NODE are the same here: both ways lead through the CPU.");
  if (has(Distance::pxb))
    n.sketch.note("PXB: the switches between two devices are one switch here; the matrix does not say how they are joined.");
}

}  // namespace

ImportedTopology node_of_matrix(const SmiMatrix& matrix, const SourceText& source, const char* format, const std::string& file,
                                const ImportConfig& config) {
  SmiNode n{.source = source, .m = matrix, .sketch = NodeSketch(format, file), .config = config};
  for (const auto& note : n.m.notes) n.sketch.note(note);
  const auto domains = nvlink_domains(n.m);
  choose(n, domains);
  name_devices(n);
  auto places = place_devices(n.m);
  for (const auto& problem : places.problems)
    refuse(n.source.at(n.m.devices[0].line), problem, "PCIe is a tree: one of these relations is wrong");
  for (auto& note : places.notes) n.sketch.note(std::move(note));
  for (const auto& domain : domains) wire_nvlink(n, domain);
  n.pcie = n.sketch.link("pcie", base::gb_per_s(n.facts.pcie), n.figures);
  wire_cpus(n, places);
  wire_network(n);
  note_assumptions(n);
  return std::move(n.sketch).finish();
}

std::optional<ImportedTopology> import_nvidia_smi(std::string_view text, const std::string& file, const ImportConfig& config) {
  const SourceText source(text, file);
  const auto matrix = read_smi_matrix(source);
  return matrix ? std::optional(node_of_matrix(*matrix, source, "nvidia-smi topo -m", file, config)) : std::nullopt;
}

}  // namespace topology::imports
