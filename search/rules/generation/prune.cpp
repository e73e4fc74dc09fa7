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
