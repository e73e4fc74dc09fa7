#include "search/rules/rule_files/builtin_rules_text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "search/rules/generation/generate.hpp"
#include "search/rules/language/parse.hpp"
#include "search/rules/language/text.hpp"

namespace rules {
namespace {

constexpr std::string_view kBar = " | ";
constexpr std::string_view kDigest = "digest ";

// Returns the text up to a separator, and takes both away; all of it where there is no separator.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
  return taken;
}

std::string line_of(const Equation& e, std::string_view sign, const std::vector<std::string>& axioms) {
  std::string line;
  for (const Variable& v : e.variables) line += to_text(v) + std::string(kBar);
  return line +
         fmt::format("{} {} {}{}{}\n", to_text(e.left, e.variables), sign, to_text(e.right, e.variables), kBar, fmt::join(axioms, " "));
}

// Reads a line and appends its rules.
class LineReader {
 public:
  explicit LineReader(std::vector<Rule>& rules) : rules_(rules) {}

  void read(std::string_view line) {
    Equation e;
    std::string_view variables = line.substr(0, line.rfind(kBar));
    std::string_view axioms = line.substr(variables.size() + kBar.size());
    const std::size_t last = variables.rfind(kBar);
    const std::string_view equation = variables.substr(last + kBar.size());
    variables = variables.substr(0, last);
    while (!variables.empty()) e.variables.push_back(parse_variable(take_until(variables, kBar)));
    const std::size_t at = equation.find_first_of("<=");
    const std::string_view sign = equation.substr(at, equation.find(' ', at) - at);
    const bool from_left = sign.ends_with('>'), from_right = sign.starts_with('<');
    e.left = parse_term(equation.substr(0, at), e.variables);
    e.right = parse_term(equation.substr(at + sign.size()), e.variables);
    std::optional<TypedEquation> typed = TypedEquation::make(std::move(e));
    BASE_CHECK(typed.has_value(), "an equation at hand is ill typed: {}", line);
    Rule rule{.name = "", .equation = std::move(*typed), .forward = from_left, .axioms = {}};
    while (!axioms.empty()) rule.axioms.emplace_back(take_until(axioms, " "));
    rule.name = names_.next(rule.equation);
    rules_.push_back(std::move(rule));
    if (!(from_left && from_right)) return;
    rules_.push_back(rules_.back());
    rules_.back().forward = false;
    rules_.back().name = names_.next(rules_.back().equation);
  }

 private:
  std::vector<Rule>& rules_;
  RuleNames names_;
};

}  // namespace

std::string builtin_rules_text(const std::vector<Rule>& rules, const Axioms& axioms) {
  std::string text = fmt::format("generator {} axioms {}\n", kGeneratorVersion, axioms.hash);
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const bool both = r + 1 < rules.size() && rules[r].forward && !rules[r + 1].forward &&
                      rules[r].equation.statement() == rules[r + 1].equation.statement();
    text += line_of(rules[r].equation, both ? "<=>" : rules[r].forward ? "=>" : "<=", rules[r].axioms);
    if (both) ++r;
  }
  return text + fmt::format("{}{:016x}\n", kDigest, base::hash_text(text));
}

std::vector<Rule> read_builtin_rules_text(std::string_view text) {
  const std::size_t end = text.rfind(kDigest);
  BASE_CHECK(end != std::string_view::npos && text.substr(end) == fmt::format("{}{:016x}\n", kDigest, base::hash_text(text.substr(0, end))),
             "the built-in rules are not as they were written");
  text = text.substr(0, end);
  (void)take_until(text, "\n");  // what wrote it
  std::vector<Rule> rules;
  LineReader reader(rules);
  while (!text.empty()) reader.read(take_until(text, "\n"));
  return rules;
}

}  // namespace rules
