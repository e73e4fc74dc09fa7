#include "topology/description.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/numbers.hpp"
#include "topology/profile_keys.hpp"

namespace topology {
namespace {

constexpr int kMaxGpusPerNode = 1024;  // tables of routes are quadratic in it
// The range of a GPU's or host's speed relative to its profile: beyond it is another machine.
constexpr double kLeastSpeed = 1e-3, kMostSpeed = 1e3;

// The number of a name "gpu12", or nullopt for any other name.
std::optional<int> gpu_number(std::string_view name) {
  if (!name.starts_with("gpu") || name.size() == 3) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::optional<VertexKind> kind_of_component(std::string_view name) {
  if (name.starts_with("cpu")) return VertexKind::cpu;
  if (name.starts_with("switch")) return VertexKind::switching;
  if (name.starts_with("nic")) return VertexKind::nic;
  return std::nullopt;
}

// Vertices; nullopt: one that an override took away from a preset, which has no wires.
using Ends = std::vector<std::optional<int>>;

struct NodeScope {
  const std::vector<LinkType>& links;
  int preset_gpus;
  base::Diagnostics& sink;
};

void read_gpus(NodeScope& s, const base::Yaml& gpus, const std::string& path, NodeType& type) {
  base::MapReader map(gpus, path, s.sink);
  type.gpu_type = read_gpu_profile(map).value_or("");
  type.gpus = static_cast<int>(map.integer("count", 1, kMaxGpusPerNode).value_or(0));
  type.memory = map.bytes("memory");
  if (type.memory && !(type.memory->value() > 0)) map.complain("memory", "a GPU's memory must be above 0");
  type.speed.compute = map.number("compute_speed", kLeastSpeed, kMostSpeed).value_or(1);
  type.speed.memory = map.number("memory_speed", kLeastSpeed, kMostSpeed).value_or(1);
  const std::optional<base::Watts> limit = map.power("power_limit");
  if (limit && !(limit->value() > 0)) map.complain("power_limit", "a GPU draws more than 0 W");
  type.speed.power_limit = limit.value_or(base::Watts(0));
  type.host_speed = map.number("host_speed", kLeastSpeed, kMostSpeed).value_or(1);
  type.peer_access = map.boolean("peer_access").value_or(true);
  map.require("count");
  if (const auto* count = gpus.find("count")) type.mark = count->mark;
  map.finish();
}

// The names that a text stands for, in order: "gpu[0-3]" is gpu0, gpu1, gpu2 and gpu3, a text without "[" itself. None, and a complaint:
// brackets without a range, a range that falls, or one of more names than a node has GPUs.
std::vector<std::string> expanded(NodeScope& s, const std::string& text, const base::Yaml& item, const std::string& path) {
  const std::size_t open = text.find('['), dash = text.find('-', open), close = text.find(']', open);
  if (open == std::string::npos) return {text};
  std::optional<std::int64_t> first, last;
  if (dash < close && close != std::string::npos) {
    first = base::parse_integer(std::string_view(text).substr(open + 1, dash - open - 1));
    last = base::parse_integer(std::string_view(text).substr(dash + 1, close - dash - 1));
  }
  std::vector<std::string> names;
  if (!first || !last || *first < 0 || *last < *first || *last - *first >= kMaxGpusPerNode)
    s.sink.add(item.mark, path, fmt::format("\"{}\" is no range of names", text), "write e.g. \"gpu[0-3]\" for gpu0 to gpu3");
  else
    for (std::int64_t i = *first; i <= *last; ++i) names.push_back(fmt::format("{}{}{}", text.substr(0, open), i, text.substr(close + 1)));
  return names;
}

void add_component(NodeScope& s, Vertex vertex, const base::Yaml& item, const std::string& path, NodeType& type) {
  const auto kind = kind_of_component(vertex.name);
  if (!kind) {
    s.sink.add(item.mark, path, fmt::format("\"{}\" is no component: names begin with cpu, switch or nic", vertex.name));
    return;
  }
  vertex.kind = *kind;
  if (vertex.in_network && *kind != VertexKind::switching) s.sink.add(item.mark, path, "only a switch can have in_network");
  if (std::ranges::any_of(type.vertices, [&](const Vertex& v) { return v.name == vertex.name; })) {
    s.sink.add(item.mark, path, fmt::format("\"{}\" is there twice", vertex.name));
    return;
  }
  type.vertices.push_back(std::move(vertex));
}

void read_component(NodeScope& s, const base::Yaml& item, const std::string& path, NodeType& type) {
  Vertex vertex;
  if (item.is_map() && item.entries.size() == 1) {
    vertex.name = item.entries[0].key;
    base::MapReader map(item.entries[0].value, path + "." + vertex.name, s.sink);
    vertex.in_network = map.boolean("in_network").value_or(false);
    map.finish();
  } else if (const auto name = base::as_text(item, path, s.sink)) {
    vertex.name = *name;
  } else {
    return;
  }
  for (const std::string& name : expanded(s, vertex.name, item, path)) {
    vertex.name = name;
    add_component(s, vertex, item, path, type);
  }
}

void complain_unknown_end(NodeScope& s, const base::Yaml& item, const std::string& path, const std::string& name, const NodeType& type) {
  s.sink.add(item.mark, path, fmt::format("the node has no \"{}\"", name),
             !gpu_number(name) ? base::suggest(name, names_of(type.vertices))
             : type.gpus == 1  ? "its only GPU is gpu0"
                               : fmt::format("its GPUs are gpu0 to gpu{}", type.gpus - 1));
}

// The vertices that a name or a range stands for. Empty where there is a complaint.
Ends read_end(NodeScope& s, const base::Yaml& end, const std::string& path, const NodeType& type) {
  Ends found;
  const auto text = base::as_text(end, path, s.sink);
  if (!text) return found;
  for (const std::string& name : expanded(s, *text, end, path)) {
    const auto at = std::ranges::find(type.vertices, name, &Vertex::name);
    const auto gpu = gpu_number(name);
    if (at != type.vertices.end()) found.emplace_back(static_cast<int>(at - type.vertices.begin()));
    else if (type.gpus == 0 || (gpu && *gpu < s.preset_gpus)) found.emplace_back();  // the missing count is reported where it is missing
    else complain_unknown_end(s, end, path, name, type);
  }
  return found;
}

void complain_twice(NodeScope& s, const base::Yaml& item, const std::string& path, int vertex, const NodeType& type) {
  s.sink.add(item.mark, path, fmt::format("\"{}\" is there twice", nth(type.vertices, vertex).name));
}

// A wire from each of the one end to the one of the other; two ranges go side by side, so that each has its own.
void add_wires(NodeScope& s, const Ends& a, const Ends& b, Wire wire, const base::Yaml& ends, const std::string& path, NodeType& type) {
  if (a.empty() || b.empty()) return;
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) {
    s.sink.add(ends.mark, path, fmt::format("the ranges have {} and {} names", a.size(), b.size()),
               "two ranges are joined one by one, so they have equally many names");
    return;
  }
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::optional<int> from = a[a.size() == 1 ? 0 : i], to = b[b.size() == 1 ? 0 : i];
    if (!from || !to) continue;
    wire.a = *from;
    wire.b = *to;
    if (wire.a != wire.b) type.wires.push_back(wire);
    else complain_twice(s, ends.items[1], path + "[1]", wire.b, type);
  }
}

// A wire from each of the vertices to each other.
void add_all_pairs(NodeScope& s, Wire wire, const base::Yaml& ends, const std::string& path, bool link_is_known, NodeType& type) {
  std::vector<int> found;
  for (std::size_t i = 0; i < ends.items.size(); ++i) {
    const std::string end = fmt::format("{}[{}]", path, i);
    for (const std::optional<int> vertex : read_end(s, ends.items[i], end, type)) {
      if (!vertex) continue;
      if (std::ranges::find(found, *vertex) == found.end()) found.push_back(*vertex);
      else complain_twice(s, ends.items[i], end, *vertex, type);
    }
  }
  for (auto a = found.begin(); link_is_known && a != found.end(); ++a)
    for (auto b = a + 1; b != found.end(); ++b) {
      wire.a = *a;
      wire.b = *b;
      type.wires.push_back(wire);
    }
}

void read_wire(NodeScope& s, const base::Yaml& item, const std::string& path, NodeType& type) {
  base::MapReader map(item, path, s.sink);
  const auto link = read_link_name(map, "link", s.links);
  map.require("link");
  const Wire wire{.link = link.value_or(0), .count = static_cast<int>(map.integer("count", 1, 1000).value_or(1))};
  const auto* between = map.optional("between");
  const auto* all_pairs = map.optional("all_pairs");
  map.finish();
  if (!item.is_map()) return;
  if ((between == nullptr) == (all_pairs == nullptr)) {
    s.sink.add(item.mark, path, "a wire needs either \"between\" or \"all_pairs\"");
    return;
  }
  const bool pair = between != nullptr;
  const auto* ends = pair ? between : all_pairs;
  const std::string ends_path = map.path_of(pair ? "between" : "all_pairs");
  if (!ends->is_sequence() || (pair ? ends->items.size() != 2 : ends->items.size() < 2)) {
    s.sink.add(ends->mark, ends_path, pair ? "expected two names" : "expected a list of at least two names");
    return;
  }
  if (!pair) return add_all_pairs(s, wire, *ends, ends_path, link.has_value(), type);
  const Ends a = read_end(s, ends->items[0], ends_path + "[0]", type), b = read_end(s, ends->items[1], ends_path + "[1]", type);
  if (link) add_wires(s, a, b, wire, *ends, ends_path, type);
}

// The largest number of nodes up to `most` that a job of `all` nodes has in whole: as NVIDIA's scripts ask Slurm for segments of racks
// (Megatron-Bridge, scripts/performance/utils/executors.py).
int equal_segment(int all, int most) {
  int segment = std::min(all, most);
  while (all % segment != 0) --segment;
  return segment;
}

// Every GPU has a wire to the fabric, which is the node's last vertex.
void read_domain(NodeScope& s, const base::Yaml& node, const std::string& path, NodeType& type) {
  base::MapReader map(node, path, s.sink);
  Domain domain;
  domain.nodes = static_cast<int>(map.integer("nodes", 1, kMaxNodes).value_or(1));
  domain.segment = static_cast<int>(map.integer("segment", 1, domain.nodes).value_or(equal_segment(type.count, domain.nodes)));
  const auto link = read_link_name(map, "link", s.links);
  const int count = static_cast<int>(map.integer("count", 1, 1000).value_or(1));
  const bool in_network = map.boolean("in_network").value_or(false);
  map.require("nodes");
  map.require("link");
  map.finish();
  const auto reducer = std::ranges::find_if(type.vertices, &Vertex::in_network);
  if (in_network && reducer != type.vertices.end())
    map.complain("in_network", fmt::format("{} reduces already", reducer->name), "one of the two can");
  type.vertices.back().in_network = in_network;
  for (int gpu = 0; gpu < type.gpus; ++gpu)
    type.wires.push_back({.a = gpu, .b = static_cast<int>(type.vertices.size()) - 1, .link = link.value_or(0), .count = count});
  type.domain = domain;
}

}  // namespace

std::optional<int> read_link_name(base::MapReader& map, std::string_view key, const std::vector<LinkType>& links) {
  const auto name = map.text(key);
  if (!name || links.empty()) return std::nullopt;
  const auto at = std::ranges::find(links, *name, &LinkType::name);
  if (at != links.end()) return static_cast<int>(at - links.begin());
  map.complain(key, fmt::format("no link is called \"{}\"", *name), base::suggest(*name, names_of(links)));
  return std::nullopt;
}

NodeType read_node_type(const base::Yaml& node, const std::string& path, std::optional<int> count, const std::vector<LinkType>& links,
                        int preset_gpus, base::Diagnostics& sink) {
  NodeScope s{links, preset_gpus, sink};
  base::MapReader map(node, path, s.sink);
  NodeType type;
  type.path = path;
  if (count) {
    type.count = *count;
  } else {
    type.count = static_cast<int>(map.integer("count", 1, kMaxNodes).value_or(1));
    map.require("count");
  }
  if (const auto* gpus = map.required("gpus")) read_gpus(s, *gpus, map.path_of("gpus"), type);
  for (int i = 0; i < type.gpus; ++i) type.vertices.push_back({.name = fmt::format("gpu{}", i), .kind = VertexKind::gpu});
  const auto each = [&](const char* key, const char* what, const char* hint, auto read) {
    if (const auto* list = map.optional(key))
      read_each(*list, map.path_of(key), s.sink, what, hint, [&](const auto& item, const auto& at) { read(s, item, at, type); });
  };
  each("components", "a list of names", "e.g. [cpu0, nic0]", read_component);
  const auto* domain = map.optional("domain");
  if (domain != nullptr) type.vertices.push_back({.name = "fabric", .kind = VertexKind::switching});
  each("wires", "a list of wires", "e.g. - {between: [gpu0, cpu0], link: pcie}", read_wire);
  if (domain != nullptr) read_domain(s, *domain, map.path_of("domain"), type);
  map.finish();
  return type;
}

}  // namespace topology
