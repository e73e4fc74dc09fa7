#include "search/rules/language/rule.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "search/rules/language/typing.hpp"

namespace rules {

std::optional<TypedEquation> TypedEquation::make(Equation statement) {
  auto left = types_of(statement.left, statement.variables), right = types_of(statement.right, statement.variables);
  if (!left || !right) return std::nullopt;
  return TypedEquation({.statement = std::move(statement), .left_types = std::move(*left), .right_types = std::move(*right)});
}

std::vector<std::size_t> TypedEquation::unlike_outputs() const {
  std::vector<std::size_t> unlike;
  for (std::size_t o = 0; o < left().outputs.size(); ++o)
    if (left_types()[left().outputs[o]] != right_types()[right().outputs[o]]) unlike.push_back(o);
  return unlike;
}

RuleKind kind_of(const Equation& e) {
  bool layout = false, algebra = false;
  for (const Term* t : {&e.left, &e.right})
    for (const Node& n : t->nodes)
      if (n.kind != Kind::variable) (is_layout(n.kind) ? layout : algebra) = true;
  return !layout ? RuleKind::algebraic : algebra ? RuleKind::hybrid : RuleKind::parallel;
}

std::string_view name_of(RuleKind k) {
  static constexpr std::array<std::string_view, 3> kNames{"algebraic", "parallel", "hybrid"};
  return kNames[static_cast<std::size_t>(k)];
}

bool knows_its_sizes(const Term& source, std::span<const Variable> variables) {
  std::vector<std::uint32_t> sums;  // letters, a bit each, that an occurrence has the sum of
  const auto add = [&](const Numbers& n) {
    std::uint32_t letters = 0;
    for (const char c : letters_of(n).value_or("")) letters |= 1U << static_cast<unsigned>(c - 'a');
    sums.push_back(letters);
  };
  for (const Node& n : source.nodes) {
    if (is_split(n.kind)) add(n.at);
    if (n.kind != Kind::variable) continue;
    const Types& t = variables[n.variable].types;
    for (std::size_t d = 0; d < t[0].rank; ++d) add(dim_size(t, d));
  }
  std::uint32_t known = 0, before = 0;
  do {  // each sum identifies the one letter of it that is not known yet
    before = known;
    for (const std::uint32_t sum : sums)
      if (std::has_single_bit(sum & ~known)) known |= sum;
  } while (known != before);
  return std::ranges::all_of(sums, [&](std::uint32_t sum) { return (sum & ~known) == 0; });
}

std::string RuleNames::next(const Equation& e) {
  const RuleKind kind = kind_of(e);
  return fmt::format("{}{}", name_of(kind)[0], ++count_[static_cast<std::size_t>(kind)]);
}

}  // namespace rules
