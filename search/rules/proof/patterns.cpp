#include "search/rules/proof/patterns.hpp"

namespace rules {
namespace {

// Sums of letters are left open: the types of an instance hold them against each other.
DimPattern dim_pattern(const Numbers& n) {
  const std::string l = letters_of(n).value_or("??");
  return l.empty() ? DimPattern{0, n[0]} : l.size() == 1 ? DimPattern{l[0], 0} : DimPattern{};
}

std::vector<VariablePattern> variable_patterns(const Equation& e) {
  std::vector<VariablePattern> all;
  for (std::size_t v = 0; v < e.variables.size(); ++v) {
    const Types& t = e.variables[v].types;
    VariablePattern p{.index = t[0].index};
    p.used = uses(e.left, v) || uses(e.right, v);
    for (std::size_t d = 0; d < t[0].rank; ++d) p.dims.push_back(dim_pattern(dim_size(t, d)));
    all.push_back(std::move(p));
  }
  return all;
}

// The symbols that a match of some part of a side binds, one bit each: letters of attributes, then d and e, then variables.
using Symbols = std::uint64_t;
constexpr Symbols letter_of(const DimPattern& d) { return d.letter == 0 ? 0 : Symbols{1} << static_cast<unsigned>(d.letter - 'a'); }
constexpr Symbols degree_symbol(std::size_t s) { return Symbols{1} << (26 + s); }
constexpr Symbols variable_symbol(std::uint8_t v) { return Symbols{1} << (28 + v); }

// Returns the symbols of a node itself: of the letters, those of attributes.
Symbols own_symbols(const AxiomPattern& p, int side, std::size_t node) {
  const Node& n = p.sides[side].nodes[node];
  Symbols t = letter_of(p.at[side][node]) | letter_of(p.by[side][node]);
  if (n.kind == Kind::variable) t |= variable_symbol(n.variable);
  for (std::size_t s = 0; s < 2; ++s)
    if (n.degree.powers[s] > 0) t |= degree_symbol(s);
  return t;
}

// Returns the symbols that are identifiable from a match of the node and of all below it.
Symbols identifiable(const AxiomPattern& p, int side, std::uint8_t node) {
  const Node& n = p.sides[side].nodes[node];
  Symbols t = own_symbols(p, side, node);
  if (n.kind == Kind::variable)
    for (const DimPattern& d : p.variables[0][n.variable].dims) t |= letter_of(d);
  for (const std::uint8_t i : n.inputs) t |= identifiable(p, side, i);
  return t;
}

// Returns the symbols that an instance needs: the sizes of variables need no letters beforehand.
Symbols needed(const AxiomPattern& p) {
  Symbols t = 0;
  for (int side = 0; side < 2; ++side)
    for (std::size_t n = 0; n < p.sides[side].nodes.size(); ++n) t |= own_symbols(p, side, n);
  return t;
}

void add_triggers(Patterns& patterns, std::size_t index) {
  const AxiomPattern& p = patterns.all[index];
  const auto binds_all = [&, all = needed(p)](int side, std::uint8_t node) { return (identifiable(p, side, node) & all) == all; };
  const auto add = [&](auto&& self, int side, std::uint8_t node, bool variable_opposite) -> void {
    const Node& n = p.sides[side].nodes[node];
    if (n.kind == Kind::variable || !binds_all(side, node)) return;
    patterns.triggers[{n.kind, n.function, n.axis}].push_back({index, side, node});
    // Where the other side is a mere variable, it is met everywhere: what would become it when the whole is made is looked for instead.
    if (node == p.sides[side].outputs[0] && variable_opposite)
      for (const std::uint8_t i : n.inputs) self(self, side, i, false);
  };
  const bool some = binds_all(0, p.sides[0].outputs[0]) || binds_all(1, p.sides[1].outputs[0]);
  for (int side = 0; side < 2; ++side) {
    const Term& other = p.sides[1 - side];
    const std::uint8_t root = p.sides[side].outputs[0];
    const Node& n = p.sides[side].nodes[root];
    if (some) add(add, side, root, other.nodes[other.outputs[0]].kind == Kind::variable);
    else patterns.triggers[{n.kind, n.function, n.axis}].push_back({index, side, root});
  }
}

// Goes through the open pairs depth first and takes every binding back after it, so that one binding serves the whole search.
struct SideMatcher {
  const AxiomPattern& p;
  const int side;
  const EGraph& graph;
  const std::function<void(const Binding&)>& found;
  Binding b;
  std::vector<std::pair<std::uint8_t, Index>> open;  // pattern nodes and the classes that they must match

  const Term& term() const { return p.sides[side]; }

  void next() {
    if (open.empty()) return found(b);
    const auto [node, cls] = open.back();
    open.pop_back();
    const Node& n = term().nodes[node];
    if (n.kind == Kind::variable) variable(n, cls);
    else
      for (const Index m : graph.members(cls)) member(node, m);
    open.emplace_back(node, cls);
  }
  void variable(const Node& n, Index cls) {
    Index& bound = b.variables[n.variable];
    const Index before = bound;
    if (before == Binding::kUnbound) bound = cls;
    if (graph.same(bound, cls)) next();
    bound = before;
  }
  void member(std::uint8_t node, Index m) {
    const Node& n = term().nodes[node];
    const EGraph::Node& e = graph.node(m);
    if (e.op.kind != n.kind || e.op.function != n.function || e.op.axis != n.axis) return;
    const auto letters = b.letters;
    if (b.bind(p.at[side][node], e.op.at) && b.bind(p.by[side][node], e.op.by)) degree(n.degree, e.op.degree, [&] { children(n, e); });
    b.letters = letters;
  }
  void children(const Node& n, const EGraph::Node& e) {
    for (std::size_t i = 0; i < n.inputs.size(); ++i) open.emplace_back(n.inputs[i], graph.find(e.children[i]));
    next();
    open.resize(open.size() - n.inputs.size());
  }
  // pattern is 1, a number, d, e or d*e.
  template <class Then>
  void degree(const Degree& pattern, const Degree& d, Then&& then) {
    if (pattern.powers[0] == 0 && pattern.powers[1] == 0) {
      if (pattern == d) then();
      return;
    }
    if (pattern.powers[0] + pattern.powers[1] == 1) {
      std::optional<Degree>& bound = b.degrees[pattern.powers[0] == 1 ? 0 : 1];
      const auto before = bound;
      if (!before) bound = d;
      if (*bound == d) then();
      bound = before;
      return;
    }
    // d*e: every factorisation of the degree into two that are more than 1.
    for (std::uint8_t i = 0; i <= d.powers[0]; ++i)
      for (std::uint8_t j = 0; j <= d.powers[1]; ++j)
        for (std::uint8_t k = 0; k <= d.powers[2]; ++k) {
          const Degree one{{i, j, k}};
          const Degree two{{static_cast<std::uint8_t>(d.powers[0] - i), static_cast<std::uint8_t>(d.powers[1] - j),
                            static_cast<std::uint8_t>(d.powers[2] - k)}};
          if (one == Degree{} || two == Degree{} || (b.degrees[0] && *b.degrees[0] != one) || (b.degrees[1] && *b.degrees[1] != two))
            continue;
          const auto before = b.degrees;
          b.degrees = {one, two};
          then();
          b.degrees = before;
        }
  }
};

bool dims_fit(const std::vector<VariablePattern>& variables, const EGraph& graph, Binding& b) {
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (!variables[v].used) continue;
    const Types& t = graph.types(b.variables[v]);
    const std::vector<DimPattern>& dims = variables[v].dims;
    if (t[0].rank != dims.size() || t[0].index != variables[v].index) return false;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Numbers size = dim_size(t, d);
      if (dims[d].number != 0 && size != Numbers{dims[d].number, dims[d].number, dims[d].number}) return false;
      if (!b.bind(dims[d], size)) return false;
    }
  }
  return true;
}

}  // namespace

Patterns compile(const Axioms& axioms) {
  Patterns patterns;
  std::map<std::pair<Term, Term>, std::size_t> known;
  for (std::size_t i = 0; i < axioms.all.size(); ++i) {
    const Axiom& a = axioms.all[i];
    AxiomPattern p{.entry = a.entry, .sides = {a.equation.left, a.equation.right}, .variables = {variable_patterns(a.equation)}};
    for (int side = 0; side < 2; ++side)
      for (Node& n : p.sides[side].nodes) {
        p.at[side].push_back(n.at[0] == 0 ? DimPattern{} : dim_pattern(n.at));
        p.by[side].push_back(n.by[0] == 0 ? DimPattern{} : dim_pattern(n.by));
      }
    // Instances of an entry that differ in the sizes of their variables alone have equal terms, and share a pattern.
    const auto [it, fresh] = known.try_emplace({a.equation.left, a.equation.right}, patterns.all.size());
    if (AxiomPattern* same = fresh ? nullptr : &patterns.all[it->second]; same != nullptr && same->entry == a.entry)
      same->variables.push_back(std::move(p.variables[0]));
    else patterns.all.push_back(std::move(p));
  }
  for (std::size_t i = 0; i < patterns.all.size(); ++i) add_triggers(patterns, i);
  return patterns;
}

bool Binding::bind(const DimPattern& d, const Numbers& sizes) {
  if (d.letter == 0) return true;
  std::optional<Numbers>& bound = letters[index_of(d.letter)];
  if (!bound) bound = sizes;
  return *bound == sizes;
}

void match(const AxiomPattern& p, const Trigger& t, const EGraph& graph, Index n, const std::function<void(const Binding&)>& found) {
  SideMatcher m{p, t.side, graph, found, {}, {}};
  m.member(t.node, n);
}

bool fits(const AxiomPattern& p, const EGraph& graph, Binding& b) {
  // An instance that does not fit may have bound letters before it failed: each starts from the binding given.
  for (const std::vector<VariablePattern>& variables : p.variables) {
    Binding tried = b;
    if (!dims_fit(variables, graph, tried)) continue;
    b = tried;
    return true;
  }
  return false;
}

EOperator operator_of(const AxiomPattern& p, int side, std::uint8_t node, const Binding& b) {
  const Node& n = p.sides[side].nodes[node];
  EOperator op{.kind = n.kind, .function = n.function, .axis = n.axis};
  for (std::size_t i = 0; i < op.degree.powers.size(); ++i) {
    int power = i == 2 ? n.degree.powers[2] : 0;
    for (std::size_t s = 0; s < 2; ++s)
      if (n.degree.powers[s] > 0) power += n.degree.powers[s] * b.degrees[s]->powers[i];
    op.degree.powers[i] = static_cast<std::uint8_t>(power);
  }
  const auto numbers = [&](const DimPattern& d) -> Numbers {
    return d.letter == 0 ? Numbers{} : b.letters[index_of(d.letter)].value_or(Numbers{});
  };
  op.at = numbers(p.at[side][node]);
  op.by = numbers(p.by[side][node]);
  return op;
}

}  // namespace rules
