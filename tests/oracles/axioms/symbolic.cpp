#include "tests/oracles/axioms/symbolic.hpp"

#include <fmt/core.h>
#include <z3++.h>

#include <algorithm>
#include <optional>

namespace rules {

// Terms are handed to Z3, each once, only when two that are not the same are compared.
struct Symbolic::Z3 {
  z3::context context;
  z3::params som{context};                    // sums of monomials
  std::vector<std::optional<z3::expr>> made;  // by element
  const Symbolic& symbols;

  explicit Z3(const Symbolic& s) : symbols(s) { som.set("som", true), som.set("sort_sums", true); }
  z3::expr expr(Element e) {
    made.resize(symbols.terms_.size());
    if (!made[e]) made[e] = of_term(*symbols.terms_[e]);
    return *made[e];
  }
  z3::expr of_term(const std::vector<std::int64_t>& t) {
    const auto part = [&](std::size_t i) { return expr(static_cast<Element>(t[i])); };
    const auto name = [&](std::int64_t n) { return symbols.names_[static_cast<std::size_t>(n)].c_str(); };
    switch (static_cast<Op>(t.back())) {
      case Op::constant: return context.real_val(static_cast<int>(t[0]), static_cast<int>(t[1]));
      case Op::variable: return context.real_const(name(t[0]));
      case Op::add: {
        z3::expr_vector parts(context);
        for (std::size_t i = 0; i + 1 < t.size(); ++i) parts.push_back(part(i));
        return z3::sum(parts);
      }
      case Op::multiply: return part(0) * part(1);
      case Op::apply: break;
    }
    z3::sort_vector sorts(context);
    z3::expr_vector arguments(context);
    for (std::size_t i = 0; i + 2 < t.size(); ++i) {
      sorts.push_back(context.real_sort());
      arguments.push_back(part(i));
    }
    return context.function(name(t[t.size() - 2]), sorts, context.real_sort())(arguments);
  }
};

Symbolic::Symbolic() = default;
Symbolic::~Symbolic() = default;

Element Symbolic::make(Op op, std::vector<std::int64_t> key) {
  key.push_back(static_cast<std::int64_t>(op));
  const auto [it, fresh] = known_.try_emplace(std::move(key), static_cast<Element>(terms_.size()));
  if (fresh) terms_.push_back(&it->first);
  return it->second;
}

std::int64_t Symbolic::number(const std::string& name) {
  const auto [it, fresh] = numbers_.try_emplace(name, static_cast<std::int64_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return it->second;
}

Element Symbolic::constant(int numerator, int denominator) { return make(Op::constant, {numerator, numerator == 0 ? 1 : denominator}); }
Element Symbolic::variable(const std::string& name) { return make(Op::variable, {number(name)}); }
Element Symbolic::add(Element a, Element b) {
  const Element zero = constant(0, 1);
  if (a == zero) return b;
  if (b == zero) return a;
  // A sum is the list of its terms in order, however it was added up.
  std::vector<std::int64_t> terms;
  for (const Element e : {a, b}) {
    const std::vector<std::int64_t>& t = *terms_[e];
    if (static_cast<Op>(t.back()) == Op::add) terms.insert(terms.end(), t.begin(), t.end() - 1);
    else terms.push_back(e);
  }
  std::ranges::sort(terms);
  return make(Op::add, std::move(terms));
}
Element Symbolic::multiply(Element a, Element b) {
  const Element zero = constant(0, 1), one = constant(1, 1);
  if (a == zero || b == zero) return zero;
  if (a == one) return b;
  if (b == one) return a;
  return make(Op::multiply, {std::min(a, b), std::max(a, b)});
}
Element Symbolic::apply(const std::string& function, std::span<const Element> arguments) {
  if (arguments.size() == 1 && function.starts_with("is"))
    if (const auto it = rows_.find(arguments[0]); it != rows_.end()) return constant(function == fmt::format("is{}", it->second), 1);
  std::vector<std::int64_t> key(arguments.begin(), arguments.end());
  key.push_back(number(function));
  return make(Op::apply, std::move(key));
}

bool Symbolic::equal(Element a, Element b) {
  if (a == b) return true;
  if (!z3_) z3_ = std::make_unique<Z3>(*this);
  const z3::expr left = z3_->expr(a).simplify(z3_->som), right = z3_->expr(b).simplify(z3_->som);
  if (z3::eq(left, right)) return true;
  z3::solver solver(z3_->context);
  z3::params limits(z3_->context);
  limits.set("timeout", 5000U);
  solver.set(limits);
  solver.add(left != right);
  return solver.check() == z3::unsat;
}

std::string Symbolic::to_text(Element e) {
  const std::vector<std::int64_t>& t = *terms_[e];
  const auto part = [&](std::size_t i) { return to_text(static_cast<Element>(t[i])); };
  switch (static_cast<Op>(t.back())) {
    case Op::constant: return t[1] == 1 ? std::to_string(t[0]) : fmt::format("{}/{}", t[0], t[1]);
    case Op::variable: return names_[static_cast<std::size_t>(t[0])];
    case Op::add: {
      std::string sum = part(0);
      for (std::size_t i = 1; i + 1 < t.size(); ++i) sum += " + " + part(i);
      return sum;
    }
    case Op::multiply: return fmt::format("({}) ({})", part(0), part(1));
    case Op::apply: break;
  }
  std::string text = names_[static_cast<std::size_t>(t[t.size() - 2])] + "(";
  for (std::size_t i = 0; i + 2 < t.size(); ++i) text += (i == 0 ? "" : ", ") + part(i);
  return text + ")";
}

}  // namespace rules
