#include "search/rules/selection/selection.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "search/rules/language/text.hpp"
#include "search/rules/matching/pattern.hpp"
#include "search/rules/rule_files/builtin_rules.hpp"

namespace rules {
namespace {

// Operators by kind and function, sorted; both halves of a split are one.
std::vector<Code> operators_of(const Term& t) {
  std::vector<Code> codes;
  for (const std::size_t n : whole_operators(t)) codes.push_back(code_of(t.nodes[n].kind, t.nodes[n].function));
  std::ranges::sort(codes);
  return codes;
}

bool enlarges(const Rule& rule) {
  const std::vector<Code> source = operators_of(rule.source()), target = operators_of(rule.target());
  if (source.size() >= target.size() || !std::ranges::includes(target, source)) return false;
  std::vector<Code> more;
  std::ranges::set_difference(target, source, std::back_inserter(more));
  return std::ranges::any_of(more, [](Code c) { return !is_layout(static_cast<Kind>(c / kFunctions)); });
}

// Equal but for the names of vectors and numbers.
bool exchanges(const Rule& rule) {
  std::vector<Variable> variables = rule.equation.variables();
  for (Variable& v : variables)
    if (v.types[0].rank <= 1 && !v.types[0].index) v.name = "_";
  return to_text(rule.source(), variables) == to_text(rule.target(), variables);
}

struct ReasonWords {
  std::string_view name, words;  // words: what such rules do
};
constexpr std::array<ReasonWords, kReasons> kWords{{{"no", "are taken"},
                                                    {"layout", "have layout operators"},
                                                    {"never", "apply to no graph"},
                                                    {"enlarges", "only enlarge"},
                                                    {"exchanges", "only exchange parameters"}}};

}  // namespace

std::string_view name_of(LeftOut reason) { return kWords[static_cast<std::size_t>(reason)].name; }

LeftOut why_left_out(const Rule& rule, Wanted wanted) {
  if (wanted == Wanted::algebra && kind_of(rule.equation) != RuleKind::algebraic) return LeftOut::layout;
  if (!compile(rule)) return LeftOut::never;
  return enlarges(rule) ? LeftOut::enlarges : exchanges(rule) ? LeftOut::exchanges : LeftOut::no;
}

Selection select(std::span<const Rule> rules, Wanted wanted) {
  Selection s;
  for (const Rule& r : rules) {
    const LeftOut reason = why_left_out(r, wanted);
    ++s.count[static_cast<std::size_t>(reason)];
    if (reason == LeftOut::no) s.rules.push_back(r);
  }
  return s;
}

std::string left_out_text(const Selection& s) {
  std::vector<std::string> texts;
  for (std::size_t i = 1; i < kReasons; ++i)
    if (s.count[i] > 0) texts.push_back(fmt::format("{} {}", s.count[i], kWords[i].words));
  return texts.empty() ? "none left out" : fmt::format("left out: {}", fmt::join(texts, ", "));
}

const Selection& builtin_algebraic_rules() {
  static const Selection all = select(builtin_rules(), Wanted::algebra);
  return all;
}

}  // namespace rules
