#include "search/rules/language/text.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "search/rules/language/text_reader.hpp"

namespace rules {
namespace {

using Variables = std::span<const Variable>;

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
    for (std::size_t v = 0; v < variables_.size(); ++v)
      if (variables_[v].name == name) return static_cast<std::uint8_t>(v);
    return std::nullopt;
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
