#include "search/rules/language/term.hpp"

#include <algorithm>
#include <map>

namespace rules {

Numbers dim_size(const Types& t, std::size_t dim) { return {t[0].size[dim], t[1].size[dim], t[2].size[dim]}; }
Numbers dim_degree(const Types& t, std::size_t dim) { return {t[0].degree[dim], t[1].degree[dim], t[2].degree[dim]}; }
Numbers summands_of(const Types& t) { return {t[0].summands, t[1].summands, t[2].summands}; }
Numbers copies_of(const Types& t) { return {t[0].copies, t[1].copies, t[2].copies}; }

namespace {

// Copies what an output needs of `from`, equal nodes once.
struct Rebuild {
  const Term& from;
  Term to;
  std::map<Node, std::uint8_t> seen;
  std::vector<std::optional<std::uint8_t>> moved;

  std::uint8_t append(Node n) {
    const auto [it, fresh] = seen.try_emplace(n, static_cast<std::uint8_t>(to.nodes.size()));
    if (fresh) to.nodes.push_back(std::move(n));
    return it->second;
  }
  std::uint8_t visit(std::uint8_t at) {
    if (moved[at]) return *moved[at];
    Node n = from.nodes[at];
    for (std::uint8_t& i : n.inputs) i = visit(i);
    return *(moved[at] = append(std::move(n)));
  }
};

}  // namespace

int Term::count(Kind k) const { return static_cast<int>(std::ranges::count(nodes, k, &Node::kind)); }
int Term::operators() const { return static_cast<int>(nodes.size()) - count(Kind::variable); }

Term canonical(const Term& t) {
  std::vector<bool> used(t.nodes.size());
  for (const std::uint8_t o : t.outputs) used[o] = true;
  for (std::size_t i = used.size(); i-- > 0;)  // operators come after their inputs
    for (const std::uint8_t in : t.nodes[i].inputs) used[in] = used[in] || used[i];
  std::map<std::uint8_t, Node> variables;
  for (std::size_t i = 0; i < t.nodes.size(); ++i)
    if (used[i] && t.nodes[i].kind == Kind::variable) variables.emplace(t.nodes[i].variable, t.nodes[i]);
  Rebuild rebuild{t, {}, {}, std::vector<std::optional<std::uint8_t>>(t.nodes.size())};
  for (auto& [number, node] : variables) rebuild.append(node);
  for (const std::uint8_t o : t.outputs) rebuild.to.outputs.push_back(rebuild.visit(o));
  return std::move(rebuild.to);
}

bool uses(const Term& t, std::size_t variable) {
  return std::ranges::any_of(t.nodes, [&](const Node& n) { return n.kind == Kind::variable && n.variable == variable; });
}

bool uses_all_of(const Term& source, const Term& target) {
  return std::ranges::all_of(target.nodes, [&](const Node& n) { return n.kind != Kind::variable || uses(source, n.variable); });
}

std::optional<std::size_t> other_half(const Term& t, std::size_t node) {
  const Node& n = t.nodes[node];
  for (std::size_t i = 0; is_split(n.kind) && i < t.nodes.size(); ++i) {
    const Node& m = t.nodes[i];
    if (is_split(m.kind) && m.kind != n.kind && m.inputs == n.inputs && m.axis == n.axis && m.at == n.at) return i;
  }
  return std::nullopt;
}

std::vector<std::size_t> whole_operators(const Term& t) {
  std::vector<std::size_t> operators;
  for (std::size_t n = 0; n < t.nodes.size(); ++n)
    if (t.nodes[n].kind != Kind::variable && other_half(t, n).value_or(n) >= n) operators.push_back(n);
  return operators;
}

}  // namespace rules
