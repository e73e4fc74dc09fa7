#pragma once
// The settings that the generator enumerates: a few variables and operators each, gathered in families. They are data (families.yaml, whose
// head explains its notation).

#include <string>
#include <vector>

#include "search/rules/language/rule.hpp"
#include "search/rules/language/term.hpp"

namespace rules {

// The use that the generator makes of a setting's operators.
enum class SettingUse {
  enumerate,  // all graphs of a few of them are compared
  compare,    // none: the setting's graphs are compared
  shard,      // each one that computes is held against its sharded forms (sharded_forms())
};

// Operators are nodes without inputs; their order is the order of preference among equal graphs.
struct Setting {
  std::string family;
  SettingUse use = SettingUse::enumerate;
  std::vector<Variable> variables;
  std::vector<Node> operators;
  int more = 0;              // operators of a graph beyond those that are asked for
  std::vector<Term> graphs;  // to be compared with each other: larger ones than can be enumerated
};

// Returns: the settings that ship, in the order in which they are enumerated.
[[nodiscard]] const std::vector<Setting>& settings();

// Returns: the equations of every two graphs of a setting, which may be false.
[[nodiscard]] std::vector<Equation> pairs_of_graphs(const Setting& setting);

}  // namespace rules
