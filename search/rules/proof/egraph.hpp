#pragma once
// Terms and the equalities known among them: hash-consed nodes, classes closed under congruence, and a reason for every merge, so that the
// axiom instances which make two nodes equal can be listed. Every class has one type.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "search/rules/language/term.hpp"

namespace rules {

using Index = std::uint32_t;

using EOperator = Node;  // an operator with its attributes; children are apart, so it has no inputs

class EGraph {
 public:
  struct Node {
    EOperator op;
    std::array<Index, 3> children{};  // nodes, as they were made
    std::uint8_t count = 0;
    [[nodiscard]] std::span<const Index> inputs() const { return std::span(children).first(count); }
  };

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const Node& node(Index n) const { return nodes_[n]; }
  // Returns: the class of a node, named by one of its nodes.
  [[nodiscard]] Index find(Index n) const;
  [[nodiscard]] const Types& types(Index n) const { return classes_[find(n)].types; }
  [[nodiscard]] const std::vector<Index>& members(Index n) const { return classes_[find(n)].members; }
  [[nodiscard]] bool is_member(Index n) const { return member_[n]; }
  [[nodiscard]] bool same(Index a, Index b) const { return find(a) == find(b); }

  // Returns: a node congruent to this one, if there is one.
  [[nodiscard]] std::optional<Index> look_up(const EOperator& op, std::span<const Index> children) const;
  // Returns: the node with exactly these children, made if it is not there; of `types`. A node that is congruent to another joins its class
  // at once and is no member of it: it is there for proofs, which speak of terms as they were made.
  Index add(const EOperator& op, std::span<const Index> children, const Types& types);
  // Makes two nodes equal; `reason` is the caller's number for why they are.
  // Requires: equal types.
  void merge(Index a, Index b, Index reason);
  // Returns: the reasons that make a and b equal.
  // Requires: same(a, b).
  [[nodiscard]] std::set<Index> explain(Index a, Index b) const;

 private:
  static constexpr Index kNone = ~Index{0};
  static constexpr Index kCongruence = kNone - 1;
  struct Class {
    Types types;
    std::vector<Index> members;
    std::vector<Index> users;  // nodes that have a member as a child
  };
  struct Edge {
    Index to = kNone;
    Index reason = kNone;
  };

  [[nodiscard]] std::uint64_t signature(const EOperator& op, std::span<const Index> children, bool exact) const;
  void join(Index a, Index b, Index reason);

  std::vector<Node> nodes_;
  mutable std::vector<Index> parent_;
  std::vector<Class> classes_;  // by node; empty where the node does not name its class
  std::vector<bool> member_;    // by node: not one that joined its class by congruence when it was made
  std::vector<Edge> proof_;     // by node: a forest whose trees are the classes
  std::unordered_multimap<std::uint64_t, Index> signatures_, exact_;  // of members by their children's classes; of all by their children
  struct Pending {
    Index a, b, reason;
  };
  std::vector<Pending> pending_;
};

}  // namespace rules
