#include "substitutions/language/typed_equation.hpp"

#include "substitutions/language/typing.hpp"

namespace substitutions {

std::optional<TypedEquation> TypedEquation::make(Equation statement) {
  std::optional<std::vector<Types>> left = types_of(statement.left, statement.variables);
  if (!left) return std::nullopt;
  std::optional<std::vector<Types>> right = types_of(statement.right, statement.variables);
  if (!right) return std::nullopt;
  TypedEquation e;
  e.statement_ = std::move(statement);
  e.left_types_ = std::move(*left);
  e.right_types_ = std::move(*right);
  return e;
}

std::vector<std::size_t> TypedEquation::unlike_outputs() const {
  std::vector<std::size_t> unlike;
  for (std::size_t o = 0; o < left().outputs.size(); ++o)
    if (left_types_[left().outputs[o]] != right_types_[right().outputs[o]]) unlike.push_back(o);
  return unlike;
}

}  // namespace substitutions
