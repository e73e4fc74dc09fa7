#pragma once
// The numbers that shards hold: symbolic reals, compared by Z3.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rules {

using Element = std::uint32_t;

class Symbolic {
 public:
  Symbolic();
  ~Symbolic();
  Element constant(int numerator, int denominator);
  Element variable(const std::string& name);
  Element add(Element a, Element b);
  Element multiply(Element a, Element b);
  // Returns: the result of an unknown function: equal arguments give equal results, nothing else is known.
  Element apply(const std::string& function, std::span<const Element> arguments);

  // Returns: whether they are equal whatever the variables and functions are: by their form, by Z3's simplification to sums of monomials,
  // or by its solver, which gives up after five seconds and so says no.
  [[nodiscard]] bool equal(Element a, Element b);
  [[nodiscard]] std::string to_text(Element e);
  // Makes these variables indices with known rows from now on: "is<row>" of them is 0 or 1.
  void set_rows(std::map<Element, std::int64_t> rows) { rows_ = std::move(rows); }

 private:
  struct Z3;
  enum class Op : std::uint8_t { constant, variable, add, multiply, apply };
  Element make(Op op, std::vector<std::int64_t> key);
  std::int64_t number(const std::string& name);

  std::map<std::vector<std::int64_t>, Element> known_;  // equal terms are made once
  std::vector<const std::vector<std::int64_t>*> terms_;
  std::map<std::string, std::int64_t> numbers_;
  std::vector<std::string> names_;
  std::map<Element, std::int64_t> rows_;
  std::unique_ptr<Z3> z3_;
};

}  // namespace rules
