#pragma once
// What the generator enumerates over: settings of a few variables and operators each, gathered in families.

#include <string>
#include <vector>

#include "substitutions/language/term.hpp"

namespace substitutions {

// Small enough to be enumerated whole. Operators are nodes without inputs; their order is the order of preference among equal graphs.
struct Setting {
  std::string family;
  std::vector<Variable> variables;
  std::vector<Node> operators;
  bool sharded = false;  // not enumerated: its operators that compute against their sharded forms (sharded.hpp)
};

// In the order in which they are enumerated. Layout degrees: d alone, but for the graphs of layout operators only.
[[nodiscard]] std::vector<Setting> settings();

}  // namespace substitutions
