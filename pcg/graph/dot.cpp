#include "pcg/graph/dot.hpp"

#include <fmt/core.h>

namespace pcg {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string_view kind_of(const GraphNode& n) { return kind_name(n.op); }
std::string_view kind_of(const PcgNode& n) { return n.parallel_operator() ? kind_name(*n.parallel_operator()) : kind_name(*n.operation()); }

std::string_view style(const GraphNode& n) {
  return std::holds_alternative<Input>(n.op) || std::holds_alternative<Weight>(n.op) ? ", style=filled, fillcolor=\"#eeeeee\"" : "";
}
std::string_view style(const PcgNode& n) {
  if (n.parallel_operator()) return ", shape=ellipse, style=filled, fillcolor=\"#ffd37f\"";
  return n.is_source() ? ", style=filled, fillcolor=\"#eeeeee\"" : "";
}

template <class AnyGraph>
std::string dot(const AnyGraph& g) {
  std::string out = fmt::format(
      "digraph \"{}\" {{\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=8];\n",
      escaped(g.name()));
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const auto& node = g.nodes()[n];
    out += fmt::format("  n{} [label=\"{}\\n{}\"{}];\n", n, escaped(node.name), kind_of(node), style(node));
  }
  for (std::size_t n = 0; n < g.nodes().size(); ++n)
    for (const auto& t : g.nodes()[n].inputs) out += fmt::format("  n{} -> n{} [label=\"{}\"];\n", t.node.value, n, to_text(g.shape(t)));
  return out + "}\n";
}

}  // namespace

std::string to_dot(const Pcg& pcg) { return dot(pcg); }
std::string to_dot(const Graph& graph) { return dot(graph); }

}  // namespace pcg
