// Terms and variables from text.

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "substitutions/language/term.hpp"

namespace substitutions {
namespace {

using Variables = std::span<const Variable>;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& message, std::string hint = {}) const { fail_at(at_, message, std::move(hint)); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& message, std::string hint = {}) const {
    base::Diagnostics problems;
    auto source = std::make_shared<base::Source>(base::Source{"<term>", std::string(text_)});
    problems.add({std::move(source), 1, static_cast<int>(at) + 1}, "", message, std::move(hint));
    problems.throw_if_any();
    throw std::logic_error("unreachable");
  }

  bool take(std::string_view what) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void expect(std::string_view what) {
    if (!take(what)) fail(fmt::format("found {}, expected \"{}\"", rest(), what));
  }
  void expect_end() {
    skip_blanks();
    if (at_ < text_.size()) fail(fmt::format("{} is left over", rest()));
  }
  [[nodiscard]] bool next_is_digit() {
    skip_blanks();
    return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
  }
  std::string_view name() {
    skip_blanks();
    const std::size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) ++at_;
    if (from == at_) fail(fmt::format("found {}, expected a name", rest()));
    return text_.substr(from, at_ - from);
  }
  int number() {
    if (!next_is_digit()) fail(fmt::format("found {}, expected a number", rest()));
    int n = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      n = n * 10 + (text_[at_++] - '0');
      if (n > 10000) fail("the number is too large");
    }
    return n;
  }
  [[nodiscard]] std::size_t position() {
    skip_blanks();
    return at_;
  }

  Degree degree() {
    Degree d;
    do {
      const std::size_t from = position();
      const std::string_view symbol = name();
      const std::size_t which = symbol == "d" ? 0 : symbol == "e" ? 1 : 2;
      if (which == 2 && symbol != "2") fail_at(from, fmt::format("\"{}\" is no degree", symbol), "a product of d, e and 2, as \"d*e\"");
      if (++d.powers[which] > 4) fail_at(from, "the degree is too large");
    } while (take("*"));
    return d;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  [[nodiscard]] std::string rest() const {
    return at_ < text_.size() ? fmt::format("\"{}\"", text_.substr(at_, 12)) : std::string("the end");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void add(Numbers& n, std::int64_t times, const Numbers& more) {
  for (std::size_t a = 0; a < n.size(); ++a) n[a] += times * more[a];
}

// --- variables ----------------------------------------------------------------------------------------------------------

// "2k+n", "3".
Numbers size(Reader& r) {
  Numbers n{};
  do {
    const std::int64_t times = r.next_is_digit() ? r.number() : 1;
    bool letter = false;
    for (char c = 'a'; c <= 'z' && !letter; ++c)
      if ((letter = r.take(std::string_view(&c, 1)))) add(n, times, symbol(c));
    if (!letter) add(n, times, {1, 1, 1});
  } while (r.take("+"));
  if (n[0] < 1) r.fail("a size must be at least 1");
  return n;
}

// --- terms --------------------------------------------------------------------------------------------------------------

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

  // "w.1+u.1"
  Numbers dims() {
    Numbers n{};
    do {
      const std::size_t from = r_.position();
      const std::string_view name = r_.name();
      const auto v = variable(name);
      if (!v) r_.fail_at(from, fmt::format("\"{}\" is no variable", name));
      r_.expect(".");
      const int dim = r_.number();
      const Types& t = variables_[*v].types;
      const auto d = static_cast<std::size_t>(dim);
      if (dim >= t[0].rank) r_.fail_at(from, fmt::format("{} has no dim {}", name, dim));
      add(n, 1, dim_size(t, d));
    } while (r_.take("+"));
    return n;
  }

  std::uint8_t axis() {
    const int a = r_.number();
    if (a >= kMostRank) r_.fail(fmt::format("axis {} is above {}", a, kMostRank - 1));
    return static_cast<std::uint8_t>(a);
  }

  void attributes(Node& n) {
    const bool optional = n.kind == Kind::linear || n.kind == Kind::linear_bias || is_convolution(n.kind);
    const bool has = n.kind >= Kind::partition ? n.kind != Kind::summands
                                               : n.kind == Kind::concat || n.kind == Kind::split0 || n.kind == Kind::split1 ||
                                                     n.kind == Kind::sum || (n.kind >= Kind::identity && n.kind <= Kind::pool_kernel);
    if (optional && r_.take("[")) n.function = function();
    else if (!has) return;
    else {
      r_.expect("[");
      if (n.kind >= Kind::identity && n.kind <= Kind::pool_kernel) n.at = dims();
      else if (n.kind != Kind::replicate && n.kind != Kind::reduce) n.axis = axis();
      if (n.kind == Kind::ones) r_.expect(","), n.by = dims();
      if (n.kind == Kind::split0 || n.kind == Kind::split1) r_.expect("at"), n.at = dims();
      if (n.kind == Kind::partition || n.kind == Kind::combine) r_.expect(",");
      if (n.kind >= Kind::partition) n.degree = r_.degree();
    }
    r_.expect("]");
  }

  Function function() {
    const std::size_t from = r_.position();
    const std::string_view name = r_.name();
    for (int f = 0; f < kFunctions; ++f)
      if (name_of(Function(f)) == name && is_built_in(Function(f))) return Function(f);
    r_.fail_at(from, fmt::format("\"{}\" is no function that an operator applies to its result", name),
               "one of: none, relu, gelu, tanh, sigmoid");
  }

  std::uint8_t node() {
    const std::size_t from = r_.position();
    const std::string_view name = r_.name();
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

  Function unary(std::size_t from, std::string_view name) const {
    std::vector<std::string> names;
    for (int f = 1; f < kFunctions; ++f) {
      if (name_of(Function(f)) == name) return Function(f);
      names.emplace_back(name_of(Function(f)));
    }
    for (const Variable& v : variables_) names.push_back(v.name);
    for (int k = 1; k < kKinds; ++k)
      if (static_cast<Kind>(k) != Kind::unary) names.emplace_back(name_of(static_cast<Kind>(k)));
    r_.fail_at(from, fmt::format("\"{}\" is neither an operator nor a variable", name), base::suggest(name, names));
  }

  Reader r_;
  Variables variables_;
  Term term_;
};

}  // namespace

Term parse_term(std::string_view text, Variables variables) { return TermReader(text, variables).term(); }

Variable parse_variable(std::string_view text) {
  Reader r(text);
  Variable v;
  v.name = r.name();
  r.expect(":");
  r.expect("[");
  const auto set = [&](auto member, const Numbers& n) {
    for (std::size_t a = 0; a < n.size(); ++a) member(v.types[a]) = n[a];
  };
  const auto degree = [&] {
    const Degree d = r.degree();
    return Numbers{value(d, 0), value(d, 1), value(d, 2)};
  };
  std::size_t rank = 0;
  for (; !r.take("]"); ++rank) {
    if (rank > 0) r.expect(",");
    if (rank == kMostRank) r.fail(fmt::format("a tensor has at most {} dims", kMostRank));
    set([&](Type& t) -> std::int64_t& { return t.size[rank]; }, size(r));
    set([&](Type& t) -> std::int64_t& { return t.degree[rank]; }, r.take("/") ? degree() : Numbers{1, 1, 1});
  }
  const bool index = r.take("index");
  for (Type& t : v.types) {
    t.rank = static_cast<std::uint8_t>(rank);
    t.index = index;
  }
  if (r.take("sum")) set([](Type& t) -> std::int64_t& { return t.summands; }, degree());
  if (r.take("copy")) set([](Type& t) -> std::int64_t& { return t.copies; }, degree());
  r.expect_end();
  for (const Type& t : v.types)
    for (std::size_t d = 0; d < rank; ++d)
      if (t.size[d] % t.degree[d] != 0) r.fail(fmt::format("dim {} does not divide by its degree", d));
  return v;
}

}  // namespace substitutions
