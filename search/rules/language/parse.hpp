#pragma once
// Terms and variables from text; text.hpp writes the same notation.

#include <span>
#include <string_view>

#include "search/rules/language/term.hpp"

namespace rules {

// Returns the term in the form of `canonical`: the variables that it uses by number, then operators, equal ones once, inputs before users,
// in the order of the text. Types are not checked.
// Throws: base::InputError with the column of what is wrong. Requires: at most kMostTermNodes variables.
[[nodiscard]] Term parse_term(std::string_view text, std::span<const Variable> variables);

// Returns the variable of "x: [m/d, 2k+n] sum e", "w: [k, 3] copy d*e", "s: []", "i: [n, b] index": a size is a sum of letters, multiples
// of letters and numbers; after the slash comes a degree. A letter means the same everywhere (symbol()). Throws: base::InputError with the
// column of what is wrong.
[[nodiscard]] Variable parse_variable(std::string_view text);

}  // namespace rules
