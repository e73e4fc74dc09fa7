#pragma once
// Elements as symbolic reals, compared by Z3; unknown functions are uninterpreted.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "search/rules/axioms/shards.hpp"

namespace rules {

class Symbolic : public Algebra {
 public:
  Symbolic();
  ~Symbolic() override;
  Element constant(int numerator, int denominator) override;
  Element variable(const std::string& name) override;
  Element add(Element a, Element b) override;
  Element multiply(Element a, Element b) override;
  Element apply(const std::string& function, std::span<const Element> arguments) override;

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
  std::map<std::pair<Element, Element>, bool> compared_;
  std::unique_ptr<Z3> z3_;
};

}  // namespace rules
