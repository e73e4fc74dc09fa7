#include "search/solve/mapping/mapping.hpp"

#include <algorithm>
#include <set>

namespace search {
namespace {

Flow turned(Flow f) { return f == Flow::forward ? Flow::backward : f == Flow::backward ? Flow::forward : Flow::mixed; }

std::uint64_t code_of(const BranchTree& tree, BranchRef r) {
  return (static_cast<std::uint64_t>(tree.branches[r.branch].shape) << 1U) | static_cast<std::uint64_t>(r.reversed);
}

class Reduction {
 public:
  Reduction(std::vector<KindNumber> kinds, const std::vector<std::uint32_t>& ends, BranchShapes& shapes)
      : shapes_(shapes), is_left_(kinds.size(), true), is_end_(kinds.size(), false), around_(kinds.size()) {
    tree_.hanging.resize(kinds.size());
    tree_.kinds = std::move(kinds);
    for (const std::uint32_t e : ends) is_end_[e] = true;
  }

  BranchTree run(const std::vector<OperatorEdge>& edges) {
    for (const OperatorEdge& e : edges) add_edge(e);
    while (const std::optional<std::uint32_t> next = easiest()) take_out(*next);
    for (std::uint32_t o = 0; o < is_left_.size(); ++o)
      if (is_left_[o]) tree_.core.push_back(o);
    for (auto& [ends, parts] : between_) tree_.between[ends] = joined(std::move(parts));
    for (std::vector<BranchRef>& hanging : tree_.hanging)
      if (!hanging.empty()) hanging = {joined(std::move(hanging))};
    return std::move(tree_);
  }

 private:
  [[nodiscard]] Flow flow_of(BranchRef r) const {
    const Flow f = tree_.branches[r.branch].flow;
    return r.reversed ? turned(f) : f;
  }
  // Equal branches have one shape.
  BranchRef add(Branch b, const std::vector<std::uint64_t>& shape) {
    b.shape = shapes_.number(shape);
    tree_.branches.push_back(std::move(b));
    return {static_cast<std::uint32_t>(tree_.branches.size() - 1), false};
  }
  // Branches that go the same way are a group of their own.
  BranchRef joined(std::vector<BranchRef> parts) {
    std::vector<BranchRef> groups;
    for (const Flow f : {Flow::forward, Flow::backward, Flow::mixed}) {
      std::vector<BranchRef> same;
      std::ranges::copy_if(parts, std::back_inserter(same), [&](BranchRef r) { return flow_of(r) == f; });
      if (!same.empty()) groups.push_back(group_of(std::move(same), f));
    }
    return group_of(std::move(groups), Flow::mixed);
  }
  BranchRef group_of(std::vector<BranchRef> parts, Flow flow) {
    if (parts.size() == 1) return parts.front();
    // Equal branches next to each other: groups that differ in order alone are alike.
    std::ranges::stable_sort(parts, {}, [&](BranchRef r) { return code_of(tree_, r); });
    Branch b;
    b.form = Branch::Form::group;
    b.flow = flow;
    b.has_operators = std::ranges::any_of(parts, [&](BranchRef r) { return tree_.branches[r.branch].has_operators; });
    std::vector<std::uint64_t> shape{2, static_cast<std::uint64_t>(flow)};
    for (const BranchRef r : parts) shape.push_back(code_of(tree_, r));
    b.parts = std::move(parts);
    return add(std::move(b), shape);
  }

  void add_edge(const OperatorEdge& e) {
    Branch b;
    b.edge = e;
    const std::vector<std::uint64_t> shape{0, e.kind.from, e.kind.output, e.kind.to, e.kind.input, e.kind.has_gradient ? 1U : 0U};
    put_between(e.from, e.to, add(std::move(b), shape));
  }

  void put_between(std::uint32_t first, std::uint32_t second, BranchRef r) {
    if (first > second) {
      std::swap(first, second);
      r.reversed = !r.reversed;
    }
    between_[{first, second}].push_back(r);
    around_[first].insert(second);
    around_[second].insert(first);
  }

  // Branches that go one way through it first, so that branches between a fork and a join are seen as such; then what hangs.
  [[nodiscard]] std::optional<std::uint32_t> easiest() const {
    std::optional<std::uint32_t> best;
    int least = 4;
    for (std::uint32_t o = 0; o < is_left_.size(); ++o) {
      if (!is_left_[o] || is_end_[o] || around_[o].size() > 2) continue;
      const int rank = rank_of(o);
      if (rank >= least) continue;
      best = o;
      least = rank;
    }
    return best;
  }

  [[nodiscard]] int rank_of(std::uint32_t o) const {
    if (around_[o].size() < 2) return around_[o].empty() || goes(o, *around_[o].begin(), Flow::forward) ? 1 : 2;
    const std::uint32_t a = *around_[o].begin(), b = *around_[o].rbegin();
    const bool is_through =
        (goes(a, o, Flow::forward) && goes(o, b, Flow::forward)) || (goes(b, o, Flow::forward) && goes(o, a, Flow::forward));
    return is_through ? 0 : 3;
  }

  [[nodiscard]] bool goes(std::uint32_t first, std::uint32_t second, Flow flow) const {
    return std::ranges::all_of(between_.at(std::minmax(first, second)),
                               [&](BranchRef r) { return (first < second ? flow_of(r) : turned(flow_of(r))) == flow; });
  }

  BranchRef take_between(std::uint32_t first, std::uint32_t second) {
    const auto at = between_.find(std::minmax(first, second));
    BranchRef r = joined(std::move(at->second));
    between_.erase(at);
    around_[first].erase(second);
    around_[second].erase(first);
    if (first > second) r.reversed = !r.reversed;
    return r;
  }

  void take_out(std::uint32_t o) {
    is_left_[o] = false;
    if (around_[o].empty()) {  // a part of the graph by itself
      tree_.core.push_back(o);
      return;
    }
    Branch b;
    b.form = Branch::Form::series;
    b.has_operators = true;
    b.centre = o;
    if (!tree_.hanging[o].empty()) b.hanging = {joined(std::move(tree_.hanging[o]))};
    tree_.hanging[o].clear();
    std::vector<std::uint64_t> shape{1, tree_.kinds[o]};
    for (const BranchRef r : b.hanging) shape.push_back(code_of(tree_, r));
    shape.push_back(UINT64_MAX);
    if (around_[o].size() == 1) {
      const std::uint32_t w = *around_[o].begin();
      b.after = take_between(o, w);
      b.flow = flow_of(b.after);
      shape.push_back(code_of(tree_, b.after));
      tree_.hanging[w].push_back(add(std::move(b), shape));
      return;
    }
    std::uint32_t first = *around_[o].begin(), second = *around_[o].rbegin();
    if (goes(o, first, Flow::forward) && goes(second, o, Flow::forward)) std::swap(first, second);
    b.before = take_between(first, o);
    b.after = take_between(o, second);
    b.flow = flow_of(*b.before) == flow_of(b.after) ? flow_of(b.after) : Flow::mixed;
    shape.push_back(code_of(tree_, *b.before));
    shape.push_back(code_of(tree_, b.after));
    put_between(first, second, add(std::move(b), shape));
  }

  BranchShapes& shapes_;
  BranchTree tree_;
  std::vector<bool> is_left_, is_end_;
  std::vector<std::set<std::uint32_t>> around_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<BranchRef>> between_;  // the first end is the lower number
};

}  // namespace

std::uint32_t BranchShapes::number(const std::vector<std::uint64_t>& shape) {
  return numbers_.try_emplace(shape, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

BranchTree branch_tree(std::vector<KindNumber> kinds, const std::vector<OperatorEdge>& edges, const std::vector<std::uint32_t>& ends,
                       BranchShapes& shapes) {
  return Reduction(std::move(kinds), ends, shapes).run(edges);
}

std::uint32_t shape_of_group(const BranchTree& tree, const std::vector<BranchRef>& parts, BranchShapes& shapes) {
  std::vector<std::uint64_t> shape{3};
  for (const BranchRef r : parts) shape.push_back(code_of(tree, r));
  return shapes.number(shape);
}

}  // namespace search
