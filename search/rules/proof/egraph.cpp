#include "search/rules/proof/egraph.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace rules {

// Paths are halved on the way up, as in Tarjan's union-find: lookups stay short without a second pass.
Index EGraph::find(Index n) const {
  while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
  return n;
}

// Congruent nodes have one signature: it hashes the classes of the children, or, where `exact`, the children themselves.
std::uint64_t EGraph::signature(const EOperator& op, std::span<const Index> children, bool exact) const {
  base::Hash h(static_cast<std::uint64_t>(op.kind));
  h(static_cast<std::uint64_t>(op.function) << 24U | static_cast<std::uint64_t>(op.axis) << 16U | op.variable);
  h(static_cast<std::uint64_t>(op.degree.powers[0]) << 16U | static_cast<std::uint64_t>(op.degree.powers[1]) << 8U | op.degree.powers[2]);
  if (op.at[0] != 0) h(static_cast<std::uint64_t>(op.at[0]))(static_cast<std::uint64_t>(op.by[0]));
  for (const Index c : children) h(exact ? c : find(c));
  return h.value();
}

std::optional<Index> EGraph::look_up(const EOperator& op, std::span<const Index> children) const {
  const auto in_class = [&](Index n) { return find(n); };
  const auto [first, last] = signatures_.equal_range(signature(op, children, false));
  for (auto it = first; it != last; ++it)
    if (const Node& n = nodes_[it->second]; n.op == op && std::ranges::equal(n.inputs(), children, {}, in_class, in_class))
      return it->second;
  return std::nullopt;
}

Index EGraph::add(const EOperator& op, std::span<const Index> children, const Types& types) {
  const std::uint64_t key = signature(op, children, true);
  for (auto [it, last] = exact_.equal_range(key); it != last; ++it)
    if (nodes_[it->second].op == op && std::ranges::equal(nodes_[it->second].inputs(), children)) return it->second;
  // A node that is congruent to another is kept beside it, because a proof speaks of the terms as they were made.
  const std::optional<Index> congruent_one = look_up(op, children);
  const auto n = static_cast<Index>(nodes_.size());
  Node node{.op = op, .count = static_cast<std::uint8_t>(children.size())};
  std::ranges::copy(children, node.children.begin());
  nodes_.push_back(node);
  exact_.emplace(key, n);
  member_.push_back(!congruent_one);
  if (congruent_one) {
    parent_.push_back(find(*congruent_one));
    proof_.push_back({*congruent_one, kCongruence});
    classes_.emplace_back();
    return n;
  }
  parent_.push_back(n);
  proof_.push_back({});
  classes_.push_back({types, {n}, {}});
  for (const Index c : children) {
    std::vector<Index>& users = classes_[find(c)].users;
    if (users.empty() || users.back() != n) users.push_back(n);
  }
  signatures_.emplace(signature(op, children, false), n);
  return n;
}

// A merge may make users of the two classes congruent, and those are then merged, too.
void EGraph::merge(Index a, Index b, Index reason) {
  pending_.push_back({a, b, reason});
  while (!pending_.empty()) {
    const Pending p = pending_.back();
    pending_.pop_back();
    join(p.a, p.b, p.reason);
  }
}

void EGraph::join(Index a, Index b, Index reason) {
  Index x = find(a), y = find(b);
  if (x == y) return;
  BASE_CHECK(classes_[x].types == classes_[y].types, "equal terms of unequal types");
  // The smaller class moves, so that no node moves more than log n times.
  if (classes_[x].members.size() + classes_[x].users.size() > classes_[y].members.size() + classes_[y].users.size()) {
    std::swap(x, y);
    std::swap(a, b);
  }
  // x's tree hangs under b in the forest of proofs: its edges from a to its root turn round.
  Index child = a, to = b, why = reason;
  while (child != kNone) {
    const Edge old = proof_[child];
    proof_[child] = {to, why};
    to = child;
    why = old.reason;
    child = old.to;
  }
  parent_[x] = y;
  Class from = std::move(classes_[x]);
  classes_[x] = {};
  Class& into = classes_[y];
  into.members.insert(into.members.end(), from.members.begin(), from.members.end());
  for (const Index user : from.users) {
    const Node& n = nodes_[user];
    // The user's signature has changed with its child's class: it may now be that of another node.
    if (const auto other = look_up(n.op, n.inputs()); other && !same(*other, user)) pending_.push_back({user, *other, kCongruence});
    else if (!other) signatures_.emplace(signature(n.op, n.inputs(), false), user);
  }
  into.users.insert(into.users.end(), from.users.begin(), from.users.end());
}

std::set<Index> EGraph::explain(Index a, Index b) const {
  std::set<Index> reasons;
  std::vector<std::pair<Index, Index>> pending{{a, b}};
  std::set<std::pair<Index, Index>> done;
  while (!pending.empty()) {
    const auto pair = pending.back();
    pending.pop_back();
    if (!done.insert(pair).second) continue;
    // The two paths to the root of the proof tree meet at the lowest common ancestor; only the edges below it matter.
    std::vector<Index> above;
    for (Index n = pair.first; n != kNone; n = proof_[n].to) above.push_back(n);
    Index meet = pair.second;
    while (std::ranges::find(above, meet) == above.end()) meet = proof_[meet].to;
    for (const Index from : {pair.first, pair.second})
      for (Index n = from; n != meet; n = proof_[n].to) {
        const Edge& e = proof_[n];
        if (e.reason != kCongruence) {
          reasons.insert(e.reason);
          continue;
        }
        // A merge by congruence is explained by the equality of the children, which has reasons of its own.
        const Node &x = nodes_[n], &y = nodes_[e.to];
        for (std::size_t i = 0; i < x.count; ++i)
          if (x.children[i] != y.children[i]) pending.emplace_back(x.children[i], y.children[i]);
      }
  }
  return reasons;
}

}  // namespace rules
