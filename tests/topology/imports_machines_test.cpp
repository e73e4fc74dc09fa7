// Which GPU and which machine a file is taken for, and that nothing in it that carries a size or a bandwidth is left out.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "imports_samples.hpp"
#include "tests/about.hpp"

using namespace topology_test;

namespace {

bool refused_with(const std::string& text, const std::string& why, const topology::ImportConfig& config = {}) {
  const auto errors = import_errors(text, config);
  CAPTURE(errors);
  CHECK(errors.find(why) != std::string::npos);
  return errors.find(why) != std::string::npos;
}

bool says(const topology::ImportedTopology& t, const std::string& text) {
  CAPTURE(t.yaml);
  CHECK(t.yaml.find(text) != std::string::npos);
  return t.yaml.find(text) != std::string::npos;
}

// A GPU on PCIe 5.0 x16: what stands in its <pci> and inside its <gpu>.
std::string gpu_xml(int dev, const std::string& id, const std::string& attributes, const std::string& links) {
  return fmt::format(
      "<pci busid=\"{}:0\" class=\"0x030200\" {} link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"{}\" {}>{}</gpu></pci>", dev,
      id, dev, attributes, links);
}

std::string node_xml(const std::string& devices, const std::string& cpu = "arch=\"x86_64\" vendor=\"AuthenticAMD\"") {
  return fmt::format("<system version=\"1\"><cpu numaid=\"0\" {}>{}</cpu></system>", cpu, devices);
}

constexpr const char* kSwitched = "<nvlink target=\"s\" count=\"18\" tclass=\"0x068000\"/>";

std::string switched_pair(const std::string& device) {
  const auto id = fmt::format("vendor=\"0x10de\" device=\"{}\"", device);
  return node_xml(gpu_xml(0, id, "sm=\"90\"", kSwitched) + gpu_xml(1, id, "sm=\"90\"", kSwitched));
}

// Three GPUs of AMD, joined two by two by `links`.
std::string amd_node(const std::string& id, const std::string& attributes, int links) {
  std::string devices;
  for (int i = 0; i < 3; ++i) {
    std::string to;
    for (int j = 0; j < 3; ++j)
      if (i != j) to += fmt::format("<xgmi target=\"{}:0\" count=\"{}\" tclass=\"0x120000\"/>", j, links);
    devices += gpu_xml(i, id, attributes, to);
  }
  return node_xml(devices);
}

}  // namespace

TEST_CASE("the table of machines says what the presets say") {
  struct Machine {
    const char* preset;
    int gpus, links;
  };
  for (const Machine& m : {Machine{"dgx-2", 16, 6},
                           {"dgx-a100-80gb", 8, 12},
                           {"h800-node", 8, 8},
                           {"h20-node", 8, 18},
                           {"dgx-h100", 8, 18},
                           {"dgx-h200", 8, 18},
                           {"dgx-b200", 8, 18},
                           {"dgx-b300", 8, 18},
                           {"gb200-nvl72", 4, 18},
                           {"gb300-nvl72", 4, 18}}) {
    CAPTURE(m.preset);
    const auto preset = cluster_of(fmt::format("{{preset: {}}}", m.preset));
    const auto t = import(everywhere(m.gpus, m.links), {.gpu = preset.device(gpu(0)).type});
    const auto c = load(t);
    CHECK(c.route(gpu(0), gpu(1)).bandwidth == preset.route(gpu(0), gpu(1)).bandwidth);
    CHECK(c.route(gpu(0), gpu(1)).latency.value() == test::about(preset.route(gpu(0), gpu(1)).latency.value()));
    CHECK(c.network_profile() == preset.network_profile());
    CHECK(c.in_network_switch(gpu(1)).has_value() == preset.in_network_switch(gpu(1)).has_value());
    for (const char* const link : {"pcie", "xbus"})
      CHECK(base::parse_yaml(t.yaml, "t").find("cluster")->find("links")->find(link)->find("bandwidth")->scalar ==
            base::to_text(base::parse_bandwidth(topology::preset_value(m.preset, {"links", link, "bandwidth"})->scalar).value()));
  }
  for (const auto& preset : topology::preset_names()) {
    const auto* type = topology::preset_value(preset, {"node", "gpus", "type"});
    if (type != nullptr) CHECK_FALSE(notes_have(import(kPcieBox, {.gpu = type->scalar}), "Nothing is known"));
  }
}

TEST_CASE("a GPU is known by its PCI id, not by its generation alone") {
  CHECK(says(import(switched_pair("0x2335")), "type: h200-sxm-141gb"));
  CHECK(says(import(switched_pair("0x2330")), "type: h100-sxm-80gb"));
  CHECK(says(import(switched_pair("0x2329")), "type: h20-sxm-96gb"));
  CHECK(says(import(switched_pair("0X2329")), "type: h20-sxm-96gb"));
  const auto unknown = import(switched_pair("0x9999"));
  CHECK(notes_have(unknown, "The PCI id 10de:9999 is in no table here."));
  CHECK(says(unknown, "type: h100-sxm-80gb"));
  CHECK(notes_have(import(switched_pair("0x2339")), "for which no device profile ships"));
  CHECK(refused_with(with(switched_pair("0x2335"), "0x2335", "0x2330"), "GPUs of two sorts (10de:2330, 10de:2335) in one node"));
}

TEST_CASE("xGMI joins AMD's GPUs, by the chip that the file names") {
  const auto t = import(amd_node("vendor=\"0x1002\" device=\"0x74a1\"", "sm=\"304\" gcn=\"gfx942\"", 1));
  CHECK(says(t, "type: mi300x-192gb"));
  CHECK(route_text(load(t), 0, 2) == "node0:gpu0->gpu2 at 64 GB/s in 600 ns");  // 512 Gb/s one way, as the preset mi300x-node
  CHECK(t.yaml.find("network_profile") == std::string::npos);
  // Two links of 50 GB/s; sm is the number of its compute units and no compute capability, here that of an H100.
  const auto older = import(amd_node("", "sm=\"90\" gcn=\"910\"", 2));
  CHECK(says(older, "type: mi250x-64gb"));
  CHECK(load(older).route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(100e9));
  CHECK(says(import(amd_node("", "sm=\"60\"", 1)), "type: choose-a-gpu"));  // 60 compute units are no P100
  CHECK(refused_with(with(amd_node("", "gcn=\"gfx942\"", 1), "count=\"1\"", "count=\"2\""), "2 xGMI links from 0:0 to 1:0, but 1 back"));
}

TEST_CASE("a tray of a rack is joined to the others by the rack's fabric") {
  const auto id = [](const char* device) { return fmt::format("vendor=\"0x10de\" device=\"{}\"", device); };
  const std::string links = std::string(kSwitched) + "<c2c bw=\"44712\" count=\"10\"/>";
  const auto tray = [&](const std::string& which, const std::string& sm) {
    return node_xml(gpu_xml(0, which, sm, links) + gpu_xml(1, which, sm, links), "arch=\"arm64\"");
  };
  for (const auto& [text, type] : {std::pair{tray(id("0x31c2"), "sm=\"103\""), "gb300-288gb"},
                                   {tray("", "sm=\"100\""), "gb200-186gb"},
                                   {tray("", "sm=\"103\""), "gb300-288gb"}}) {
    const auto t = import(text);
    CHECK(says(t, fmt::format("type: {}", type)));
    CHECK(says(t, "network_profile: nvl72"));
    CHECK(says(t, "nvlink: {bandwidth: 50 GB/s, latency: 300 ns}"));
    CHECK(says(t, "domain: {nodes: 18, count: 18, in_network: true, link: nvlink}"));
    CHECK(load(t, "2").route(gpu(0), gpu(3)).bandwidth == base::BytesPerSecond(900e9));  // 18 x 50 GB/s, to another tray
  }
  // A GPU of the tray without its links is no GPU of the fabric: a note, and the others hang on a crossbar.
  const auto broken = import(with(tray("", "sm=\"103\""), kSwitched, ""));
  CHECK(notes_have(broken, "gpu0 has no NVLinks, but gpu1 has 18"));
  CHECK(broken.yaml.find("domain") == std::string::npos);
  // A number under GPU NUMA ID is that of a GPU's memory: its CPU is a Grace, the first node of its affinity.
  const auto matrix = import(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tNV18\tNV18\t0-71\t0,2-8\t\t2\n"
      "GPU1\tNV18\t X \tNV18\t72-143\t1,18-24\t\t18\nGPU2\tNV18\tNV18\t X \t72-143\t1,18-24\t\t26\n");
  CHECK(says(matrix, "type: gb200-186gb"));
  CHECK(matrix.cpus == 2);
  CHECK(says(matrix, "c2c: {bandwidth: 225 GB/s, latency: 500 ns, assumed: true}"));  // the generation is concluded from a number of links
  // Eighteen links between two GPUs need no switch: two GH200.
  CHECK(says(
      import("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tNV18\t0-71\t0\t\t2\nGPU1\tNV18\t X \t72-143\t1\t\t10\n"),
      "type: gh200-96gb"));
}

TEST_CASE("what a file leaves to guess is marked as assumed") {
  CHECK(says(import(everywhere(8, 18)), "nvlink: {bandwidth: 25 GB/s, latency: 300 ns, assumed: true}"));
  CHECK(says(import(everywhere(8, 18), {.gpu = "h100-sxm-80gb"}), "nvlink: {bandwidth: 25 GB/s, latency: 300 ns}"));
  CHECK(says(import(kPcieBox), "pcie: {bandwidth: 16 GB/s, latency: 500 ns, assumed: true}"));
}

TEST_CASE("the bridges of a virtual machine are as fast as what hangs below them") {
  const auto bridge = [](const std::string& width, const std::string& below) {
    return fmt::format("<pci busid=\"b\" class=\"0x060400\" link_speed=\"2.5 GT/s PCIe\" link_width=\"{}\">{}</pci>", width, below);
  };
  const auto gpu0 = gpu_xml(0, "", "sm=\"90\"", "");
  const auto t = import(node_xml(bridge("1", gpu0)));
  CHECK(says(t, "pcie: {bandwidth: 64 GB/s"));  // 32 GT/s x 16 / 8; the bridge's own 0.3125 is less than 1/16 of it
  CHECK(t.yaml.find("312") == std::string::npos);
  CHECK(notes_have(t, "1 PCIe bridges of a virtual machine"));
  CHECK(says(import(node_xml(bridge("16", gpu0))), "bandwidth: 5 GB/s"));  // 1/12.8: slow, and possible
}

TEST_CASE("a file of a cloud is named as what it is, whatever else it lacks") {
  const std::string pci = "<pci busid=\"a\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"/>";
  CHECK(refused_with(node_xml(pci), "it is an NCCL_TOPO_FILE"));
  CHECK(refused_with(node_xml("<pci busid=\"a\"/>" + pci), "NCCL_TOPO_DUMP_FILE=topo.xml"));
  CHECK(refused_with(with(switched_pair("0x2330"), kSwitched, "<nvlink target=\"0:0\" count=\"12\" tclass=\"0x030200\"/>"),
                     "a virtual machine hides where it leads"));
}

TEST_CASE("what is not known in a file and may carry a size or a bandwidth is refused") {
  const auto one = [](const std::string& inside) { return node_xml(gpu_xml(0, "", "sm=\"90\"", inside)); };
  CHECK(refused_with(one("<newlink target=\"x\"/>"), "<newlink> of a GPU is not known"));
  CHECK(refused_with(node_xml(gpu_xml(0, "", "sm=\"90\"", "") + "<fabric bw=\"100\"/>"),
                     "bw=\"100\" of <fabric> is not known, and it may be a size or a bandwidth"));
  CHECK(refused_with(node_xml(gpu_xml(0, "", "sm=\"90\" bandwidth=\"5\"", "")), "bandwidth=\"5\" of <gpu> is not known"));
  CHECK(notes_have(import(node_xml(gpu_xml(0, "", "sm=\"90\"", "") + "<remark text=\"x\"/>")), "1 element(s) <remark> left out"));
  CHECK(refused_with(kRocm + "===== Throughput between two GPUs =====\n", "a table \"Throughput between two GPUs\" is not known"));
  CHECK(refused_with(with(kRocm, "GPU0   0   XGMI", "GPU0   0   CXL"), "\"CXL\" is no link type that is known: XGMI, PCIE"));
  CHECK(refused_with("- topology: a\n  tree:\n    switches: [{switch: s, nodes: n1, bandwidth: 5}]\n", "\"bandwidth\" is not known"));
  CHECK(refused_with("- topology: a\n  torus3d: {x: 4}\n", "a topology of kind \"torus3d\" is not read"));
  CHECK(refused_with("RingName=r Nodes=n[0-3]\n", "\"ringname\" is not known"));
}

TEST_CASE("rocm-smi: GPUs one hop apart have a link, others lead through them") {
  const auto t = import(kRocm);
  CHECK(t.format == "rocm-smi --showtopo");
  CHECK(t.cpus == 2);
  CHECK(says(t, "link: xgmi"));
  CHECK(says(t, "assumed: true"));
  CHECK(load(t).route(gpu(0), gpu(1)).links.size() == 1);
  CHECK(load(t).route(gpu(0), gpu(2)).links.size() > 1);  // two hops apart: no link of their own
  CHECK(says(import(kRocm, {.gpu = "mi300x-192gb"}), "xgmi: {bandwidth: 64 GB/s, latency: 600 ns}"));
  // 50,000 MB/s is one link, 200,000 are four.
  const auto counted = kRocm +
                       "===== Bandwidth between two GPUs =====\n       GPU0   GPU1   GPU2\nGPU0   N/A   50000-200000   50000-50000\n"
                       "GPU1   50000-200000   N/A   50000-50000\nGPU2   50000-50000   50000-50000   N/A\n";
  CHECK(load(import(counted, {.gpu = "mi250x-64gb"})).route(gpu(0), gpu(1)).bandwidth == base::BytesPerSecond(200e9));
  CHECK(refused_with(kRocm.substr(0, kRocm.find("GPU2   XGMI")), "\"Link Type between two GPUs\" is missing or cut off"));
  CHECK(import(with(kRocm, "GPU[0]", "GPU 0")).cpus == import(kRocm).cpus);  // as older ones write it
  const auto types =
      import("==== Link Type between two GPUs ====\n     GPU0   GPU1\nGPU0   0   XGMI\nGPU1   XGMI   0\n");  // --showtopotype
  CHECK(load(types).route(gpu(0), gpu(1)).links.size() == 1);
  CHECK(notes_have(types, "all, without a table of hops"));
  CHECK(refused_with(with(kRocm, "GPU2   2   1   0", "GPU2   2   1"), "is no row of 3 cells"));
}

TEST_CASE("columns that a terminal glued are taken apart; a row that cannot be read ends the reading") {
  const std::string header = "\tGPU0\tGPU1\tNIC0NIC1\n", rest = "GPU1\tNV18\tX\tSYSSYS\nNIC0\tPIX\tSYS\tX\tNODE\nNIC1\tNODE\tSYS\tNODEX\n";
  const auto t = import(header + "GPU0\tXNV18\tPIX\tNODE\n" + rest);
  CHECK(fmt::format("{} {}", t.gpus, t.nics) == "2 2");
  CHECK(notes_have(t, "4 words of the matrix were several columns glued together"));
  const auto errors = import_errors(header + "GPU0\tX\tNV18\tABC\tDEF\n" + rest);
  CHECK(errors.find("\"ABC\" is no relation") != std::string::npos);
  CHECK(errors.find("DEF\" is no") == std::string::npos);
}

TEST_CASE("a GPU without the NVLinks of the others is reported") {
  CHECK(says(import("\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n"), "type: choose-a-gpu"));  // of several GPUs
  CHECK(notes_have(import("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV4\tSYS\nGPU1\tNV4\tX\tSYS\nGPU2\tSYS\tSYS\tX\n"),
                   "GPU2 has no NVLink, but GPU0 has"));
}

TEST_CASE("Slurm's topology.yaml: the default topology, a tree or blocks") {
  const auto t = import(kSlurmYaml);
  CHECK(t.nodes == 6);
  CHECK(says(t, "nodes_per_leaf: 3"));
  CHECK(notes_have(t, "Of 2 topologies the default one is taken, mine."));
  const auto blocks = import(
      "- topology: b\n  block:\n    block_sizes: [2, 4]\n    blocks:\n      - {block: b1, nodes: \"n[1-2]\"}\n      - {block: b2, nodes: "
      "\"n[3-4]\"}\n");
  CHECK(blocks.nodes == 4);
  CHECK(notes_have(blocks, "BlockSizes (2, 4)"));
  CHECK(refused_with(with(kSlurmYaml, "s[1-2]", "s[1-3]"), "switch \"s3\" below \"root\" is not in the file"));
  CHECK(refused_with("- topology: a\n  tree: {switches: [{nodes: n1}]}\n", "an entry without \"switch\""));
}
