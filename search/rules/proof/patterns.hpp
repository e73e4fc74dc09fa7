#pragma once
// Axioms made ready for instantiation in an e-graph: one pattern for all instances that differ only in the sizes of their variables.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "search/rules/axioms/axioms.hpp"
#include "search/rules/proof/egraph.hpp"

namespace rules {

// The size of one dim of a variable: a letter; '\0' and a number for a plain size; '\0' and 0 for a sum of letters, which is
// not matched here: typing checks it.
struct DimPattern {
  char letter = 0;
  std::int64_t number = 0;
};
struct VariablePattern {
  bool used = false, index = false;
  std::vector<DimPattern> dims;
};

struct AxiomPattern {
  std::size_t entry = 0;
  Term sides[2];
  std::vector<std::vector<VariablePattern>> variables;  // one list per instance: one of them must fit
  // by side and node: the letters of `at` and `by`
  std::vector<DimPattern> at[2], by[2];
};

// A node of a side whose match makes every symbol of the instance identifiable. Where none does, the variables left may be any term.
struct Trigger {
  std::size_t pattern = 0;
  int side = 0;
  std::uint8_t node = 0;
};

struct Patterns {
  std::vector<AxiomPattern> all;
  // By the trigger's kind, function and axis.
  std::map<std::tuple<Kind, Function, std::uint8_t>, std::vector<Trigger>> triggers;
};
[[nodiscard]] Patterns compile(const Axioms& axioms);

// A binding says what a pattern's symbols stand for.
struct Binding {
  static constexpr Index kUnbound = ~Index{0};
  std::array<Index, 8> variables;  // nodes
  std::array<std::optional<Degree>, 2> degrees;
  std::array<std::optional<Numbers>, 26> letters;
  Binding() { variables.fill(kUnbound); }
  // Returns: whether the pattern's letter, if it has one, may stand for these sizes; it does from now on.
  bool bind(const DimPattern& d, const Numbers& sizes);
};
// Calls `found` for every binding under which the trigger's node matches e-node `n`.
void match(const AxiomPattern& p, const Trigger& t, const EGraph& graph, Index n, const std::function<void(const Binding&)>& found);
// Binds letters by the variables' types.
// Returns: false when no instance of the axiom is about such variables.
[[nodiscard]] bool fits(const AxiomPattern& p, const EGraph& graph, Binding& b);
// Returns: the operator of a pattern's node under a binding.
[[nodiscard]] EOperator operator_of(const AxiomPattern& p, int side, std::uint8_t node, const Binding& b);

}  // namespace rules
