#pragma once
// Terms and variables as text, and from text.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/rules/language/term.hpp"

namespace rules {

[[nodiscard]] std::string to_text(Degree d);                   // "d*e*2"; "1" for no symbol
[[nodiscard]] std::string degree_text(const Numbers& values);  // of the degree that has these values

// "add(linear[relu](x, w), y)"; two outputs: "f(x) ; g(y)". The text has each output whole, whatever its outputs share. The brackets hold
// a kind's parameters (kind.hpp); sizes are dims of variables ("w.1") or their sums ("w.1+u.1"), the position of a split that no dims add
// up to is letters of the variables' sizes ("k", "k+l").
[[nodiscard]] std::string to_text(const Term& t, std::span<const Variable> variables);
// "x: [m/d, 2k+n] sum e", "w: [k, 3] copy d*e", "s: []", "i: [n, b] index".
[[nodiscard]] std::string to_text(const Variable& v);

struct VariableDim {
  std::uint8_t variable = 0, dim = 0;
  auto operator<=>(const VariableDim&) const = default;
};
// Returns: the dims of variables that add up to typing sizes, by which a text names a split's position and a constant's sizes: the fewest,
// the first by variable and dim; nullopt: no four dims do.
[[nodiscard]] std::optional<std::vector<VariableDim>> dims_adding_to(const Numbers& sizes, std::span<const Variable> variables);
// Returns: whether a text can name a size that a node has as an attribute: dims add up to it, or, for a split's position, its letters are
// some that variables' sizes are sums of.
[[nodiscard]] bool names_size(const Node& n, const Numbers& size, std::span<const Variable> variables);

// Returns: the term in the form of `canonical`: the variables that it uses by number, then operators, equal ones once, inputs before users,
// in the order of the text. Types are not checked.
// Throws: base::InputError with the column of what is wrong.
// Requires: at most kMostTermNodes variables.
[[nodiscard]] Term parse_term(std::string_view text, std::span<const Variable> variables);

// Returns: the variable of "x: [m/d, 2k+n] sum e", "w: [k, 3] copy d*e", "s: []", "i: [n, b] index": a size is a sum of letters, multiples
// of letters and numbers; after the slash comes a degree. A letter means the same everywhere (symbol()).
// Throws: base::InputError with the column of what is wrong.
[[nodiscard]] Variable parse_variable(std::string_view text);

}  // namespace rules
