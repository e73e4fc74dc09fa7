#include "topology/imports/nccl_tree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <charconv>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "topology/imports/node_sketch.hpp"

namespace topology::imports {
namespace {

constexpr int kDeepest = 32;               // PCIe switches above each other: real trees have four
constexpr int kMostElements = 10'000;      // of a real node: some hundreds
constexpr int kMostLinks = 1000;           // bonded, as in our own format
constexpr double kPcie3 = 8, kLanes = 16;  // GT/s and lanes that NCCL takes where the file has none (src/graph/topo.cc)

struct TreeReading {
  const SourceText& source;
  base::Diagnostics sink;
  NcclTree tree;
  std::set<std::string> hosts, bus_ids;
  std::set<int> nets, gpus;
  std::map<std::string, int> left_out;
  int elements = 0;
};

// A negative offset: pugixml does not know it.
base::Mark mark_at(const SourceText& source, std::ptrdiff_t offset) {
  return source.at_offset(static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
}

base::Mark mark_of(const TreeReading& r, const pugi::xml_node& node) { return mark_at(r.source, node.offset_debug()); }

std::string name_of(const pugi::xml_node& node) { return node.name(); }

void complain(TreeReading& r, const pugi::xml_node& node, std::string message, std::string hint = {}) {
  r.sink.add(mark_of(r, node), "", std::move(message), std::move(hint));
}

// What is not read may only be left out where it carries no size and no bandwidth.
void check_sizes(TreeReading& r, const pugi::xml_node& node) {
  static const std::set<std::string> kRead = {"pci link_speed", "pci link_width", "net speed", "nvlink target", "nvlink count",
                                              "xgmi target",    "xgmi count",     "c2c bw",    "c2c count"};
  for (const auto& a : node.attributes())
    for (const std::string_view size : {"bw", "count", "speed", "width", "size", "target"})
      if (std::string_view(a.name()).find(size) != std::string_view::npos && !kRead.contains(fmt::format("{} {}", node.name(), a.name())))
        return complain(
            r, node, fmt::format("{}=\"{}\" of <{}> is not known, and it may be a size or a bandwidth", a.name(), a.value(), node.name()),
            "take it out if it is none; else describe the node by hand");
}

std::vector<pugi::xml_node> elements(TreeReading& r, const pugi::xml_node& parent) {
  std::vector<pugi::xml_node> found;
  for (const auto& child : parent.children()) {
    if (child.type() != pugi::node_element) continue;
    check_sizes(r, child);
    if (++r.elements > kMostElements) refuse(mark_of(r, child), fmt::format("more than {} elements: this is no node", kMostElements));
    found.push_back(child);
  }
  return found;
}

std::string text(TreeReading& r, const pugi::xml_node& node, const char* key) {
  const auto attribute = node.attribute(key);
  if (!attribute) complain(r, node, fmt::format("<{}> has no {}", node.name(), key));
  return attribute.value();
}

int number(TreeReading& r, const pugi::xml_node& node, const char* key, int at_most) {
  const auto value = text(r, node, key);
  const auto n = parse_count(value);
  if (node.attribute(key) && (!n || *n > at_most))
    complain(r, node, fmt::format("{}=\"{}\" of <{}> is no whole number from 0 to {}", key, value, node.name(), at_most));
  return n.value_or(0);
}

// "8 GT/s", "16.0 GT/s PCIe", "Unknown speed", "".
std::optional<base::BytesPerSecond> bandwidth(TreeReading& r, const pugi::xml_node& node) {
  const std::string speed = node.attribute("link_speed").value(), width = node.attribute("link_width").value();
  const bool no_speed = speed.empty() || speed.starts_with("Unknown");
  const bool no_width = width.empty() || parse_count(width) == 0 || width == "63" || width == "255";  // 63, 255: the kernel's "unknown"
  // GT/s of PCIe 1.0 to 6.0 (PCI Express Base Specification).
  static constexpr std::array kSpeeds = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  double rate = kPcie3;
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), rate);
  if (!no_speed && (error != std::errc{} || std::ranges::find(kSpeeds, rate) == kSpeeds.end() || !std::string(end).starts_with(" GT/s")))
    complain(r, node, fmt::format("link_speed=\"{}\" is no PCIe speed", speed), "e.g. \"16 GT/s\"; empty where it is not known");
  const auto lanes = parse_count(width);
  if (!no_width && (!lanes || *lanes > 32)) complain(r, node, fmt::format("link_width=\"{}\" is no number of lanes", width));
  if (no_speed && no_width) return std::nullopt;
  return base::BytesPerSecond((no_speed ? kPcie3 : rate) * (no_width ? kLanes : lanes.value_or(16)) / 8 * 1e9);
}

void left_out(TreeReading& r, const pugi::xml_node& node) { ++r.left_out[name_of(node).substr(0, 40)]; }

void read_nic(TreeReading& r, const pugi::xml_node& node, NcclPci& place) {
  for (const auto& child : elements(r, node)) {
    if (name_of(child) != "net") {
      left_out(r, child);
      continue;
    }
    NcclNet net;
    net.mark = mark_of(r, child);
    net.dev = number(r, child, "dev", 1'000'000);
    net.name = child.attribute("name").value();
    const std::string speed = child.attribute("speed").value();
    const int mbps = speed.empty() || speed.starts_with('-') ? 0 : number(r, child, "speed", 100'000'000);
    net.speed = base::BytesPerSecond((mbps == 0 ? 10'000 : mbps) * 1e6 / 8);
    if (mbps == 0) r.tree.notes.push_back(fmt::format("Net {} has no speed: 10 Gbit/s, as NCCL takes it.", net.name));
    if (!r.nets.insert(net.dev).second) complain(r, child, fmt::format("net dev {} is there twice", net.dev));
    if (r.nets.size() > kMaxDevices) refuse(net.mark, fmt::format("more than {} ports in one node", kMaxDevices));
    place.nets.push_back(std::move(net));
  }
}

NcclNvlink read_nvlink(TreeReading& r, const pugi::xml_node& node) {
  NcclNvlink link{.kind = name_of(node), .mark = mark_of(r, node)};
  link.target = text(r, node, "target");
  link.count = number(r, node, "count", kMostLinks);
  const auto target = text(r, node, "tclass");
  if (target.starts_with("0x03") || target.starts_with("0x12")) link.to = NcclNvlink::To::gpu;
  else if (target == "0x068000") link.to = NcclNvlink::To::nvswitch;
  else if (target == "0x068001") link.to = NcclNvlink::To::cpu;  // the NVLink bridge of a POWER CPU
  else complain(r, node, fmt::format("tclass=\"{}\" is neither a GPU, an NVSwitch nor a CPU", target));
  if (link.count == 0) complain(r, node, fmt::format("<{}> of count 0", node.name()));
  return link;
}

void read_gpu(TreeReading& r, const pugi::xml_node& node, NcclPci& place) {
  if (place.gpu) complain(r, node, fmt::format("PCI device {} has two <gpu>", place.bus_id));
  NcclGpu gpu;
  gpu.mark = mark_of(r, node);
  gpu.dev = number(r, node, "dev", 1'000'000);
  if (!r.gpus.insert(gpu.dev).second) complain(r, node, fmt::format("GPU dev {} is there twice", gpu.dev));
  if (r.gpus.size() > kMaxDevices) refuse(gpu.mark, fmt::format("more than {} GPUs in one node", kMaxDevices));
  gpu.gcn = node.attribute("gcn").value();
  if (node.attribute("sm")) gpu.sm = number(r, node, "sm", 10'000);
  for (const auto& child : elements(r, node)) {
    if (name_of(child) == "nvlink" || name_of(child) == "xgmi") gpu.nvlinks.push_back(read_nvlink(r, child));
    else if (name_of(child) == "c2c") gpu.c2c_gb_s += number(r, child, "bw", 10'000'000) / 1000.0 * number(r, child, "count", kMostLinks);
    else complain(r, child, fmt::format("<{}> of a GPU is not known, and it may be a link", child.name()), "describe the node by hand");
  }
  place.gpu = std::move(gpu);
}

// "10de" of "0x10DE".
std::string bare_hex(const char* text) {
  const auto small = boost::algorithm::to_lower_copy(std::string(text));
  return small.substr(small.starts_with("0x") ? 2 : 0);
}

NcclPci read_pci(TreeReading& r, const pugi::xml_node& node, int depth) {
  if (depth > kDeepest) refuse(mark_of(r, node), fmt::format("more than {} PCIe switches above each other", kDeepest));
  NcclPci pci;
  pci.mark = mark_of(r, node);
  pci.bus_id = text(r, node, "busid");
  pci.device_class = text(r, node, "class");
  if (node.attribute("vendor") && node.attribute("device"))
    pci.id = fmt::format("{}:{}", bare_hex(node.attribute("vendor").value()), bare_hex(node.attribute("device").value()));
  pci.bandwidth = bandwidth(r, node);
  if (!pci.bus_id.empty() && !r.bus_ids.insert(pci.bus_id).second)
    complain(r, node, fmt::format("PCI device {} is there twice", pci.bus_id));
  for (const auto& child : elements(r, node)) {
    const auto name = name_of(child);
    if (name == "pci") pci.children.push_back(read_pci(r, child, depth + 1));
    else if (name == "nic") read_nic(r, child, pci);
    else if (name == "gpu") read_gpu(r, child, pci);
    else left_out(r, child);
  }
  return pci;
}

void read_cpu(TreeReading& r, const pugi::xml_node& node) {
  NcclCpu cpu;
  cpu.numa = node.attribute("numaid").value() == std::string("-1") ? -1 : number(r, node, "numaid", 1'000'000);
  if (std::ranges::find(r.tree.cpus, cpu.numa, &NcclCpu::numa) != r.tree.cpus.end())
    complain(r, node, fmt::format("NUMA node {} is there twice", cpu.numa));
  cpu.arch = node.attribute("arch").value();
  cpu.vendor = node.attribute("vendor").value();
  if (node.attribute("familyid")) cpu.family = number(r, node, "familyid", 1'000'000);
  if (node.attribute("modelid")) cpu.model = number(r, node, "modelid", 1'000'000);
  r.hosts.insert(node.attribute("host_hash").value());
  for (const auto& child : elements(r, node)) {
    if (name_of(child) == "pci") {
      cpu.devices.push_back(read_pci(r, child, 1));
    } else if (name_of(child) == "nic") {
      NcclPci nic;
      nic.mark = mark_of(r, child);
      read_nic(r, child, nic);
      cpu.devices.push_back(std::move(nic));
    } else {
      left_out(r, child);
    }
  }
  r.tree.cpus.push_back(std::move(cpu));
  if (r.tree.cpus.size() > kMaxCpus) refuse(mark_of(r, node), fmt::format("more than {} NUMA nodes in one node", kMaxCpus));
}

}  // namespace

bool NcclPci::serves() const { return gpu || !nets.empty() || std::ranges::any_of(children, &NcclPci::serves); }
bool NcclPci::has_gpu() const { return gpu || std::ranges::any_of(children, &NcclPci::has_gpu); }

std::optional<NcclTree> read_nccl_tree(const SourceText& source) {
  const auto text = source.text();
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '<') return std::nullopt;
  const char second = first + 1 < text.size() ? text[first + 1] : ' ';
  if (second != '?' && second != '!' && !(second >= 'a' && second <= 'z')) return std::nullopt;
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) refuse(mark_at(source, parsed.offset), fmt::format("broken XML: {}", parsed.description()), "is the file cut off?");
  const auto root = document.document_element();
  if (root.name() != std::string("system")) {
    refuse(source.at_offset(first), fmt::format("XML, but its root is <{}>: NCCL's topology files have <system>", root.name()),
           "write one with NCCL_TOPO_DUMP_FILE=topo.xml");
  }
  for (auto next = root.next_sibling(); next; next = next.next_sibling()) {
    if (next.type() == pugi::node_element)
      refuse(mark_at(source, next.offset_debug()), fmt::format("a second root, <{}>: XML has one", next.name()), "one node per file");
  }
  TreeReading r{.source = source};
  for (const auto& child : elements(r, root)) {
    if (name_of(child) == "cpu") read_cpu(r, child);
    else left_out(r, child);
  }
  if (r.tree.cpus.empty() && r.sink.empty()) complain(r, root, "<system> has no <cpu>: there is no machine in it");
  if (r.hosts.size() > 1)
    complain(r, root, fmt::format("{} hosts (host_hash) in one file", r.hosts.size()),
             "write it on one node: ours has one node type per section");
  // What clouds ship has PCI devices only, and NCCL finds the rest: that must be said before anything else that is missing in it.
  if (!r.tree.cpus.empty() &&
      std::ranges::none_of(r.tree.cpus, [](const NcclCpu& c) { return std::ranges::any_of(c.devices, &NcclPci::has_gpu); }))
    refuse(source.at(1), "no <gpu> in the file: it is an NCCL_TOPO_FILE, as clouds ship them, without NVLinks and speeds of ports",
           "run any NCCL program with NCCL_TOPO_DUMP_FILE=topo.xml there, and import topo.xml");
  r.sink.throw_if_any();
  for (const auto& [name, count] : r.left_out) r.tree.notes.push_back(fmt::format("{} element(s) <{}> left out: not known.", count, name));
  return std::move(r.tree);
}

}  // namespace topology::imports
