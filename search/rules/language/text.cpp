#include "search/rules/language/text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "search/rules/language/text_reader.hpp"

namespace rules {
namespace {

using Variables = std::span<const Variable>;

bool adds_up(const Numbers& left, Variables variables, std::size_t from, int terms, std::vector<VariableDim>& chosen) {
  for (std::size_t v = from; v < variables.size(); ++v)
    for (std::size_t d = 0; d < variables[v].types[0].rank; ++d) {
      const Numbers n = dim_size(variables[v].types, d);
      chosen.push_back({static_cast<std::uint8_t>(v), static_cast<std::uint8_t>(d)});
      if (n == left) return true;
      const Numbers rest = minus(left, n);
      if (terms > 1 && std::ranges::min(rest) > 0 && adds_up(rest, variables, v, terms - 1, chosen)) return true;
      chosen.pop_back();
    }
  return false;
}

// Whether a size of the variables is a sum that has this letter.
bool is_letter_of(char letter, Variables variables) {
  for (const Variable& v : variables)
    for (std::size_t d = 0; d < v.types[0].rank; ++d)
      if (letters_of(dim_size(v.types, d)).value_or("").find(letter) != std::string::npos) return true;
  return false;
}

bool has_letters_of(const Numbers& size, Variables variables) {
  const auto letters = letters_of(size);
  return letters && !letters->empty() && std::ranges::all_of(*letters, [&](char c) { return is_letter_of(c, variables); });
}

// "w.1+u.1"
std::string dims_text(const Numbers& n, Variables variables) {
  const auto dims = dims_adding_to(n, variables);
  if (!dims && has_letters_of(n, variables)) return fmt::format("{}", fmt::join(letters_of(n).value(), "+"));
  if (!dims) throw std::logic_error(fmt::format("size {} is no sum of variables' dims", n[0]));
  std::string text;
  for (const VariableDim& d : *dims) text += fmt::format("{}{}.{}", text.empty() ? "" : "+", variables[d.variable].name, d.dim);
  return text;
}

// The text in the brackets; an optional function that is not there has none.
std::string attributes(const Node& n, Variables variables) {
  switch (facts_of(n.kind).parameters) {
    case Parameters::none:
    case Parameters::name: return "";
    case Parameters::function: return n.function == Function::none ? "" : fmt::format("[{}]", name_of(n.function));
    case Parameters::axis: return fmt::format("[{}]", n.axis);
    case Parameters::axis_position: return fmt::format("[{} at {}]", n.axis, dims_text(n.at, variables));
    case Parameters::size: return fmt::format("[{}]", dims_text(n.at, variables));
    case Parameters::two_sizes: return fmt::format("[{}, {}]", dims_text(n.at, variables), dims_text(n.by, variables));
    case Parameters::axis_and_degree: return fmt::format("[{}, {}]", n.axis, to_text(n.degree));
    case Parameters::degree: return fmt::format("[{}]", to_text(n.degree));
  }
  return "";
}

std::string node_text(const Term& t, std::size_t at, Variables variables) {
  const Node& n = t.nodes[at];
  if (n.kind == Kind::variable) return variables[n.variable].name;
  std::string text(n.kind == Kind::unary ? name_of(n.function) : name_of(n.kind));
  text += attributes(n, variables);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) text += (i == 0 ? "(" : ", ") + node_text(t, n.inputs[i], variables);
  return n.inputs.empty() ? text : text + ")";
}

// "2k+n"; a plain number as it is.
std::string written_size(const Numbers& n) {
  const std::optional<std::string> letters = letters_of(n);
  if (!letters) throw std::logic_error(fmt::format("size {} is no sum of letters", n[0]));
  if (letters->empty()) return std::to_string(n[0]);
  std::string text;
  for (std::size_t i = 0; i < letters->size();) {
    const char c = (*letters)[i];
    const auto count = static_cast<std::size_t>(std::ranges::count(*letters, c));
    text += fmt::format("{}{}{}", text.empty() ? "" : "+", count > 1 ? std::to_string(count) : "", c);
    i += count;
  }
  return text;
}

class TermReader {
 public:
  TermReader(std::string_view text, Variables variables) : r_(text), variables_(variables) {
    BASE_CHECK(variables.size() <= kMostTermNodes, "{} variables", variables.size());  // nodes number them by a byte
  }

  Term term() {
    do term_.outputs.push_back(node());
    while (r_.take(";"));
    r_.expect_end();
    return canonical(term_);
  }

 private:
  std::uint8_t append(Node n) {
    if (term_.nodes.size() >= kMostTermNodes) r_.fail("the term is too long");
    term_.nodes.push_back(std::move(n));
    return static_cast<std::uint8_t>(term_.nodes.size() - 1);
  }

  std::optional<std::uint8_t> variable(std::string_view name) const {
    const auto at = std::ranges::find(variables_, name, &Variable::name);
    return at == variables_.end() ? std::nullopt : std::optional(static_cast<std::uint8_t>(at - variables_.begin()));
  }

  // "w.1+u.1"; of a split also "k+l", letters of sizes.
  Numbers dims(bool or_letters = false) {
    Numbers n{};
    do {
      const std::size_t from = r_.position();
      const std::string_view name = r_.name();
      const bool dim_follows = r_.take(".");
      if (or_letters && !dim_follows && name.size() == 1 && is_letter_of(name[0], variables_)) {
        n = plus(n, symbol(name[0]));
        continue;
      }
      const auto v = variable(name);
      if (!v) r_.fail_at(from, fmt::format("\"{}\" is no variable", name));
      if (!dim_follows) r_.expect(".");
      const int dim = r_.number();
      const Types& t = variables_[*v].types;
      if (dim >= t[0].rank) r_.fail_at(from, fmt::format("{} has no dim {}", name, dim));
      n = plus(n, dim_size(t, static_cast<std::size_t>(dim)));
    } while (r_.take("+"));
    return n;
  }

  std::uint8_t axis() {
    const int a = r_.number();
    if (a >= kMostRank) r_.fail(fmt::format("axis {} is above {}", a, kMostRank - 1));
    return static_cast<std::uint8_t>(a);
  }

  void attributes(Node& n) {
    const Parameters parameters = facts_of(n.kind).parameters;
    if (parameters == Parameters::none || parameters == Parameters::name) return;
    // Without brackets an operator has no function built in.
    if (parameters == Parameters::function && !r_.take("[")) return;
    if (parameters != Parameters::function) r_.expect("[");
    if (has_axis(n.kind)) n.axis = axis();
    switch (parameters) {
      case Parameters::none:
      case Parameters::name:
      case Parameters::axis: break;
      case Parameters::function: n.function = function(); break;
      case Parameters::axis_position: r_.expect("at"), n.at = dims(true); break;
      case Parameters::size: n.at = dims(); break;
      case Parameters::two_sizes: n.at = dims(), r_.expect(","), n.by = dims(); break;
      case Parameters::axis_and_degree: r_.expect(","), n.degree = r_.degree(); break;
      case Parameters::degree: n.degree = r_.degree(); break;
    }
    r_.expect("]");
  }

  Function function() {
    const std::size_t from = r_.position();
    const std::string_view name = r_.name();
    if (const auto f = function_named(name); f && is_built_in(*f)) return *f;
    r_.fail_at(from, fmt::format("\"{}\" is no function that an operator applies to its result", name),
               "one of: none, relu, gelu, tanh, sigmoid");
  }

  std::uint8_t node() {
    const std::size_t from = r_.position();
    const std::string_view name = r_.name();
    // A variable may have the name of an operator, and then hides it.
    if (const auto v = variable(name)) return append({.kind = Kind::variable, .variable = *v});
    Node n;
    if (const auto kind = kind_named(name); kind && *kind != Kind::variable && *kind != Kind::unary) n.kind = *kind;
    else n.kind = Kind::unary, n.function = unary(from, name);
    attributes(n);
    const std::size_t inputs = input_count(n.kind);
    for (std::size_t i = 0; i < inputs; ++i) {
      r_.expect(i == 0 ? "(" : ",");
      n.inputs.push_back(node());
    }
    if (inputs > 0) r_.expect(")");
    return append(std::move(n));
  }

  [[nodiscard]] Function unary(std::size_t from, std::string_view name) const {
    if (const auto f = function_named(name); f && *f != Function::none) return *f;
    std::vector<std::string> names;
    for (int f = 1; f < kFunctions; ++f) names.emplace_back(name_of(static_cast<Function>(f)));
    for (const Variable& v : variables_) names.push_back(v.name);
    for (int k = 1; k < kKinds; ++k)
      if (static_cast<Kind>(k) != Kind::unary) names.emplace_back(name_of(static_cast<Kind>(k)));
    r_.fail_at(from, fmt::format("\"{}\" is neither an operator nor a variable", name), base::suggest(name, names));
  }

  TextReader r_;
  Variables variables_;
  Term term_;
};

}  // namespace

std::string to_text(Degree d) {
  std::string factors;
  for (std::size_t s = 0; s < d.powers.size(); ++s) factors.append(d.powers[s], "de2"[s]);
  return factors.empty() ? "1" : fmt::format("{}", fmt::join(factors, "*"));
}

std::string degree_text(const Numbers& values) { return to_text(degree_from(values).value()); }

std::optional<std::vector<VariableDim>> dims_adding_to(const Numbers& sizes, Variables variables) {
  for (int terms = 1; terms <= 4; ++terms) {
    std::vector<VariableDim> chosen;
    if (adds_up(sizes, variables, 0, terms, chosen)) return chosen;
  }
  return std::nullopt;
}

bool names_size(const Node& n, const Numbers& size, Variables variables) {
  return dims_adding_to(size, variables) || (is_split(n.kind) && has_letters_of(size, variables));
}

std::string to_text(const Term& t, Variables variables) {
  std::string text;
  for (const std::uint8_t o : t.outputs) text += (text.empty() ? "" : " ; ") + node_text(t, o, variables);
  return text;
}

std::string to_text(const Variable& v) {
  const Types& t = v.types;
  std::string text = v.name + ": [";
  for (std::size_t d = 0; d < t[0].rank; ++d) {
    text += (d == 0 ? "" : ", ") + written_size(dim_size(t, d));
    if (t[0].degree[d] > 1) text += "/" + degree_text(dim_degree(t, d));
  }
  text += "]";
  if (t[0].index) text += " index";
  if (t[0].summands > 1) text += " sum " + degree_text(summands_of(t));
  if (t[0].copies > 1) text += " copy " + degree_text(copies_of(t));
  return text;
}

Term parse_term(std::string_view text, Variables variables) { return TermReader(text, variables).term(); }

Variable parse_variable(std::string_view text) {
  TextReader r(text);
  Variable v;
  v.name = r.name();
  r.expect(":");
  r.expect("[");
  const auto set = [&](auto member, const Numbers& n) {
    for (std::size_t a = 0; a < n.size(); ++a) member(v.types[a]) = n[a];
  };
  std::size_t rank = 0;
  for (; !r.take("]"); ++rank) {
    if (rank > 0) r.expect(",");
    if (rank == kMostRank) r.fail(fmt::format("a tensor has at most {} dims", kMostRank));
    set([&](Type& t) -> std::int64_t& { return t.size[rank]; }, r.size());
    set([&](Type& t) -> std::int64_t& { return t.degree[rank]; }, r.take("/") ? values(r.degree()) : Numbers{1, 1, 1});
  }
  const bool index = r.take("index");
  for (Type& t : v.types) {
    t.rank = static_cast<std::uint8_t>(rank);
    t.index = index;
  }
  if (r.take("sum")) set([](Type& t) -> std::int64_t& { return t.summands; }, values(r.degree()));
  if (r.take("copy")) set([](Type& t) -> std::int64_t& { return t.copies; }, values(r.degree()));
  r.expect_end();
  // The letters' sizes divide by any few degrees, so this finds plain numbers and degrees of too many factors.
  for (const Type& t : v.types)
    for (std::size_t d = 0; d < rank; ++d)
      if (t.size[d] % t.degree[d] != 0) r.fail(fmt::format("dim {} does not divide by its degree", d));
  return v;
}

}  // namespace rules
