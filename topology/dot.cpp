#include "topology/dot.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <iterator>

#include "topology/routing.hpp"

namespace topology {
namespace {

std::string_view shape_of(const Vertex& v) {
  switch (v.kind) {
    case VertexKind::gpu: return "box";
    case VertexKind::cpu: return "hexagon";
    case VertexKind::switching: return "diamond";
    case VertexKind::nic: return "ellipse";
  }
  return "box";
}

std::string_view network_name(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::none: return "none";
    case NetworkKind::single_switch: return "switch";
    case NetworkKind::fat_tree: return "fat tree";
    case NetworkKind::rail: return "rails";
    case NetworkKind::dragonfly: return "dragonfly";
    case NetworkKind::torus: return "torus";
    case NetworkKind::custom: return "custom network";
  }
  return "none";
}

std::string dot_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

std::string to_dot(const Cluster& c) {
  const auto& d = c.routing_->description;
  std::string out;
  const auto line = [&out]<class... Args>(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
    out += '\n';
  };
  line("graph {} {{", dot_text(c.name()));
  line("  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];");
  for (std::size_t t = 0; t < d.node_types.size(); ++t) {
    const auto& type = d.node_types[t];
    line("  subgraph cluster_{} {{\n    label={};", t,
         dot_text(fmt::format("{} node{} with {} x {}", type.count, type.count == 1 ? "" : "s", type.gpus, type.gpu_type)));
    for (std::size_t v = 0; v < type.vertices.size(); ++v)
      line("    t{}v{} [label={}, shape={}];", t, v, dot_text(type.vertices[v].name), shape_of(type.vertices[v]));
    for (const auto& wire : type.wires) {
      const auto& link = d.links[static_cast<std::size_t>(wire.link)];
      const auto label = fmt::format("{} {}", link.name, base::to_text(link.bandwidth * wire.count));
      line("    t{0}v{1} -- t{0}v{2} [label={3}];", t, wire.a, wire.b, dot_text(label));
    }
    line("  }}");
  }
  if (c.nodes() > 1) {
    const auto& link = d.links[static_cast<std::size_t>(d.network.link)];
    line("  network [label={}, shape=doubleoctagon];", dot_text(fmt::format("{}, {} nodes", network_name(d.network.kind), c.nodes())));
    for (std::size_t t = 0; t < d.node_types.size(); ++t) {
      for (const int nic : d.node_types[t].nics())
        line("  t{}v{} -- network [label={}];", t, nic, dot_text(fmt::format("{} {}", link.name, base::to_text(link.bandwidth))));
    }
  }
  line("}}");
  return out;
}

}  // namespace topology
