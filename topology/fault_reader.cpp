#include "topology/description.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/yaml/reader.hpp"

namespace topology {
namespace {

constexpr double kMostSlowdown = 1000;  // a GPU that is slower than this takes no part

struct FaultScope {
  ClusterDescription& cluster;
  base::Diagnostics& sink;
};

NodeType& node_at(FaultScope& f, int node, const base::MapReader& map) {
  const auto at = std::ranges::lower_bound(f.cluster.faulty, node, {}, &FaultyNode::node);
  if (at != f.cluster.faulty.end() && at->node == node) return at->type;
  NodeType type = nth(f.cluster.node_types, f.cluster.type_of(node));
  type.count = 1;
  type.mark = map.node().mark;
  type.path = map.path();
  return f.cluster.faulty.insert(at, {node, std::move(type)})->type;
}

std::optional<int> vertex(FaultScope& f, const NodeType& type, const std::string& name, const base::Mark& mark, const std::string& path) {
  const auto at = std::ranges::find(type.vertices, name, &Vertex::name);
  if (at != type.vertices.end()) return static_cast<int>(at - type.vertices.begin());
  f.sink.add(mark, path, fmt::format("the node has no \"{}\"", name), base::suggest(name, names_of(type.vertices)));
  return std::nullopt;
}

// The host of a slow node is slow, too.
void slow_down(FaultScope& f, int node, const std::optional<std::string>& gpu, double by, base::MapReader& map) {
  NodeType& type = node_at(f, node, map);
  type.slowdown.resize(static_cast<std::size_t>(type.gpus));
  if (!gpu) {
    for (Slowdown& s : type.slowdown) s = {s.gpu * by, s.host * by};
    return;
  }
  const auto at = vertex(f, type, *gpu, map.node().find("gpu")->mark, map.path_of("gpu"));
  if (!at) return;
  if (*at >= type.gpus) map.complain("gpu", fmt::format("\"{}\" is no GPU", *gpu), fmt::format("gpu0 to gpu{}", type.gpus - 1));
  else nth(type.slowdown, *at).gpu *= by;
}

void cut_nic(FaultScope& f, int node, const std::string& nic, double left, base::MapReader& map) {
  NodeType& type = node_at(f, node, map);
  const auto at = vertex(f, type, nic, map.node().find("nic")->mark, map.path_of("nic"));
  if (!at) return;
  Vertex& v = nth(type.vertices, *at);
  if (v.kind != VertexKind::nic) map.complain("nic", fmt::format("\"{}\" is no NIC", nic), "write between: [A, B] for a wire");
  else v.left *= left;
}

void cut_wires(FaultScope& f, int node, const std::vector<std::string>& ends, double left, const base::Mark& mark, const std::string& path,
               const base::MapReader& map) {
  NodeType& type = node_at(f, node, map);
  const auto a = vertex(f, type, ends[0], mark, path), b = vertex(f, type, ends[1], mark, path);
  if (!a || !b) return;
  bool found = false;
  for (Wire& w : type.wires) {
    if (!(w.a == *a && w.b == *b) && !(w.a == *b && w.b == *a)) continue;
    w.left *= left;
    found = true;
  }
  if (!found) f.sink.add(mark, path, fmt::format("no wire joins {} and {}", ends[0], ends[1]));
}

void cut_between(FaultScope& f, const base::Yaml& between, const std::string& path, std::optional<std::int64_t> node, double left,
                 base::MapReader& map) {
  std::vector<std::string> ends;
  if (between.is_sequence())
    for (std::size_t i = 0; i < between.items.size(); ++i)
      if (const auto end = base::as_text(between.items[i], fmt::format("{}[{}]", path, i), f.sink)) ends.push_back(*end);
  if (ends.size() != 2) {
    f.sink.add(between.mark, path, "expected two names", "e.g. [gpu0, switch0]; without node two switches of the network");
    return;
  }
  if (node) cut_wires(f, static_cast<int>(*node), ends, left, between.mark, path, map);
  else f.cluster.network_faults.push_back({ends[0], ends[1], left, between.mark, path});
}

void read_fault(FaultScope& f, const base::Yaml& item, const std::string& path) {
  base::MapReader map(item, path, f.sink);
  const auto node = map.integer("node", 0, f.cluster.nodes() - 1);
  const auto gpu = map.text("gpu"), nic = map.text("nic");
  const auto slowdown = map.number("slowdown", 1, kMostSlowdown);
  const auto left = map.number("left", 0, 1);
  const auto* between = map.optional("between");
  map.finish();
  if (!item.is_map()) return;
  const bool slow = map.has("slowdown"), cut = map.has("nic") || map.has("between");
  const bool fits = slow ? map.has("node") && !cut && !map.has("left")
                         : cut && !map.has("gpu") && map.has("nic") != map.has("between") && (map.has("node") || map.has("between"));
  if (!fits) {
    f.sink.add(item.mark, path, "no such fault",
               "{node, gpu, slowdown}, {node, slowdown}, {node, nic, left}, {node, between: [A, B], left} or {between: [A, B], left}");
    return;
  }
  if (map.has("node") && !node) return;
  if (slow && slowdown) slow_down(f, static_cast<int>(*node), gpu, *slowdown, map);
  if (nic) cut_nic(f, static_cast<int>(*node), *nic, left.value_or(0), map);
  if (between != nullptr) cut_between(f, *between, map.path_of("between"), node, left.value_or(0), map);
}

}  // namespace

void read_faults(const base::Yaml& list, const std::string& path, ClusterDescription& cluster, base::Diagnostics& sink) {
  FaultScope f{cluster, sink};
  read_each(list, path, sink, "a list of faults", "e.g. [{node: 3, gpu: gpu1, slowdown: 1.2}]",
            [&](const base::Yaml& item, const std::string& item_path) { read_fault(f, item, item_path); });
}

}  // namespace topology
