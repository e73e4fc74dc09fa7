#include "search/rules/matching/pattern.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace rules {
namespace {

// Kinds that stand in proofs and in rules of kernels only: no graph has constants or enlarged kernels.
bool is_foreign(Kind k) { return k == Kind::enlarge || is_constant(k); }

class Compiler {
 public:
  Compiler(const Rule& rule, std::string* why)
      : source_(rule.source()),
        target_(rule.target()),
        source_types_(rule.source_types()),
        target_types_(rule.target_types()),
        variables_(rule.equation.variables()),
        why_(why) {}

  std::optional<Pattern> run() {
    for (const Term* t : {&source_, &target_})
      for (const Node& n : t->nodes)
        if (is_foreign(n.kind)) return refuse(fmt::format("no graph has {}", name_of(n.kind)));
    if (sums_to_number(source_, source_types_) || sums_to_number(target_, target_types_)) return refuse("a sum that leaves a number");
    p_.exact_rank = has_sum(source_) || has_sum(target_);
    if (variables_.size() > kMostVariables || source_.operators() > static_cast<int>(kMostOperators)) return refuse("too large");
    if (masks(source_) != masks(target_) || masks(source_) > 1) return refuse("a dropout that is made or goes");
    if (!knows_its_sizes(source_, variables_)) return refuse("nothing says where the target cuts");
    add_variables();
    for (std::size_t n = 0; n < source_.nodes.size(); ++n)
      if (!add_operator(n, source_types_)) return refuse("arithmetic of numbers alone");
    for (std::uint8_t o : source_.outputs) {
      if (source_.nodes[o].kind == Kind::variable) return refuse("an output that is a variable");
      p_.outputs.push_back(operator_of_[o]);
      p_.operators[operator_of_[o]].is_output = true;
    }
    for (std::size_t o = 0; o < p_.operators.size(); ++o) {
      p_.paths.push_back(path_from(static_cast<std::uint8_t>(o)));
      if (p_.paths.back().size() + 1 != p_.operators.size()) return refuse("the source does not hang together");
    }
    find_packed(source_types_);
    find_row_choice();
    return std::move(p_);
  }

 private:
  std::optional<Pattern> refuse(std::string reason) {
    if (why_) *why_ = std::move(reason);
    return std::nullopt;
  }

  static std::ptrdiff_t masks(const Term& t) { return std::ranges::count(t.nodes, Kind::dropout, &Node::kind); }

  static bool has_sum(const Term& t) { return std::ranges::count(t.nodes, Kind::sum, &Node::kind) > 0; }
  static bool sums_to_number(const Term& t, const std::vector<Types>& types) {
    for (std::size_t n = 0; n < t.nodes.size(); ++n)
      if (t.nodes[n].kind == Kind::sum && types[n][0].rank == 0) return true;
    return false;
  }

  void add_variables() {
    for (const Variable& v : variables_) {
      PatternVariable& pv = p_.variables.emplace_back();
      pv.rank = v.types[0].rank;
      pv.index = v.types[0].index;
      pv.scalar = pv.rank == 0;
      for (std::size_t d = 0; d < pv.rank; ++d) pv.sizes[d] = size_text(dim_size(v.types, d));
    }
  }

  bool add_operator(std::size_t n, const std::vector<Types>& types) {
    const Node& node = source_.nodes[n];
    operator_of_.push_back(static_cast<std::uint8_t>(p_.operators.size()));
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
      const Node& in = source_.nodes[i];
      const bool variable = in.kind == Kind::variable;
      if (variable) p_.variables[in.variable].used = true;
      if (types[i][0].rank == 0) {
        if (!variable) return false;
        o.scalar = in.variable;
        continue;
      }
      if (o.slot_count == kMostInputs) return false;
      o.slots[o.slot_count++] = {variable, variable ? in.variable : operator_of_[i]};
    }
    find_window(node, types, o);
    find_half(n, o);
    p_.split_at.push_back(size_text(node.at));
    p_.degrees.push_back(node.degree);
    p_.operators.push_back(o);
    return true;
  }

  // The laws of convolutions and pools that rules of PCGs can use (linearity, samples, channels, groups) hold for every window and
  // stride; rows and columns may be cut wherever typing lets them be (pcg::Loop::least). A kernel of 3 x 3 stands for any; a smaller one is
  // meant, with the padding that keeps the size.
  void find_window(const Node& node, const std::vector<Types>& types, PatternOperator& o) {
    if (is_pool(node.kind)) o.any_window = true;
    if (!is_convolution(node.kind)) return;
    const Type& w = types[node.inputs[1]][0];
    o.any_window = w.size[2] == 3 && w.size[3] == 3;
    o.window = same_window(static_cast<int>(w.size[2]), static_cast<int>(w.size[3]));
    if (o.any_window) mark_kernel(node.inputs[1]);
  }
  // Kernels come through what works on output and input channels alone.
  void mark_kernel(std::uint8_t n) {
    const Node& node = source_.nodes[n];
    if (node.kind == Kind::variable) p_.variables[node.variable].kernel = true;
    for (std::uint8_t i : node.inputs) mark_kernel(i);
  }

  void find_packed(const std::vector<Types>& types) {
    for (const Node& n : source_.nodes) {
      if (n.kind != Kind::attention) continue;
      const Types& t = types[n.inputs[0]];
      const std::string packed = size_text(dim_size(t, 2)).letters;
      for (PatternVariable& v : p_.variables)
        for (std::size_t d = 0; d < v.rank; ++d) {
          if (d == 2 && v.sizes[d].letters == packed) v.packed = true;
          else if (v.sizes[d].letters.find_first_of(packed) != std::string::npos) p_.any_heads = false;
        }
    }
  }

  void find_half(std::size_t n, PatternOperator& o) {
    const Node& node = source_.nodes[n];
    if (!is_split(node.kind)) return;
    o.other_code = node.kind == Kind::split0 ? kFirstPart : kLastPart;
    for (std::size_t m = 0; m < n; ++m) {
      const Node& other = source_.nodes[m];
      const bool halves = is_split(other.kind) && other.kind != node.kind;
      if (!halves || other.inputs != node.inputs || other.axis != node.axis || other.at != node.at) continue;
      o.half = operator_of_[m];
      p_.operators[operator_of_[m]].half = static_cast<int>(p_.operators.size());
      o.other_code = p_.operators[operator_of_[m]].other_code = kNoCode;
    }
  }

  // Breadth first; producers before readers, readers before those that share a variable: the fewer candidates, the earlier.
  [[nodiscard]] std::vector<Step> path_from(std::uint8_t start) const {
    std::vector<Step> path;
    std::vector<bool> bound(p_.operators.size());
    bound[start] = true;
    while (const std::optional<Step> s = next(bound)) {
      bound[s->to] = true;
      path.push_back(*s);
    }
    return path;
  }
  [[nodiscard]] std::optional<Step> next(const std::vector<bool>& bound) const {
    std::optional<Step> reader, shared;
    for (std::uint8_t o = 0; o < p_.operators.size(); ++o) {
      const PatternOperator& op = p_.operators[o];
      for (std::uint8_t i = 0; i < op.slot_count; ++i) {
        const Slot s = op.slots[i];
        if (!s.variable && bound[o] && !bound[s.index]) return Step{Step::By::producer, s.index, o, i};
        if (!s.variable && !bound[o] && bound[s.index]) reader = Step{Step::By::reader, o, s.index, i};
        if (s.variable && !bound[o] && is_read(s.index, bound)) shared = Step{Step::By::shared, o, s.index, i};
      }
    }
    return reader ? reader : shared;
  }
  [[nodiscard]] bool is_read(std::uint8_t variable, const std::vector<bool>& bound) const {
    for (std::size_t o = 0; o < bound.size(); ++o)
      for (std::size_t i = 0; bound[o] && i < p_.operators[o].slot_count; ++i)
        if (p_.operators[o].slots[i].variable && p_.operators[o].slots[i].index == variable) return true;
    return false;
  }

  void find_row_choice() {
    for (std::size_t n = 0; n < target_.nodes.size(); ++n) {
      const Node& node = target_.nodes[n];
      if ((!has_axis(node.kind) || node.axis != 0) && node.kind != Kind::transpose) continue;
      const std::uint8_t v = leading_variable(target_, static_cast<std::uint8_t>(n));
      if (std::ranges::find(p_.row_choice, v) == p_.row_choice.end()) p_.row_choice.push_back(v);
    }
  }

  const Term& source_;
  const Term& target_;
  const std::vector<Types>&source_types_, &target_types_;  // by node
  const std::vector<Variable>& variables_;
  std::string* why_;
  std::vector<std::uint8_t> operator_of_;  // by node of the source
  Pattern p_;
};

}  // namespace

std::optional<Pattern> compile(const Rule& rule, std::string* why) { return Compiler(rule, why).run(); }

std::uint8_t leading_variable(const Term& t, std::uint8_t node) {
  while (t.nodes[node].kind != Kind::variable) node = t.nodes[node].inputs[0];
  return t.nodes[node].variable;
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
      std::int64_t rest = e.value;
      int unknown = -1;
      bool open = false;
      for (std::size_t s = 0; s < 3; ++s) {
        if (s < 2 && d[s] == 0 && e.symbols.powers[s] > 0) {
          open = open || unknown >= 0;
          unknown = static_cast<int>(s);
          continue;
        }
        for (int i = 0; i < e.symbols.powers[s]; ++i) {
          const int by = s < 2 ? d[s] : 2;
          if (rest % by != 0) return std::nullopt;
          rest /= by;
        }
      }
      if (open) continue;
      if (unknown < 0) {
        if (rest != 1) return std::nullopt;
        continue;
      }
      const int power = e.symbols.powers[static_cast<std::size_t>(unknown)];
      const auto root = static_cast<int>(std::lround(std::pow(static_cast<double>(rest), 1.0 / power)));
      std::int64_t back = 1;
      for (int i = 0; i < power; ++i) back *= root;
      if (root < 2 || back != rest) return std::nullopt;
      d[static_cast<std::size_t>(unknown)] = root;
    }
  return d;
}

}  // namespace rules
