#pragma once
// Equations whose two sides are well typed, with the types of their nodes. The types are derived once, when an equation is made or read;
// proving, matching and rewriting look them up.

#include <memory>
#include <optional>
#include <vector>

#include "search/rules/language/term.hpp"

namespace rules {

// A statement that may be ill typed or false.
struct Equation {
  std::vector<Variable> variables;
  Term left, right;
  bool operator==(const Equation&) const = default;
};

// Copies share what they say, which does not change: both directions of an equation, and every selection of rules, are copies.
class TypedEquation {
 public:
  TypedEquation();  // no variables, no outputs
  // Returns the equation with the types of its nodes; nullopt: a side is ill typed over the variables.
  // The outputs of the two sides may differ in type: whoever proves the equation refutes it then.
  [[nodiscard]] static std::optional<TypedEquation> make(Equation statement);

  [[nodiscard]] const Equation& statement() const { return content_->statement; }
  operator const Equation&() const { return content_->statement; }  // NOLINT(google-explicit-constructor): it is one
  [[nodiscard]] const std::vector<Variable>& variables() const { return content_->statement.variables; }
  [[nodiscard]] const Term& left() const { return content_->statement.left; }
  [[nodiscard]] const Term& right() const { return content_->statement.right; }
  [[nodiscard]] const std::vector<Types>& left_types() const { return content_->left_types; }    // by node of left()
  [[nodiscard]] const std::vector<Types>& right_types() const { return content_->right_types; }  // by node of right()

  // Returns the outputs whose types on the two sides differ, in order. Requires: the sides have equally many outputs.
  [[nodiscard]] std::vector<std::size_t> unlike_outputs() const;

 private:
  struct Content {
    Equation statement;
    std::vector<Types> left_types, right_types;
  };
  explicit TypedEquation(Content content) : content_(std::make_shared<const Content>(std::move(content))) {}

  std::shared_ptr<const Content> content_;
};

}  // namespace rules
