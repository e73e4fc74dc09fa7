#pragma once
// Which rules a search wants, and why it does without each of the others. A rule that is left out is as true as any: it leads nowhere that
// a search has not been, or to a graph that computes all that the graph before did and more.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/rules/language/rule.hpp"

namespace rules {

// The first that holds, in this order.
enum class LeftOut {
  no,
  layout,     // it has layout operators, where algebra alone is asked for
  never,      // its source can be in no graph, or its target cannot be made there (compile() of matching/pattern.hpp has the reason)
  enlarges,   // its target has all operators of its source, and more that compute
  exchanges,  // its sides differ only in the places of vectors or numbers: gains, biases, factors
};
inline constexpr std::size_t kReasons = 5;
[[nodiscard]] std::string_view name_of(LeftOut reason);  // "layout"

enum class Wanted { all, algebra };
// Returns: why a search leaves the rule out.
// Cost: some 5 us.
[[nodiscard]] LeftOut why_left_out(const Rule& rule, Wanted wanted);

struct Selection {
  std::vector<Rule> rules;                    // in the order given
  std::array<std::size_t, kReasons> count{};  // of the rules given, by LeftOut; [0] of them were taken
};
[[nodiscard]] Selection select(std::span<const Rule> rules, Wanted wanted);
// "left out: 4851 have layout operators, 319 are in no graph, ..."; reasons that no rule has are not named.
[[nodiscard]] std::string left_out_text(const Selection& s);

// Returns: the built-in rules (rule_files/builtin_rules.hpp) that a search over algebra wants, with their names there. Made once per
// process, by whichever thread is first. Cost of the first call: that of builtin_rules() and as much again; then O(1).
[[nodiscard]] const Selection& builtin_algebraic_rules();

}  // namespace rules
