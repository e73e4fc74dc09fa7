#include "search/rules/rewriting/apply.hpp"

#include <fmt/core.h>

#include <array>
#include <set>

#include "search/rules/rewriting/replace.hpp"

namespace rules {
namespace {

using pcg::NodeId;
using pcg::TensorRef;

// A graph in which the concats of two that a match names (ConcatAsTwo) are nodes.
struct Regrouped {
  pcg::Pcg graph;             // computes the same
  Match match;                // in it; names no views
  std::vector<NodeId> parts;  // those that are new
};

class Regrouping {
 public:
  Regrouping(const pcg::Pcg& graph, const Match& match, const Rule& rule)
      : graph_(graph), rule_(rule), old_(match), builder_(graph.name(), {graph.blocks().begin(), graph.blocks().end()}) {
    for (const pcg::PcgNode& n : graph.nodes()) names_.insert(n.name);
    result_.match = match;
    result_.match.views.clear();
  }

  Regrouped run() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const pcg::PcgNode& node = graph_.nodes()[n];
      std::vector<TensorRef> in;
      for (TensorRef t : node.inputs) in.push_back(renumbered(t));
      for (const ConcatAsTwo& v : old_.views)
        if (old_.nodes[v.at] == NodeId(n)) group(node, v, in);
      renumbered_.push_back(node.operation() ? builder_.add(node.name, *node.operation(), in, node.sharding, node.block)
                                             : builder_.add(node.name, *node.parallel_operator(), in[0], node.block));
    }
    translate();
    result_.graph = std::move(builder_).build();
    return std::move(result_);
  }

 private:
  [[nodiscard]] TensorRef renumbered(TensorRef t) const { return {renumbered_[t.node.value], t.output}; }

  // Makes the parts, and their concat where others surround it; leaves in `in` what the node itself reads then.
  void group(const pcg::PcgNode& node, const ConcatAsTwo& v, std::vector<TensorRef>& in) {
    Grouped g{.view = &v, .parts = {put_together(node, in, v.begin, v.cut), put_together(node, in, v.cut, v.end)}, .concat = {}};
    if (v.begin == 0 && v.end == in.size()) {
      in = {g.parts[0], g.parts[1]};
    } else {
      const TensorRef both = put_together(node, {g.parts[0], g.parts[1]}, 0, 2);
      g.concat = both.node;
      in.erase(in.begin() + v.begin, in.begin() + v.end);
      in.insert(in.begin() + v.begin, both);
    }
    grouped_.push_back(g);
  }
  TensorRef put_together(const pcg::PcgNode& node, const std::vector<TensorRef>& in, std::size_t begin, std::size_t end) {
    if (end - begin == 1) return in[begin];
    std::string name = node.name + ".part";
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}.part{}", node.name, n);
    const std::vector<TensorRef> some(in.begin() + static_cast<std::ptrdiff_t>(begin), in.begin() + static_cast<std::ptrdiff_t>(end));
    return {result_.parts.emplace_back(builder_.add(name, *node.operation(), some, node.sharding, node.block)), 0};
  }

  void translate() {
    Match& m = result_.match;
    for (NodeId& n : m.nodes) n = renumbered_[n.value];
    for (TensorRef& t : m.variables) t = renumbered(t);
    for (const Grouped& g : grouped_) {
      if (g.concat) m.nodes[g.view->at] = *g.concat;
      const Term& source = rule_.source();
      std::size_t at = 0;
      for (const Node& n : source.nodes) {
        if (n.kind == Kind::variable || at++ != g.view->at) continue;
        for (std::size_t part = 0; part < g.parts.size(); ++part)
          if (const Node& input = source.nodes[n.inputs[part]]; input.kind == Kind::variable) m.variables[input.variable] = g.parts[part];
      }
    }
  }

  struct Grouped {
    const ConcatAsTwo* view = nullptr;
    std::array<TensorRef, 2> parts;
    std::optional<NodeId> concat;  // of the parts, where it is a node of its own
  };

  const pcg::Pcg& graph_;
  const Rule& rule_;
  const Match& old_;
  pcg::PcgBuilder builder_;
  std::set<std::string> names_;
  std::vector<NodeId> renumbered_;  // by old number: every node is still there
  std::vector<Grouped> grouped_;
  Regrouped result_;
};

base::Attempt<Rewritten> apply_here(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const NodeId> parts,
                                    std::span<const int> degrees) {
  std::array<int, 2> bound = match.degrees;
  for (std::size_t i = 0; i < bound.size() && i < degrees.size(); ++i)
    if (bound[i] == 0) bound[i] = degrees[i];
  base::Attempt<Target> target = instantiate(rule, match, graph, bound);
  if (!target) return target.refusal();
  const base::Attempt<Redirections> redirections = redirect(rule, match, graph, *target);
  return redirections ? replace(match, graph, parts, *target, *redirections) : redirections.refusal();
}

}  // namespace

base::Attempt<Rewritten> apply(const Rule& rule, const Match& match, const pcg::Pcg& graph, std::span<const int> degrees) {
  if (match.views.empty()) return apply_here(rule, match, graph, {}, degrees);
  const Regrouped regrouped = Regrouping(graph, match, rule).run();
  return apply_here(rule, regrouped.match, regrouped.graph, regrouped.parts, degrees);
}

}  // namespace rules
