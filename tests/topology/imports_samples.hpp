#pragma once
// Files of other tools, made up after machines of each sort, and what importing them gives.

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/yaml/parse.hpp"
#include "clusters.hpp"
#include "topology/imports/imports.hpp"
#include "topology/load.hpp"

namespace topology_test {

// The hybrid cube mesh of a DGX-1 with V100: two GPUs and an adapter per PCIe switch, two switches per socket (PHB between them).
inline const std::string kDgx1 =
    "\t\x1B[4mGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tmlx5_0\tmlx5_1\tmlx5_2\tmlx5_3\tCPU Affinity\x1B[0m\n"
    "GPU0\t X \tNV1\tNV1\tNV2\tNV2\tSYS\tSYS\tSYS\tPIX\tPHB\tSYS\tSYS\t0-19,40-59\n"
    "GPU1\tNV1\t X \tNV2\tNV1\tSYS\tNV2\tSYS\tSYS\tPIX\tPHB\tSYS\tSYS\t0-19,40-59\n"
    "GPU2\tNV1\tNV2\t X \tNV2\tSYS\tSYS\tNV1\tSYS\tPHB\tPIX\tSYS\tSYS\t0-19,40-59\n"
    "GPU3\tNV2\tNV1\tNV2\t X \tSYS\tSYS\tSYS\tNV1\tPHB\tPIX\tSYS\tSYS\t0-19,40-59\n"
    "GPU4\tNV2\tSYS\tSYS\tSYS\t X \tNV1\tNV1\tNV2\tSYS\tSYS\tPIX\tPHB\t20-39,60-79\n"
    "GPU5\tSYS\tNV2\tSYS\tSYS\tNV1\t X \tNV2\tNV1\tSYS\tSYS\tPIX\tPHB\t20-39,60-79\n"
    "GPU6\tSYS\tSYS\tNV1\tSYS\tNV1\tNV2\t X \tNV2\tSYS\tSYS\tPHB\tPIX\t20-39,60-79\n"
    "GPU7\tSYS\tSYS\tSYS\tNV1\tNV2\tNV1\tNV2\t X \tSYS\tSYS\tPHB\tPIX\t20-39,60-79\n"
    "mlx5_0\tPIX\tPIX\tPHB\tPHB\tSYS\tSYS\tSYS\tSYS\t X \tPHB\tSYS\tSYS\t\n"
    "mlx5_1\tPHB\tPHB\tPIX\tPIX\tSYS\tSYS\tSYS\tSYS\tPHB\t X \tSYS\tSYS\t\n"
    "mlx5_2\tSYS\tSYS\tSYS\tSYS\tPIX\tPIX\tPHB\tPHB\tSYS\tSYS\t X \tPHB\t\n"
    "mlx5_3\tSYS\tSYS\tSYS\tSYS\tPHB\tPHB\tPIX\tPIX\tSYS\tSYS\tPHB\t X \t\n"
    "\nLegend:\n\n  X    = Self\n  PIX  = Connection traversing a single PCIe switch\n";

// GPUs with NVn between every two, half of them on each NUMA node, no NICs.
inline std::string everywhere(int gpus, int links) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += fmt::format("\tGPU{}", i);
  text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (int i = 0; i < gpus; ++i) {
    text += fmt::format("GPU{}", i);
    for (int j = 0; j < gpus; ++j) text += i == j ? "\t X " : fmt::format("\tNV{}", links);
    text += fmt::format("\t{}-{}\t{}\t\tN/A\n", 48 * (2 * i / gpus), 48 * (2 * i / gpus) + 47, 2 * i / gpus);
  }
  return text + "\nLegend:\n";
}

// A server of two sockets with two GPUs each on PCIe, an adapter beside the first, printed by spaces; two GPUs and the adapter meet at
// a switch (PXB), the others each have a root port (NODE).
inline const std::string kPcieBox =
    "        GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      PXB     SYS     SYS     PXB     0-15    0\n"
    "GPU1    PXB      X      SYS     SYS     PXB     0-15    0\n"
    "GPU2    SYS     SYS      X      NODE    SYS     16-31   1\n"
    "GPU3    SYS     SYS     NODE     X      SYS     16-31   1\n"
    "NIC0    PXB     PXB     SYS     SYS      X\n"
    "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n";

// A node of POWER9: two sockets with two V100 each, bricks to the CPU and between the GPUs; an adapter of two ports on the first.
inline const std::string kPower9 =
    R"(<system version="1">
  <cpu numaid="0" affinity="00000000,ffffffff" arch="ppc64">
    <pci busid="0004:04:00.0" class="0x030200" link_speed="" link_width="0">
      <gpu dev="0" sm="70" rank="0" gdr="1">
        <nvlink target="0004:05:00.0" count="3" tclass="0x030200"/>
        <nvlink target="0004:00:00.0" count="2" tclass="0x068001"/>
        <nvlink target="0004:00:00.1" count="1" tclass="0x068001"/>
      </gpu>
    </pci>
    <pci busid="0004:05:00.0" class="0x030200" link_speed="" link_width="0">
      <gpu dev="1" sm="70" rank="1" gdr="1">
        <nvlink target="0004:04:00.0" count="3" tclass="0x030200"/>
        <nvlink target="0004:00:00.0" count="3" tclass="0x068001"/>
      </gpu>
    </pci>
    <pci busid="0003:01:00.0" class="0x020700" link_speed="16 GT/s" link_width="8">
      <nic>
        <net name="mlx5_0" dev="0" speed="100000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
        <net name="mlx5_1" dev="1" speed="100000" port="2" guid="0x1" maxconn="131072" gdr="1"/>
      </nic>
    </pci>
  </cpu>
  <cpu numaid="8" affinity="ffffffff,00000000" arch="ppc64">
    <pci busid="0035:03:00.0" class="0x030200" link_speed="Unknown speed" link_width="63">
      <gpu dev="2" sm="70" rank="2" gdr="1">
        <nvlink target="0035:04:00.0" count="3" tclass="0x030200"/>
        <nvlink target="0035:00:00.0" count="3" tclass="0x068001"/>
      </gpu>
    </pci>
    <pci busid="0035:04:00.0" class="0x030200" link_speed="Unknown speed" link_width="63">
      <gpu dev="3" sm="70" rank="3" gdr="1">
        <nvlink target="0035:03:00.0" count="3" tclass="0x030200"/>
        <nvlink target="0035:00:00.0" count="3" tclass="0x068001"/>
      </gpu>
    </pci>
  </cpu>
</system>
)";

// Two GPUs of compute capability 90 on NVSwitches, each with a port of 400 Gb/s beside it on a PCIe switch; Sapphire Rapids. Devices
// are listed the other way round, and a port of 25 Gb/s of Ethernet serves storage.
inline const std::string kHgx =
    R"(<?xml version="1.0"?>
<system version="1">
  <cpu host_hash="0x1" numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:15:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:07:00.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:08:00.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:19:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x2" gdr="1"/></nic>
      </pci>
    </pci>
    <pci busid="0000:20:00.0" class="0x020000" link_speed="8.0 GT/s PCIe" link_width="8">
      <nic><net name="eth0" dev="2" speed="25000" port="1" guid="0x4" gdr="0"/></nic>
    </pci>
    <pci busid="0000:21:00.0" class="0x010802" link_speed="8.0 GT/s PCIe" link_width="4"/>
  </cpu>
  <cpu host_hash="0x1" numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:95:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:98:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:07:00.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:08:00.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:99:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_1" dev="1" speed="400000" port="1" guid="0x3" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

inline const std::string kSlurmTree =
    "# four racks\n"
    "SwitchName=s0 Nodes=tux[0-3]\n"
    "switchname=s1 nodes=tux[4-6,7]\n"
    "SwitchName=s2 \\\n   Nodes=tux[08-11]  # padded\n"
    "SwitchName=s3 Nodes=rack[0-1]n[1-2]\n"
    "SwitchName=top Switches=s[0-3] LinkSpeed=100\n";

// Two topologies, of which the second is the default one.
inline const std::string kSlurmYaml =
    "- topology: other\n  cluster_default: false\n  block: {block_sizes: [2], blocks: [{block: b, nodes: \"n[1-2]\"}]}\n"
    "- topology: mine\n  cluster_default: true\n  tree:\n    switches:\n      - {switch: root, children: \"s[1-2]\"}\n"
    "      - {switch: s1, nodes: \"n[01-03]\"}\n      - {switch: s2, nodes: \"n[04-06]\"}\n";

// Weights are not links; GPU0 and GPU2 are two hops apart.
inline const std::string kRocm =
    "===== ROCm System Management Interface =====\n===== Weight between two GPUs =====\n       GPU0   GPU1   GPU2\nGPU0   0   15   30\n"
    "GPU1   15   0   15\nGPU2   30   15   0\n\n===== Hops between two GPUs =====\n       GPU0   GPU1   GPU2\nGPU0   0   1   2\nGPU1   1   "
    "0   1\n"
    "GPU2   2   1   0\n\n===== Link Type between two GPUs =====\n       GPU0   GPU1   GPU2\nGPU0   0   XGMI   XGMI\nGPU1   XGMI   0   "
    "XGMI\n"
    "GPU2   XGMI   XGMI   0\n\n===== Numa Nodes =====\nGPU[0]\t\t: (Topology) Numa Node: 0\nGPU[0]\t\t: (Topology) Numa Affinity: 0\n"
    "GPU[1]\t\t: (Topology) Numa Node: 0\nGPU[2]\t\t: (Topology) Numa Node: 1\n===== End of ROCm SMI Log =====\n";

inline topology::ImportedTopology import(const std::string& text, const topology::ImportConfig& config = {}) {
  auto found = topology::import_topology(text, "foreign.txt", config);
  if (!found) throw std::runtime_error("none of the formats");
  return *std::move(found);
}

// Through our own loader, as a user's file goes: a cluster file, with keys put beside it if wanted.
inline topology::Cluster load(const topology::ImportedTopology& t, const std::string& nodes = "") {
  auto section = *base::parse_yaml(t.yaml, "imported.yaml").find("cluster");
  if (!nodes.empty()) section.set("nodes", base::Yaml::make_scalar(nodes));
  return topology::load_cluster(topology::expand_cluster(section, "cluster"), "cluster");
}

inline bool notes_have(const topology::ImportedTopology& t, const std::string& text) {
  return std::any_of(t.notes.begin(), t.notes.end(), [&](const std::string& n) { return n.find(text) != std::string::npos; });
}

// Every problem of a foreign text, rendered; "none" or "foreign" without any.
inline std::string import_errors(const std::string& text, const topology::ImportConfig& config = {}) {
  try {
    return topology::import_topology(text, "f", config) ? "none" : "foreign";
  } catch (const base::InputError& e) {
    std::string all;
    for (const auto& d : e.diagnostics()) all += base::render(d) + "\n";
    return all;
  }
}

// `text` with the first `from` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("\"" + from + "\" is not in the sample");
  return text.replace(at, from.size(), to);
}

}  // namespace topology_test
