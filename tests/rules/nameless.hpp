#pragma once
// Rules without names, to find those that are one rule up to names. Shares nothing with the pruning that it is held against.

#include <string>

#include "search/rules/language/rule.hpp"

// Returns a text that two rules share iff renaming makes them one: of variables, letters, and the degrees d and e, with the inputs of
// commutative operators (not of summands, whose order is part of a layout) and the outputs in any order. Layouts of variables do not count:
// a rule is about every layout that types it.
[[nodiscard]] std::string nameless_text(const rules::Rule& r);
