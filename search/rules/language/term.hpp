#pragma once
// The small graphs that substitutions are made of: operators of the rule language over variables. Not here: types (typing.hpp), values
// (meaning/values.hpp), texts (text.hpp, parse.hpp).
//
// Typing lets summands through linear operators only, so nothing that may consume a tensor can tell two of the same meaning and the same
// layout (type.hpp) apart. Hence two graphs are equal, in every context where both are well typed, iff their outputs have equal layouts and
// equal whole values. Partition, Combine, Replicate and Reduce change the layout and leave the value alone. The typing rules of the
// operators make that true of the shards that devices hold, and those rules are checked shard by shard (axioms/validate.hpp), not assumed.

#include <cstdint>
#include <string>
#include <vector>

#include "search/rules/language/kind.hpp"
#include "search/rules/language/symbols.hpp"
#include "search/rules/language/type.hpp"

namespace rules {

struct Node {
  Kind kind = Kind::variable;
  Function function = Function::none;
  std::uint8_t axis = 0;
  Degree degree;
  Numbers at{};                      // splits: position of the cut, in the typing sizes of each assignment; constants: their size
  Numbers by{};                      // ones: the second size
  std::vector<std::uint8_t> inputs;  // earlier nodes; variables have none
  std::uint8_t variable = 0;         // variables: which one
  auto operator<=>(const Node&) const = default;
};

// A variable of a rule: its name and its types. The sizes of two variables' dims are equal iff they are so in every assignment.
struct Variable {
  std::string name;  // "x", "y", "w", "u": unique in a rule
  Types types;
  bool operator==(const Variable&) const = default;
};

// The most nodes of a term that is read. Nodes are numbered by a byte, in which the forms that the prover adds need room; no known rule has
// more than 30.
inline constexpr std::size_t kMostTermNodes = 100;

// Nodes in topological order; variables are nodes too. Every node but variables is used by a later one or is an output.
struct Term {
  std::vector<Node> nodes;
  std::vector<std::uint8_t> outputs;  // nodes
  auto operator<=>(const Term&) const = default;
  [[nodiscard]] int operators() const;  // number of nodes that are no variables
};

// Returns the same graph in the form that parse_term gives: equal graphs over the same variables become equal terms.
[[nodiscard]] Term canonical(const Term& t);

// Returns whether some node of the term is this variable.
[[nodiscard]] bool uses(const Term& t, std::size_t variable);

}  // namespace rules
