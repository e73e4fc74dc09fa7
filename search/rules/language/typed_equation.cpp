#include "search/rules/language/typed_equation.hpp"

#include "search/rules/language/typing.hpp"

namespace rules {

TypedEquation::TypedEquation() {
  static const TypedEquation empty{Content{}};
  content_ = empty.content_;
}

std::optional<TypedEquation> TypedEquation::make(Equation statement) {
  std::optional<std::vector<Types>> left = types_of(statement.left, statement.variables);
  if (!left) return std::nullopt;
  std::optional<std::vector<Types>> right = types_of(statement.right, statement.variables);
  if (!right) return std::nullopt;
  return TypedEquation({.statement = std::move(statement), .left_types = std::move(*left), .right_types = std::move(*right)});
}

std::vector<std::size_t> TypedEquation::unlike_outputs() const {
  std::vector<std::size_t> unlike;
  for (std::size_t o = 0; o < left().outputs.size(); ++o)
    if (left_types()[left().outputs[o]] != right_types()[right().outputs[o]]) unlike.push_back(o);
  return unlike;
}

}  // namespace rules
