#pragma once
// Equations whose two sides are well typed, with the types of their nodes. The types are derived once, when an equation is made or read;
// proving, matching and rewriting look them up.

#include <optional>
#include <vector>

#include "substitutions/language/term.hpp"

namespace substitutions {

// A statement that may be ill typed or false.
struct Equation {
  std::vector<Variable> variables;
  Term left, right;
  bool operator==(const Equation&) const = default;
};

class TypedEquation {
 public:
  TypedEquation() = default;  // no variables, no outputs
  // Returns the equation with the types of its nodes; nullopt: a side is ill typed over the variables.
  // The outputs of the two sides may differ in type: whoever proves the equation refutes it then.
  [[nodiscard]] static std::optional<TypedEquation> make(Equation statement);

  [[nodiscard]] const Equation& statement() const { return statement_; }
  operator const Equation&() const { return statement_; }  // NOLINT(google-explicit-constructor): it is one
  [[nodiscard]] const std::vector<Variable>& variables() const { return statement_.variables; }
  [[nodiscard]] const Term& left() const { return statement_.left; }
  [[nodiscard]] const Term& right() const { return statement_.right; }
  [[nodiscard]] const std::vector<Types>& left_types() const { return left_types_; }    // by node of left()
  [[nodiscard]] const std::vector<Types>& right_types() const { return right_types_; }  // by node of right()

  // Returns the outputs whose types on the two sides differ, in order. Requires: the sides have equally many outputs.
  [[nodiscard]] std::vector<std::size_t> unlike_outputs() const;

 private:
  Equation statement_;
  std::vector<Types> left_types_, right_types_;
};

}  // namespace substitutions
