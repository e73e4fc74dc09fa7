#pragma once
// The settings that the generator enumerates: a few variables and operators each, gathered in families. They are data (families.yaml, whose
// head explains its notation).

#include <cstdint>
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

// All graphs of a few operators over the variables of a setting, and the equal ones among them.
struct Enumerated {
  std::int64_t graphs = 0;
  std::int64_t classes = 0;         // of equal graphs, with two members or more
  std::vector<Equation> equations;  // left: the representative of its class; over all variables of the setting
};

// Returns: the pairs of equal graphs. Graphs grow operator by operator from the representatives of smaller graphs; the representative of
// equal graphs is the first one found, of the fewest operators. So a graph with a part that a smaller equation would rewrite is never
// built, as its equations follow from smaller ones. Equal means: equal types, and equal values at three draws of small sizes (compared
// whole; hashes only find what to compare). Inputs of commutative operators are ordered; both parts of a split count as one operator.
// Graphs of two outputs are the splits of a graph, held against the representatives of its parts. Deterministic.
// Cost: about 2 us a graph.
[[nodiscard]] Enumerated enumerate(const Setting& setting, int operators);

// Returns: equations as "linear(x, w) = reduce[d](linear(partition[1, d](x), partition[0, d](w)))", for each operator of the setting that
// computes, over the variables in order: each input is as it is or moved by one layout operator, and the result is put together by one.
// They follow from smaller equations, but only through a step that would match anything, x = combine[0, d](partition[0, d](x)).
[[nodiscard]] std::vector<Equation> sharded_forms(const Setting& setting);

}  // namespace rules
