#include "topology/drawing.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <array>
#include <iterator>

#include "topology/routing.hpp"

namespace topology {
namespace {

// In the order of VertexKind.
constexpr std::array<std::string_view, 4> kPartNames = {"gpu", "cpu", "switch", "nic"};
constexpr std::array<std::string_view, 4> kDotShapes = {"box", "hexagon", "diamond", "ellipse"};
// In the order of NetworkKind.
constexpr std::array<std::string_view, 7> kNetworks = {"none", "switch", "fat tree", "rails", "dragonfly", "torus", "custom network"};

std::string dot_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

Drawing::Node drawn(const NodeType& type, const ClusterDescription& d) {
  Drawing::Node node{
      .count = type.count, .gpus = type.gpus, .gpu_type = type.gpu_type.substr(type.gpu_type.rfind('/') + 1), .parts = {}, .wires = {}};
  for (const Vertex& v : type.vertices) node.parts.push_back({v.name, v.kind});
  for (const Wire& w : type.wires) {
    const LinkType& link = nth(d.links, w.link);
    node.wires.push_back({w.a, w.b, link.name, link.bandwidth * w.count});
  }
  return node;
}

}  // namespace

std::string_view to_text(VertexKind kind) { return nth(kPartNames, static_cast<int>(kind)); }

Drawing drawing(const Cluster& c) {
  const ClusterDescription& d = c.routing_->description;
  Drawing picture;
  picture.name = c.name();
  picture.nodes = c.nodes();
  for (const NodeType& type : d.node_types) picture.node_types.push_back(drawn(type, d));
  if (c.nodes() > 1) {
    const LinkType& link = nth(d.links, d.network.link);
    picture.network = nth(kNetworks, static_cast<int>(d.network.kind));
    picture.network_link = link.name;
    picture.network_bandwidth = link.bandwidth;
    picture.switches = d.network;
  }
  return picture;
}

std::string to_dot(const Cluster& c) {
  const Drawing d = drawing(c);
  std::string out;
  const auto line = [&out]<class... Args>(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
    out += '\n';
  };
  line("graph {} {{", dot_text(d.name));
  line("  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];");
  for (std::size_t t = 0; t < d.node_types.size(); ++t) {
    const Drawing::Node& type = d.node_types[t];
    line("  subgraph cluster_{} {{\n    label={};", t,
         dot_text(fmt::format("{} node{} with {} x {}", type.count, type.count == 1 ? "" : "s", type.gpus, type.gpu_type)));
    for (std::size_t v = 0; v < type.parts.size(); ++v)
      line("    t{}v{} [label={}, shape={}];", t, v, dot_text(type.parts[v].name), nth(kDotShapes, static_cast<int>(type.parts[v].kind)));
    for (const Drawing::Wire& w : type.wires)
      line("    t{0}v{1} -- t{0}v{2} [label={3}];", t, w.a, w.b, dot_text(fmt::format("{} {}", w.link, base::to_text(w.bandwidth))));
    line("  }}");
  }
  if (d.nodes > 1) {
    line("  network [label={}, shape=doubleoctagon];", dot_text(fmt::format("{}, {} nodes", d.network, d.nodes)));
    for (std::size_t t = 0; t < d.node_types.size(); ++t)
      for (std::size_t v = 0; v < d.node_types[t].parts.size(); ++v)
        if (d.node_types[t].parts[v].kind == VertexKind::nic)
          line("  t{}v{} -- network [label={}];", t, v, dot_text(fmt::format("{} {}", d.network_link, base::to_text(d.network_bandwidth))));
  }
  line("}}");
  return out;
}

}  // namespace topology
