#pragma once
// Substitutions: directed rules, which proved equations give.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
  TypedEquation() : TypedEquation(Content{}) {}  // no variables, no outputs
  // Returns: the equation with the types of its nodes; nullopt: a side is ill typed over the variables. The outputs of the two sides may
  // differ in type: whoever proves the equation refutes it then.
  [[nodiscard]] static std::optional<TypedEquation> make(Equation statement);

  [[nodiscard]] const Equation& statement() const { return content_->statement; }
  operator const Equation&() const { return content_->statement; }  // NOLINT(google-explicit-constructor): it is one
  [[nodiscard]] const std::vector<Variable>& variables() const { return content_->statement.variables; }
  [[nodiscard]] const Term& left() const { return content_->statement.left; }
  [[nodiscard]] const Term& right() const { return content_->statement.right; }
  [[nodiscard]] const std::vector<Types>& left_types() const { return content_->left_types; }    // by node of left()
  [[nodiscard]] const std::vector<Types>& right_types() const { return content_->right_types; }  // by node of right()

  // Returns: the outputs whose types on the two sides differ, in order.
  // Requires: the sides have equally many outputs.
  [[nodiscard]] std::vector<std::size_t> unlike_outputs() const;

 private:
  struct Content {
    Equation statement;
    std::vector<Types> left_types, right_types;
  };
  explicit TypedEquation(Content content) : content_(std::make_shared<const Content>(std::move(content))) {}

  std::shared_ptr<const Content> content_;
};

enum class RuleKind { algebraic, parallel, hybrid };  // algebraic: without layout operators; parallel: of them alone; hybrid: of both kinds
[[nodiscard]] RuleKind kind_of(const Equation& e);
[[nodiscard]] std::string_view name_of(RuleKind k);

// One direction of a proved equation: an occurrence of `source` may be replaced by `target`. Every variable of the target is in the source,
// so nothing has to be invented. When it is applied, both sides are typed in the context (sizes, layouts) that it is applied in: that is
// where the conditions on shapes and degrees are checked: sizes by the matcher (matching/matcher.hpp), types and degrees by what builds the
// target (rewriting/apply.hpp).
struct Rule {
  std::string name;  // "a17", "p3", "h120": stable for equal generator versions
  TypedEquation equation;
  bool forward = true;              // the source is the equation's left side
  std::vector<std::string> axioms;  // names of those that the proof used
  double proof_s = 0;               // seconds that the proof took
  [[nodiscard]] const Term& source() const { return forward ? equation.left() : equation.right(); }
  [[nodiscard]] const Term& target() const { return forward ? equation.right() : equation.left(); }
  [[nodiscard]] const std::vector<Types>& source_types() const { return forward ? equation.left_types() : equation.right_types(); }
  [[nodiscard]] const std::vector<Types>& target_types() const { return forward ? equation.right_types() : equation.left_types(); }
};

// Returns: whether an occurrence of the source says how large every letter of its variables' sizes is: of `x: [m, k+n]` a split says where
// k ends. Without that, a target would have to choose.
[[nodiscard]] bool knows_its_sizes(const Term& source, std::span<const Variable> variables);

// Names rules in their order, those of each kind apart: "a1", "a2", "h1".
class RuleNames {
 public:
  [[nodiscard]] std::string next(const Equation& e);

 private:
  std::array<int, 3> count_{};  // by kind
};

}  // namespace rules
