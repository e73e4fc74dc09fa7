#pragma once
// An e-graph of the two sides of an equation, grown by instances of axioms until the sides are one.

#include <bitset>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "search/rules/proof/egraph.hpp"
#include "search/rules/proof/patterns.hpp"

namespace rules {

struct GroundEquation {
  Index left = 0, right = 0;  // nodes
};

struct Instance {
  std::size_t pattern = 0;
  GroundEquation equation;
};

class Saturation {
 public:
  // The entry of the axioms whose number is `without` is not used.
  Saturation(const Patterns& patterns, const TypedEquation& e, std::optional<std::size_t> without);

  // Grows until the sides are one, nothing new comes, or the limits are met.
  // Returns: whether the sides are one. Makes only operators of `kinds`.
  bool grow(int rounds, std::size_t most_nodes, const std::bitset<kKinds>& kinds);
  // Adds terms that growing never makes: on every term, the layout operators that undo each other (x = partition(combine(x))), by the
  // degrees that the two sides name.
  void expand();
  [[nodiscard]] bool merged() const;
  // Returns: the instances that make the outputs equal.
  // Requires: merged().
  [[nodiscard]] std::vector<Instance> used() const;
  [[nodiscard]] const EGraph& graph() const { return graph_; }
  [[nodiscard]] std::span<const GroundEquation> goals() const { return goals_; }

 private:
  struct Found {
    std::size_t pattern;
    Binding binding;
  };
  [[nodiscard]] std::vector<Found> matches();
  void instantiate(const Found& f, const std::bitset<kKinds>& kinds);

  const Patterns& patterns_;
  std::optional<std::size_t> without_;
  EGraph graph_;
  std::vector<GroundEquation> goals_;
  std::vector<Instance> instances_;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace rules
