#include "search/rules/matching/pattern.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace rules {
namespace {

struct Compilation {
  const Rule& rule;
  const Term& source = rule.source();
  const Term& target = rule.target();
  const std::vector<Variable>& variables = rule.equation.variables();
  std::vector<std::uint8_t> operator_of;  // by node of the source
  Pattern p;
};

bool sums_to_number(const Term& t, const std::vector<Types>& types) {
  for (std::size_t n = 0; n < t.nodes.size(); ++n)
    if (t.nodes[n].kind == Kind::sum && types[n][0].rank == 0) return true;
  return false;
}

void add_variables(Compilation& c) {
  for (const Variable& v : c.variables) {
    PatternVariable& pv = c.p.variables.emplace_back();
    pv.rank = v.types[0].rank;
    pv.index = v.types[0].index;
    for (std::size_t d = 0; d < pv.rank; ++d) pv.sizes[d] = size_text(dim_size(v.types, d));
  }
}

// Kernels come through what works on output and input channels alone.
void mark_kernel(Compilation& c, std::uint8_t n) {
  const Node& node = c.source.nodes[n];
  if (node.kind == Kind::variable) c.p.variables[node.variable].kernel = true;
  for (std::uint8_t i : node.inputs) mark_kernel(c, i);
}

// The laws of convolutions and pools that rules of PCGs can use (linearity, samples, channels, groups) hold for every window and
// stride; rows and columns may be cut wherever typing lets them be (pcg::Loop::least). A kernel of 3 x 3 stands for any; a smaller one is
// meant, with the padding that keeps the size.
void find_window(Compilation& c, const Node& node, const std::vector<Types>& types, PatternOperator& o) {
  if (is_pool(node.kind)) o.any_window = true;
  if (!is_convolution(node.kind)) return;
  const Type& w = types[node.inputs[1]][0];
  o.any_window = w.size[2] == 3 && w.size[3] == 3;
  o.window = same_window(static_cast<int>(w.size[2]), static_cast<int>(w.size[3]));
  if (o.any_window) mark_kernel(c, node.inputs[1]);
}

void find_half(Compilation& c, std::size_t n, PatternOperator& o) {
  const Node& node = c.source.nodes[n];
  if (!is_split(node.kind)) return;
  o.other_code = node.kind == Kind::split0 ? kFirstPart : kLastPart;
  const std::optional<std::size_t> other = other_half(c.source, n);
  if (!other || *other > n) return;
  o.half = c.operator_of[*other];
  c.p.operators[c.operator_of[*other]].half = static_cast<int>(c.p.operators.size());
  o.other_code = c.p.operators[c.operator_of[*other]].other_code = kNoCode;
}

bool add_operator(Compilation& c, std::size_t n, const std::vector<Types>& types) {
  const Node& node = c.source.nodes[n];
  c.operator_of.push_back(static_cast<std::uint8_t>(c.p.operators.size()));
  if (node.kind == Kind::variable) return true;
  PatternOperator o;
  o.kind = node.kind;
  o.code = code_of(node.kind, node.function);
  o.commutative = is_commutative(node.kind) && node.kind != Kind::summands;  // the order of summands is part of a layout
  o.output = node.kind == Kind::split1 ? 1 : 0;
  o.axis = node.axis;
  o.rank = types[node.inputs[0]][0].rank;
  if (o.rank == 0) return false;  // arithmetic of scalars is no operator of a graph
  for (std::uint8_t i : node.inputs) {
    const Node& in = c.source.nodes[i];
    const bool variable = in.kind == Kind::variable;
    if (types[i][0].rank == 0) {
      if (!variable) return false;
      o.scalar = in.variable;
      continue;
    }
    if (o.slot_count == kMostInputs) return false;
    o.slots[o.slot_count++] = {variable, variable ? in.variable : c.operator_of[i]};
  }
  find_window(c, node, types, o);
  find_half(c, n, o);
  c.p.split_at.push_back(size_text(node.at));
  c.p.degrees.push_back(node.degree);
  c.p.operators.push_back(o);
  return true;
}

bool is_read(const Compilation& c, std::uint8_t variable, const std::vector<bool>& bound) {
  for (std::size_t o = 0; o < bound.size(); ++o)
    for (std::size_t i = 0; bound[o] && i < c.p.operators[o].slot_count; ++i)
      if (c.p.operators[o].slots[i].variable && c.p.operators[o].slots[i].index == variable) return true;
  return false;
}

std::optional<Step> next(const Compilation& c, const std::vector<bool>& bound) {
  std::optional<Step> reader, shared;
  for (std::uint8_t o = 0; o < c.p.operators.size(); ++o) {
    const PatternOperator& op = c.p.operators[o];
    for (std::uint8_t i = 0; i < op.slot_count; ++i) {
      const Slot s = op.slots[i];
      if (!s.variable && bound[o] && !bound[s.index]) return Step{Step::By::producer, s.index, o, i};
      if (!s.variable && !bound[o] && bound[s.index]) reader = Step{Step::By::reader, o, s.index, i};
      if (s.variable && !bound[o] && is_read(c, s.index, bound)) shared = Step{Step::By::shared, o, s.index, i};
    }
  }
  return reader ? reader : shared;
}

// Breadth first; producers before readers, readers before those that share a variable: the fewer candidates, the earlier.
std::vector<Step> path_from(const Compilation& c, std::uint8_t start) {
  std::vector<Step> path;
  std::vector<bool> bound(c.p.operators.size());
  bound[start] = true;
  while (const std::optional<Step> s = next(c, bound)) {
    bound[s->to] = true;
    path.push_back(*s);
  }
  return path;
}

void find_packed(Compilation& c, const std::vector<Types>& types) {
  for (const Node& n : c.source.nodes) {
    if (n.kind != Kind::attention) continue;
    const std::string packed = size_text(dim_size(types[n.inputs[0]], 2)).letters;
    for (PatternVariable& v : c.p.variables)
      for (std::size_t d = 0; d < v.rank; ++d) {
        if (d == 2 && v.sizes[d].letters == packed) v.packed = true;
        else if (v.sizes[d].letters.find_first_of(packed) != std::string::npos) c.p.any_heads = false;
      }
  }
}

// The variable that the first inputs lead to: the tensor that has the dims beyond the rule's rank, if one has.
std::uint8_t leading_variable(const Term& t, std::size_t node) {
  while (t.nodes[node].kind != Kind::variable) node = t.nodes[node].inputs[0];
  return t.nodes[node].variable;
}

void find_row_choice(Compilation& c) {
  for (std::size_t n = 0; n < c.target.nodes.size(); ++n) {
    const Node& node = c.target.nodes[n];
    if ((!has_axis(node.kind) || node.axis != 0) && node.kind != Kind::transpose) continue;
    const std::uint8_t v = leading_variable(c.target, n);
    if (std::ranges::find(c.p.row_choice, v) == c.p.row_choice.end()) c.p.row_choice.push_back(v);
  }
}

}  // namespace

base::Attempt<Pattern> compile(const Rule& rule) {
  Compilation c{rule};
  for (const Term* t : {&c.source, &c.target})
    for (const Node& n : t->nodes)
      if (n.kind == Kind::enlarge || is_constant(n.kind))  // in proofs and in rules of kernels only
        return base::Refusal{fmt::format("no graph has {}", name_of(n.kind))};
  if (sums_to_number(c.source, rule.source_types()) || sums_to_number(c.target, rule.target_types()))
    return base::Refusal{"a sum that leaves a number"};
  c.p.exact_rank = c.source.count(Kind::sum) + c.target.count(Kind::sum) > 0;
  if (c.variables.size() > kMostVariables || c.source.operators() > static_cast<int>(kMostOperators)) return base::Refusal{"too large"};
  if (const int masks = c.source.count(Kind::dropout); masks > 1 || masks != c.target.count(Kind::dropout))
    return base::Refusal{"a dropout that is made or goes"};
  if (!knows_its_sizes(c.source, c.variables)) return base::Refusal{"nothing says where the target cuts"};
  add_variables(c);
  for (std::size_t n = 0; n < c.source.nodes.size(); ++n)
    if (!add_operator(c, n, rule.source_types())) return base::Refusal{"arithmetic of numbers alone"};
  for (std::uint8_t o : c.source.outputs) {
    if (c.source.nodes[o].kind == Kind::variable) return base::Refusal{"an output that is a variable"};
    c.p.operators[c.operator_of[o]].is_output = true;
  }
  for (std::size_t o = 0; o < c.p.operators.size(); ++o) {
    c.p.paths.push_back(path_from(c, static_cast<std::uint8_t>(o)));
    if (c.p.paths.back().size() + 1 != c.p.operators.size()) return base::Refusal{"the source does not hang together"};
  }
  find_packed(c, rule.source_types());
  find_row_choice(c);
  return std::move(c.p);
}

std::optional<int> degree_at(Degree symbols, const std::array<int, 2>& degrees) {
  std::int64_t v = 1;
  for (std::size_t s = 0; s < symbols.powers.size(); ++s)
    for (int i = 0; i < symbols.powers[s]; ++i) {
      v *= s < 2 ? degrees[s] : 2;
      if (v > pcg::kMostShards) return std::nullopt;
    }
  return static_cast<int>(v);
}

std::optional<std::array<int, 2>> solve(std::span<const DegreeEquation> equations) {
  std::array<int, 2> d{};
  for (std::size_t round = 0; round < 2; ++round)
    for (const DegreeEquation& e : equations) {
      const std::optional<int> known = degree_at(e.symbols, {std::max(d[0], 1), std::max(d[1], 1)});
      if (!known || e.value % *known != 0) return std::nullopt;
      const int rest = e.value / *known;
      const auto is_unknown = [&](std::size_t s) { return d[s] == 0 && e.symbols.powers[s] > 0; };
      if (is_unknown(0) && is_unknown(1)) continue;
      if (!is_unknown(0) && !is_unknown(1)) {
        if (rest != 1) return std::nullopt;
        continue;
      }
      const std::size_t unknown = is_unknown(0) ? 0 : 1;
      const int power = e.symbols.powers[unknown];
      const auto root = static_cast<int>(std::lround(std::pow(static_cast<double>(rest), 1.0 / power)));
      std::int64_t back = 1;
      for (int i = 0; i < power; ++i) back *= root;
      if (root < 2 || back != rest) return std::nullopt;
      d[unknown] = root;
    }
  return d;
}

}  // namespace rules
