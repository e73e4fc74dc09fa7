#include "search/rules/generation/prune.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/check.hpp"
#include "search/rules/language/text.hpp"
#include "search/rules/language/typing.hpp"

namespace rules {
namespace {

constexpr std::uint8_t kUnbound = 255;
using Goal = std::pair<std::uint8_t, std::uint8_t>;  // a node of the general equation, one of the special one

Degree exchanged(Degree d) {
  std::swap(d.powers[0], d.powers[1]);
  return d;
}

class Matching {
 public:
  Matching(const Joint& general, const Joint& special, bool ordered_summands)
      : g_(general), s_(special), ordered_summands_(ordered_summands), bound_(general.variables.size(), kUnbound) {}

  // Tries the names of the degrees as they are, then exchanged, which may make a difference where an operator has one.
  bool match_up_to_degrees(bool swapped) {
    exchange_ = false;
    if (match(swapped)) return true;
    exchange_ = true;
    const bool named = std::ranges::any_of(s_.term.nodes, [](const Node& n) { return n.degree != exchanged(n.degree); });
    return named && match(swapped);
  }
  const std::vector<std::uint8_t>& bound() const { return bound_; }

 private:
  // `swapped`: the left side of the general equation is held against the right side of the special one.
  bool match(bool swapped) {
    std::ranges::fill(bound_, kUnbound);
    std::vector<Goal> goals;
    for (std::size_t i = 0; i < g_.term.outputs.size(); ++i) {
      const std::size_t j = swapped ? (i + g_.outputs) % g_.term.outputs.size() : i;
      goals.emplace_back(g_.term.outputs[i], s_.term.outputs[j]);
    }
    return solve(std::move(goals), {});
  }

  bool solve(std::vector<Goal> goals, std::vector<Goal> sized) {
    while (!goals.empty()) {
      const auto [p, t] = goals.back();
      goals.pop_back();
      const Node &a = g_.term.nodes[p], &b = s_.term.nodes[t];
      if (a.kind == Kind::variable) {
        std::uint8_t& to = bound_[a.variable];
        if (to != kUnbound && to != t) return false;
        to = t;
        continue;
      }
      if (a.kind != b.kind || a.function != b.function || a.axis != b.axis || a.degree != (exchange_ ? exchanged(b.degree) : b.degree))
        return false;
      if (a.at != Numbers{}) sized.emplace_back(p, t);
      const bool commutes = is_commutative(a.kind) && !(ordered_summands_ && a.kind == Kind::summands);
      // The inputs of a commutative operator are tried swapped first, then as they are. Equal inputs have one order.
      if (commutes && a.inputs[0] != a.inputs[1] && b.inputs[0] != b.inputs[1]) {
        const std::vector<std::uint8_t> before = bound_;
        std::vector<Goal> other = goals;
        other.emplace_back(a.inputs[0], b.inputs[1]);
        other.emplace_back(a.inputs[1], b.inputs[0]);
        if (solve(std::move(other), sized)) return true;
        bound_ = before;
      }
      for (std::size_t i = 0; i < a.inputs.size(); ++i) goals.emplace_back(a.inputs[i], b.inputs[i]);
    }
    return sizes_agree(sized);
  }

  // Dims of equal size stand for dims of equal size; cuts and constants are where those dims say.
  bool sizes_agree(const std::vector<Goal>& sized) const {
    std::map<Numbers, Numbers> sizes;
    for (std::size_t v = 0; v < bound_.size(); ++v) {
      const Types &a = g_.variables[v].types, &b = s_.types[bound_[v]];
      if (a[0].rank != b[0].rank || a[0].index != b[0].index) return false;
      for (std::size_t d = 0; d < a[0].rank; ++d) {
        const auto [it, fresh] = sizes.try_emplace(dim_size(a, d), dim_size(b, d));
        if (!fresh && it->second != dim_size(b, d)) return false;
      }
    }
    for (const auto& [p, t] : sized) {
      const Node &a = g_.term.nodes[p], &b = s_.term.nodes[t];
      if (is_split(a.kind) && !dims_adding_to(a.at, g_.variables)) {
        if (!parts_agree(a, b, sizes)) return false;
        continue;
      }
      if (sum_of(a.at) != b.at || (a.by != Numbers{} && sum_of(a.by) != b.by)) return false;
    }
    return true;
  }
  // A split where no dims say: each of its parts stands for one size.
  bool parts_agree(const Node& a, const Node& b, std::map<Numbers, Numbers>& sizes) const {
    const Numbers rest_a = minus(dim_size(g_.types[a.inputs[0]], a.axis), a.at);
    const Numbers rest_b = minus(dim_size(s_.types[b.inputs[0]], b.axis), b.at);
    for (const auto& [part, stands_for] : {std::pair(a.at, b.at), std::pair(rest_a, rest_b)})
      if (const auto [it, fresh] = sizes.try_emplace(part, stands_for); !fresh && it->second != stands_for) return false;
    return true;
  }
  std::optional<Numbers> sum_of(const Numbers& n) const {
    const auto dims = dims_adding_to(n, g_.variables);
    if (!dims) return std::nullopt;
    Numbers sum{};
    for (const VariableDim& d : *dims) sum = plus(sum, dim_size(s_.types[bound_[d.variable]], d.dim));
    return sum;
  }

  const Joint& g_;
  const Joint& s_;
  bool ordered_summands_;
  std::vector<std::uint8_t> bound_;
  bool exchange_ = false;  // d of the special equation is e of the general one
};

std::vector<std::uint8_t> append(std::vector<Node>& to, const Term& t) {
  const auto offset = static_cast<std::uint8_t>(to.size());
  std::vector<std::uint8_t> outputs = t.outputs;
  for (std::uint8_t& o : outputs) o = static_cast<std::uint8_t>(o + offset);
  for (Node n : t.nodes) {
    for (std::uint8_t& i : n.inputs) i = static_cast<std::uint8_t>(i + offset);
    to.push_back(std::move(n));
  }
  return outputs;
}

// Layouts and sizes apart, the equation with its variables numbered in the order in which they occur: finds most renamings at once.
std::string shape_text(const Joint& j) {
  std::vector<Variable> named = j.variables;
  std::vector<bool> met(named.size());
  std::size_t next = 0;
  const auto visit = [&](auto&& self, std::uint8_t at) -> void {
    const Node& n = j.term.nodes[at];
    if (n.kind == Kind::variable && !met[n.variable]) {
      met[n.variable] = true;
      named[n.variable].name = std::to_string(next++);
    }
    for (const std::uint8_t i : n.inputs) self(self, i);
  };
  for (const std::uint8_t o : j.term.outputs) visit(visit, o);
  return to_text(j.term, named);
}

// Everything of an operator that an instance keeps, which is not the names of d and e. Equal codes cost time only: instance() decides.
std::uint64_t operator_code(const Node& n) {
  const auto [fewer, more] = std::minmax(n.degree.powers[0], n.degree.powers[1]);
  return static_cast<std::uint64_t>(n.kind) | static_cast<std::uint64_t>(n.function) << 8U | std::uint64_t{n.axis} << 16U |
         std::uint64_t{fewer} << 24U | std::uint64_t{more} << 28U | std::uint64_t{n.degree.powers[2]} << 32U;
}

// The outermost operators of one side: what it must have in common with any equation that it is a special case of.
std::uint64_t side_code(const Joint& j, std::size_t from) {
  std::uint64_t code = 0;
  for (std::size_t i = 0; i < j.outputs; ++i) code = code * 1000003 + operator_code(j.term.nodes[j.term.outputs[from + i]]);
  return code;
}

struct Candidate {
  std::string text;
  Joint joint;
};

class Pruner {
 public:
  explicit Pruner(Pruned& counts) : counts_(counts) {}

  void add(Candidate&& c) {
    const std::uint64_t left = side_code(c.joint, 0), right = side_code(c.joint, c.joint.outputs);
    // A variable as a whole side stands for anything: such equations are compared by their other side.
    for (const std::uint64_t key : {code(left, right), code(right, left), code(left, kAny), code(right, kAny)}) {
      const auto it = by_code_.find(key);
      if (it == by_code_.end()) continue;
      for (const std::size_t k : it->second)
        if (const auto bound = instance(kept[k], c.joint)) return count(*bound, c.joint);
    }
    const bool l = bare(c.joint, 0), r = bare(c.joint, c.joint.outputs);
    if (!l || !r) by_code_[code(l ? right : left, l || r ? kAny : right)].push_back(kept.size());
    kept.push_back(std::move(c.joint));
  }

  std::vector<Joint> kept;

 private:
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};

  static std::uint64_t code(std::uint64_t left, std::uint64_t right) { return left * 31 + right; }
  // Returns whether some output of a side is a mere variable.
  static bool bare(const Joint& j, std::size_t from) {
    return std::ranges::any_of(std::span(j.term.outputs).subspan(from, j.outputs),
                               [&](std::uint8_t o) { return j.term.nodes[o].kind == Kind::variable; });
  }

  void count(const std::vector<std::uint8_t>& bound, const Joint& special) {
    const bool all_variables = std::ranges::all_of(bound, [&](std::uint8_t n) { return special.term.nodes[n].kind == Kind::variable; });
    const std::set<std::uint8_t> distinct(bound.begin(), bound.end());
    if (!all_variables) ++counts_.common;
    else if (distinct.size() < bound.size()) ++counts_.implied;
    else ++counts_.renamed;
  }

  Pruned& counts_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_code_;
};

// "x0" alone -> "x"; what generalization named t (any tensor) takes the first of these letters that is free.
void shorten_names(std::vector<Variable>& variables) {
  const auto count = [&](char letter) { return std::ranges::count_if(variables, [&](const Variable& v) { return v.name[0] == letter; }); };
  for (Variable& v : variables) {
    if (v.name[0] == 't')
      for (const char c : std::string_view("xyzpqr"))
        if (count(c) == 0) {
          v.name = std::string(1, c);
          break;
        }
    if (count(v.name[0]) == 1) v.name.resize(1);
  }
}

// Small and general equations come first, so that their special cases meet them; the text breaks ties.
bool by_size(const Candidate& a, const Candidate& b) {
  const auto measures = [](const Candidate& c) {
    return std::tuple(c.joint.operators_left + c.joint.operators_right, -std::ssize(c.joint.variables), c.text.size(),
                      std::string_view(c.text));
  };
  return measures(a) < measures(b);
}

Candidate candidate(Joint j) {
  std::string text = to_text(j.term, j.variables);
  return {std::move(text), std::move(j)};
}

}  // namespace

Joint join(const Equation& e) {
  Joint j;
  std::vector<std::uint8_t> number(e.variables.size());  // of used variables
  for (std::size_t v = 0; v < number.size(); ++v)
    if (uses(e.left, v) || uses(e.right, v)) {
      number[v] = static_cast<std::uint8_t>(j.variables.size());
      j.variables.push_back(e.variables[v]);
    }
  j.term.outputs = append(j.term.nodes, e.left);
  for (const std::uint8_t o : append(j.term.nodes, e.right)) j.term.outputs.push_back(o);
  for (Node& n : j.term.nodes)
    if (n.kind == Kind::variable) n.variable = number[n.variable];
  j.term = canonical(j.term);
  j.outputs = e.left.outputs.size();
  j.operators_left = e.left.operators();
  j.operators_right = e.right.operators();
  auto types = types_of(j.term, j.variables);
  BASE_CHECK(types.has_value(), "an equation is ill typed");
  j.types = std::move(*types);
  return j;
}

Equation separate(const Joint& j) {
  Equation e{j.variables, j.term, j.term};
  const auto middle = j.term.outputs.begin() + static_cast<std::ptrdiff_t>(j.outputs);
  e.left.outputs.assign(j.term.outputs.begin(), middle);
  e.right.outputs.assign(middle, j.term.outputs.end());
  e.left = canonical(e.left);
  e.right = canonical(e.right);
  return e;
}

std::optional<std::vector<std::uint8_t>> instance(const Joint& general, const Joint& special) {
  if (general.term.outputs.size() != special.term.outputs.size()) return std::nullopt;
  Matching m(general, special, false);
  return m.match_up_to_degrees(false) || m.match_up_to_degrees(true) ? std::optional(m.bound()) : std::nullopt;
}

// Names that turn the left side into the right one and the right into the left have an inverse: they only rename.
bool is_symmetric(const Joint& j) { return Matching(j, j, true).match_up_to_degrees(true); }

Pruned prune(const std::vector<Equation>& equations) {
  std::vector<Candidate> candidates;
  std::unordered_set<std::string> seen;
  Pruned result;
  for (const Equation& e : equations) {
    Joint j = join(e);
    if (!expressible(j)) continue;
    if (seen.insert(shape_text(j)).second) candidates.push_back(candidate(std::move(j)));
    else ++result.renamed;
  }
  // Special cases of what was found, then of what that is a special case of itself.
  for (const bool general : {false, true}) {
    std::ranges::stable_sort(candidates, by_size);
    Pruner pruner(result);
    for (Candidate& c : candidates) pruner.add(std::move(c));
    candidates.clear();
    for (Joint& j : pruner.kept) {
      if (general) candidates.push_back(candidate(std::move(j)));
      else if (!holds(j)) ++result.refuted;
      else if (shares_by_coincidence(j)) ++result.implied;
      else candidates.push_back(candidate(generalize(std::move(j))));
    }
  }
  std::ranges::stable_sort(candidates, by_size);
  for (const Candidate& c : candidates) {
    result.equations.push_back(separate(c.joint));
    shorten_names(result.equations.back().variables);
  }
  return result;
}

}  // namespace rules
