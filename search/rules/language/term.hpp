#pragma once
// The small graphs that substitutions are made of: operators of the rule language over variables. Start here, then:
//   rule.hpp              Equation, TypedEquation, Rule: what is proved, kept and applied
//   kind.hpp symbols.hpp  the operators, and the symbols for sizes and degrees
//   typing.hpp            types_of(): sizes and layouts; text.hpp: to_text(), parse_term()
//   ../semantics          values_of(): the whole values of terms at small sizes
//   ../axioms ../proof    axioms(), validate(), Prover: why an equation holds
//   ../generation         generate(): all rules of small graphs; ../rule_files: rules as files, builtin_rules()
//   ../matching           Matcher: where rules occur in a PCG; ../rewriting: apply(); ../selection: what a search wants
//
// A parallel tensor stands for one whole tensor (the sum over its summands, of any one copy, of its blocks put together) and has a layout:
// a degree for each dim, a number of summands, a number of copies. Typing lets summands through linear operators only, so no consumer can
// distinguish two tensors of equal value and layout. Hence two graphs are equal, wherever both are well typed, iff their outputs have equal
// layouts and equal whole values. Partition, Combine, Replicate and Reduce change the layout and leave the value alone. The typing rules
// make that true of the shards that devices hold, and are checked shard by shard (axioms/validate.hpp), not assumed.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/rules/language/kind.hpp"
#include "search/rules/language/symbols.hpp"

namespace rules {

inline constexpr int kMostRank = 4;  // images: n, c, h, w

// A type in one assignment of numbers to the symbols.
struct Type {
  std::uint8_t rank = 0;
  bool index = false;                            // elements are indices (embedding)
  std::array<std::int64_t, kMostRank> size{};    // whole sizes; 0 beyond the rank
  std::array<std::int64_t, kMostRank> degree{};  // 1 where not cut; 0 beyond the rank
  std::int64_t summands = 1, copies = 1;
  auto operator<=>(const Type&) const = default;
};
using Types = std::array<Type, kAssignments>;
[[nodiscard]] Numbers dim_size(const Types& t, std::size_t dim);    // whole, in each assignment
[[nodiscard]] Numbers dim_degree(const Types& t, std::size_t dim);  // in each assignment
[[nodiscard]] Numbers summands_of(const Types& t);
[[nodiscard]] Numbers copies_of(const Types& t);

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
  [[nodiscard]] int count(Kind k) const;  // number of nodes of this kind
  [[nodiscard]] int operators() const;    // number of nodes that are no variables
};

// Returns: the same graph in the form that parse_term gives: equal graphs over the same variables become equal terms.
[[nodiscard]] Term canonical(const Term& t);

[[nodiscard]] bool uses(const Term& t, std::size_t variable);
// Returns: whether every variable of `target` is in `source`, so that nothing has to be invented.
[[nodiscard]] bool uses_all_of(const Term& source, const Term& target);
// Returns: the node that is the other half of the split which a node is half of; nullopt where there is none.
[[nodiscard]] std::optional<std::size_t> other_half(const Term& t, std::size_t node);
// Returns: the nodes that are no variables, of two halves of a split the first alone.
[[nodiscard]] std::vector<std::size_t> whole_operators(const Term& t);

}  // namespace rules
