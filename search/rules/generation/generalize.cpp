#include "search/rules/generation/prune.hpp"
#include "search/rules/language/text.hpp"
#include "search/rules/language/typing.hpp"
#include "search/rules/semantics/values.hpp"

#include <algorithm>
#include <map>

namespace rules {
namespace {

constexpr std::size_t kMostUses = 8;  // of one variable: 2^7 ways to distinguish them
constexpr std::size_t kMostUnfoldedUses = 10;
constexpr std::size_t kMostNodes = 60;

std::string fresh_name(const std::vector<Variable>& variables, const std::string& like) {
  for (int i = 2;; ++i) {
    std::string name = like.substr(0, 1) + std::to_string(i);
    if (std::ranges::none_of(variables, [&](const Variable& v) { return v.name == name; })) return name;
  }
}

// The equation that `t` says with these variables, if it is true, well typed and can be written.
std::optional<Joint> accept(const Joint& from, std::vector<Variable> variables, const Term& t) {
  Joint j{.variables = std::move(variables), .term = t, .types = {}, .outputs = from.outputs};
  Equation e = separate(j);
  if (!types_of(e.left, e.variables) || !types_of(e.right, e.variables)) return std::nullopt;
  j = join(e);
  for (std::size_t i = 0; i < j.outputs; ++i)
    if (j.types[j.term.outputs[i]] != j.types[j.term.outputs[i + j.outputs]]) return std::nullopt;
  return expressible(j) && holds(j) ? std::optional(std::move(j)) : std::nullopt;
}

std::optional<Joint> free_operator(const Joint& j) {
  for (std::size_t at = j.term.nodes.size(); at-- > 0;) {
    if (j.term.nodes[at].kind == Kind::variable ||
        std::ranges::count(j.term.outputs, at) == static_cast<std::ptrdiff_t>(j.term.outputs.size()))
      continue;
    Term t = j.term;
    std::vector<Variable> variables = j.variables;
    t.nodes[at] = {.kind = Kind::variable, .variable = static_cast<std::uint8_t>(variables.size())};
    variables.push_back({fresh_name(variables, j.types[at][0].rank == 1 ? "b" : "t"), j.types[at]});
    if (auto more = accept(j, std::move(variables), t)) return more;
  }
  return std::nullopt;
}

Numbers replaced(Numbers n, char letter, const Numbers& by) {
  for (auto times = std::ranges::count(letters_of(n).value_or(""), letter); times > 0; --times) n = plus(minus(n, symbol(letter)), by);
  return n;
}

void replace_everywhere(Term& t, char letter, const Numbers& by) {
  for (Node& n : t.nodes) {
    n.at = replaced(n.at, letter, by);
    n.by = replaced(n.by, letter, by);
  }
}

// In one dim.
void replace_size(Types& t, std::size_t dim, char letter, const Numbers& by) {
  const Numbers n = replaced(dim_size(t, dim), letter, by);
  for (std::size_t a = 0; a < n.size(); ++a) t[a].size[dim] = n[a];
}

// Where a term reads a node.
std::vector<std::uint8_t*> uses_of(Term& t, std::uint8_t node) {
  std::vector<std::uint8_t*> uses;
  for (Node& n : t.nodes)
    for (std::uint8_t& i : n.inputs)
      if (i == node) uses.push_back(&i);
  for (std::uint8_t& o : t.outputs)
    if (o == node) uses.push_back(&o);
  return uses;
}

// Some uses of a variable become those of a new one of its types.
std::optional<Joint> free_uses(const Joint& j) {
  for (std::uint8_t at = 0; at < j.term.nodes.size() && j.term.nodes[at].kind == Kind::variable; ++at) {
    Term t = j.term;
    t.nodes.push_back({.kind = Kind::variable, .variable = static_cast<std::uint8_t>(j.variables.size())});  // accept() puts it first
    const std::vector<std::uint8_t*> uses = uses_of(t, at);
    if (uses.size() < 2 || uses.size() > kMostUses) continue;
    const Variable& old = j.variables[j.term.nodes[at].variable];
    std::vector<Variable> variables = j.variables;
    variables.push_back({fresh_name(variables, old.name), old.types});
    for (std::size_t chosen = 2; chosen < (std::size_t{1} << uses.size()); chosen += 2) {  // the first use stays
      for (std::size_t u = 0; u < uses.size(); ++u)
        *uses[u] = (chosen >> u & 1U) != 0 ? static_cast<std::uint8_t>(j.term.nodes.size()) : at;
      if (auto more = accept(j, variables, t)) return more;
    }
  }
  return std::nullopt;
}

// A size symbol becomes another one in some dims of the variables, and in every cut and constant or in none.
std::optional<Joint> free_sizes(const Joint& j) {
  std::map<char, std::vector<VariableDim>> dims;
  for (std::uint8_t v = 0; v < j.variables.size(); ++v)
    for (std::uint8_t d = 0; d < j.variables[v].types[0].rank; ++d) {
      const auto letters = letters_of(dim_size(j.variables[v].types, d));
      for (std::size_t i = 0; letters && i < letters->size(); ++i)
        if (i == 0 || (*letters)[i] != (*letters)[i - 1]) dims[(*letters)[i]].push_back({v, d});
    }
  char fresh = 'a';
  while (dims.contains(fresh)) ++fresh;
  if (fresh > 'z') return std::nullopt;
  for (const auto& [letter, places] : dims) {
    if (places.size() < 2 || places.size() > kMostUnfoldedUses) continue;
    for (std::size_t chosen = 2; chosen < (std::size_t{1} << places.size()); chosen += 2) {
      std::vector<Variable> variables = j.variables;
      for (std::size_t p = 0; p < places.size(); ++p)
        if ((chosen >> p & 1U) != 0) replace_size(variables[places[p].variable].types, places[p].dim, letter, symbol(fresh));
      if (auto more = accept(j, variables, j.term)) return more;
      Term t = j.term;
      replace_everywhere(t, letter, symbol(fresh));
      if (t == j.term) continue;
      if (auto more = accept(j, std::move(variables), t)) return more;
    }
  }
  return std::nullopt;
}

// Two size symbols that only ever occur as their sum become one, as nothing depends on what it is the sum of.
std::optional<Joint> join_sizes(const Joint& j) {
  std::vector<std::string> sizes;  // letters of every size that the equation names
  const auto add = [&](const Numbers& n) { sizes.push_back(letters_of(n).value_or("")); };
  for (const Variable& v : j.variables)
    for (std::size_t d = 0; d < v.types[0].rank; ++d) add(dim_size(v.types, d));
  for (const Node& n : j.term.nodes) add(n.at), add(n.by);
  for (char a = 'a'; a <= 'z'; ++a)
    for (char b = static_cast<char>(a + 1); b <= 'z'; ++b) {
      const bool together =
          std::ranges::all_of(sizes, [&](const std::string& s) { return std::ranges::count(s, a) == std::ranges::count(s, b); });
      if (!together || std::ranges::none_of(sizes, [&](const std::string& s) { return s.find(a) != std::string::npos; })) continue;
      std::vector<Variable> variables = j.variables;
      for (Variable& v : variables)
        for (std::size_t d = 0; d < v.types[0].rank; ++d) replace_size(v.types, d, b, {});
      Term t = j.term;
      replace_everywhere(t, b, {});
      if (auto more = accept(j, std::move(variables), t)) return more;
    }
  return std::nullopt;
}

// Every use of a node gets its own copy; what two outputs of a side are parts of stays one.
class Unfolding {
 public:
  explicit Unfolding(const Joint& j) : from_(j.term) {
    for (std::size_t o = 0; o < from_.outputs.size(); ++o) {
      if (o % j.outputs == 0) shared_.clear();
      tree.outputs.push_back(output(from_.outputs[o]));
    }
  }
  Term tree;

 private:
  std::uint8_t output(std::uint8_t at) {
    Node n = from_.nodes[at];
    if (!is_split(n.kind)) return copy(at);
    const auto [it, fresh] = shared_.try_emplace(n.inputs[0], 0);
    if (fresh) it->second = copy(n.inputs[0]);
    n.inputs[0] = it->second;
    return append(std::move(n));
  }
  std::uint8_t copy(std::uint8_t at) {
    Node n = from_.nodes[at];
    for (std::uint8_t& i : n.inputs) i = copy(i);
    return append(std::move(n));
  }
  std::uint8_t append(Node n) {
    tree.nodes.push_back(std::move(n));
    return static_cast<std::uint8_t>(tree.nodes.size() - 1);
  }

  const Term& from_;
  std::map<std::uint8_t, std::uint8_t> shared_;
};

}  // namespace

bool expressible(const Joint& j) {
  for (const Variable& v : j.variables)
    for (std::size_t d = 0; d < v.types[0].rank; ++d)
      if (!letters_of(dim_size(v.types, d))) return false;
  return std::ranges::all_of(j.term.nodes, [&](const Node& n) {
    return !size_condition(n, j.types) && (n.at == Numbers{} || names_size(n, n.at, j.variables)) &&
           (n.by == Numbers{} || names_size(n, n.by, j.variables));
  });
}

bool holds(const Joint& j) {
  for (std::uint64_t seed = 10; seed < 26; ++seed) {
    const std::vector<Value> values = values_of(j.term, j.variables, SmallSizes(j.variables, seed), seed);
    for (std::size_t i = 0; i < j.outputs; ++i)
      if (values[j.term.outputs[i]] != values[j.term.outputs[i + j.outputs]]) return false;
  }
  return true;
}

bool shares_by_coincidence(const Joint& j) {
  const Term tree = Unfolding(j).tree;
  if (tree.nodes.size() > kMostNodes) return false;
  for (std::uint8_t v = 0; v < j.variables.size(); ++v) {
    std::vector<std::size_t> uses;
    for (std::size_t n = 0; n < tree.nodes.size(); ++n)
      if (tree.nodes[n].kind == Kind::variable && tree.nodes[n].variable == v) uses.push_back(n);
    if (uses.size() < 2) continue;
    if (uses.size() > kMostUnfoldedUses) return true;  // a variable used so often in a few operators
    std::vector<Variable> variables = j.variables;
    variables.push_back({fresh_name(variables, j.variables[v].name), j.variables[v].types});
    for (std::size_t chosen = 2; chosen < (std::size_t{1} << uses.size()); chosen += 2) {
      Term t = tree;
      for (std::size_t u = 0; u < uses.size(); ++u)
        if ((chosen >> u & 1U) != 0) t.nodes[uses[u]].variable = static_cast<std::uint8_t>(j.variables.size());
      const auto more = accept(j, variables, t);
      if (more && (more->operators_left > j.operators_left || more->operators_right > j.operators_right)) return true;
    }
  }
  return false;
}

Joint generalize(Joint j) {
  while (true) {
    if (auto more = free_operator(j)) j = std::move(*more);
    else if (auto uses = free_uses(j)) j = std::move(*uses);
    else if (auto sizes = free_sizes(j)) j = std::move(*sizes);
    else if (auto fewer = join_sizes(j)) j = std::move(*fewer);
    else return j;
  }
}

}  // namespace rules
