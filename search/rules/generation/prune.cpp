#include "search/rules/generation/prune.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "search/rules/language/text.hpp"

namespace rules {
namespace {

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

// Everything of an operator that an instance keeps, which is not the names of d and e. Codes that coincide cost time only: instance()
// decides.
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
  int operators = 0, widest = 0;
  std::string text;
  Joint joint;
};

class Pruner {
 public:
  explicit Pruner(Pruned& counts) : counts_(counts) {}

  void add(Candidate&& c) {
    const auto [left, right] = codes(c.joint);
    // A variable as a whole side stands for anything: such equations are compared by their other side.
    bool dropped = false;
    for (const auto& key : {std::pair(left, right), std::pair(right, left), std::pair(left, kAny), std::pair(right, kAny)}) {
      const auto it = by_code_.find(key.first * 31 + key.second);
      if (it == by_code_.end()) continue;
      for (const std::size_t k : it->second)
        if (const auto bound = instance(kept[k], c.joint)) {
          count(*bound, c.joint);
          dropped = true;
          break;
        }
      if (dropped) return;
    }
    for (const auto& key : keys(c.joint, left, right)) by_code_[key.first * 31 + key.second].push_back(kept.size());
    kept.push_back(std::move(c.joint));
  }

  std::vector<Joint> kept;

 private:
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};

  static std::pair<std::uint64_t, std::uint64_t> codes(const Joint& j) { return {side_code(j, 0), side_code(j, j.outputs)}; }
  // Returns whether some output of a side is a mere variable.
  static bool bare(const Joint& j, std::size_t from) {
    for (std::size_t i = 0; i < j.outputs; ++i)
      if (j.term.nodes[j.term.outputs[from + i]].kind == Kind::variable) return true;
    return false;
  }
  static std::vector<std::pair<std::uint64_t, std::uint64_t>> keys(const Joint& j, std::uint64_t left, std::uint64_t right) {
    const bool l = bare(j, 0), r = bare(j, j.outputs);
    if (l && r) return {};
    if (l) return {{right, kAny}};
    if (r) return {{left, kAny}};
    return {{left, right}};
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
  return std::tuple(a.operators, -a.widest, a.text.size(), std::string_view(a.text)) <
         std::tuple(b.operators, -b.widest, b.text.size(), std::string_view(b.text));
}

Candidate measured(Joint j) {
  Candidate c;
  c.operators = j.operators_left + j.operators_right;
  c.widest = static_cast<int>(j.variables.size());
  c.joint = std::move(j);
  c.text = to_text(c.joint.term, c.joint.variables);
  return c;
}

}  // namespace

Pruned prune(const std::vector<Equation>& equations) {
  std::vector<Candidate> candidates;
  std::unordered_set<std::string> seen;
  Pruned result;
  for (const Equation& e : equations) {
    Joint j = join(e);
    if (!expressible(j)) continue;
    if (seen.insert(shape_text(j)).second) candidates.push_back(measured(std::move(j)));
    else ++result.renamed;
  }
  // Special cases of what was found, then of what that is a special case of itself.
  for (const bool general : {false, true}) {
    std::ranges::stable_sort(candidates, by_size);
    Pruner pruner(result);
    for (Candidate& c : candidates) pruner.add(std::move(c));
    candidates.clear();
    for (Joint& j : pruner.kept) {
      if (general) candidates.push_back(measured(std::move(j)));
      else if (!holds(j)) ++result.refuted;
      else if (shares_by_coincidence(j)) ++result.implied;
      else candidates.push_back(measured(generalize(std::move(j))));
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
