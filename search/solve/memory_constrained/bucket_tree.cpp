#include "search/solve/memory_constrained/bucket_tree.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace search {
namespace {

constexpr double kUnknownYet = std::numeric_limits<double>::infinity();

// Costs of operators alone, and of pairs of two, each pair once.
class Network {
 public:
  explicit Network(const ChoiceProblem& problem) : problem_(problem), neighbours_(problem.costs.size()) {
    for (const ChoiceProblem::Pair& p : problem.pairs) {
      pairs_[std::minmax(p.first, p.second)].push_back(&p);
      if (p.first == p.second) continue;
      neighbours_[p.first].insert(p.second);
      neighbours_[p.second].insert(p.first);
    }
  }

  // Costs of an operator with the others in its scope.
  [[nodiscard]] std::vector<double> own(const BucketTree::Bucket& b) const {
    struct Term {
      const PairCosts* costs;
      std::size_t row, column;  // places in the scope
    };
    std::vector<Term> terms;
    for (std::size_t i = 0; i < b.scope.size(); ++i) {
      const auto found = pairs_.find(std::minmax(b.scope[i], b.who));
      if (found == pairs_.end()) continue;
      for (const ChoiceProblem::Pair* p : found->second)
        terms.push_back({p->costs.get(), p->first == b.who ? b.scope.size() - 1 : i, p->second == b.who ? b.scope.size() - 1 : i});
    }
    std::vector<double> costs;
    BucketTree::for_each_entry(b, [&](std::size_t, std::size_t, const std::vector<std::size_t>& at) {
      double sum = problem_.costs[b.who][at.back()];
      for (const Term& t : terms) sum += t.costs->at(at[t.row], at[t.column]);
      costs.push_back(sum);
    });
    return costs;
  }

  [[nodiscard]] double table_size(std::uint32_t who) const {
    auto entries = static_cast<double>(problem_.costs[who].size());
    for (const std::uint32_t n : neighbours_[who]) entries *= static_cast<double>(problem_.costs[n].size());
    return entries;
  }

  // Returns: its neighbours, ascending, which then are neighbours of each other.
  std::vector<std::uint32_t> eliminate(std::uint32_t who) {
    std::vector<std::uint32_t> around(neighbours_[who].begin(), neighbours_[who].end());
    for (const std::uint32_t a : around) {
      neighbours_[a].erase(who);
      for (const std::uint32_t b : around)
        if (a != b) neighbours_[a].insert(b);
    }
    return around;
  }

 private:
  const ChoiceProblem& problem_;
  std::vector<std::set<std::uint32_t>> neighbours_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const ChoiceProblem::Pair*>> pairs_;
};

// From choices of a parent's scope to the outer entry of a child.
std::vector<std::size_t> strides_of(const BucketTree::Bucket& parent, const BucketTree::Bucket& child) {
  std::vector<std::size_t> strides(parent.scope.size(), 0);
  std::size_t stride = 1;
  for (std::size_t i = child.scope.size() - 1; i-- > 0;) {
    strides[static_cast<std::size_t>(std::ranges::find(parent.scope, child.scope[i]) - parent.scope.begin())] = stride;
    stride *= child.sizes[i];
  }
  return strides;
}

}  // namespace

std::optional<BucketTree> BucketTree::of(const ChoiceProblem& problem, double most_entries) {
  Network network(problem);
  BucketTree tree;
  std::vector<bool> gone(problem.costs.size(), false);
  std::vector<std::size_t> bucket_of(problem.costs.size(), 0);
  double entries = 0;
  for (std::size_t left = problem.costs.size(); left > 0; --left) {
    std::uint32_t who = kNone;
    double smallest = std::numeric_limits<double>::infinity();
    for (std::uint32_t o = 0; o < gone.size(); ++o) {
      if (gone[o] || network.table_size(o) >= smallest) continue;
      who = o;
      smallest = network.table_size(o);
    }
    entries += smallest;
    if (entries > most_entries) return std::nullopt;
    gone[who] = true;
    bucket_of[who] = tree.buckets_.size();
    Bucket& b = tree.buckets_.emplace_back();
    b.who = who;
    b.scope = network.eliminate(who);
    b.scope.push_back(who);
    for (const std::uint32_t o : b.scope) b.sizes.push_back(problem.costs[o].size());
    b.own = network.own(b);
  }
  tree.buckets_.emplace_back().own = {0.0};
  for (std::size_t k = 0; k + 1 < tree.buckets_.size(); ++k) {
    const std::vector<std::uint32_t>& scope = tree.buckets_[k].scope;
    std::size_t parent = tree.buckets_.size() - 1;  // where none of its neighbours is left
    for (std::size_t i = 0; i + 1 < scope.size(); ++i) parent = std::min(parent, bucket_of[scope[i]]);
    tree.buckets_[parent].children.push_back({k, strides_of(tree.buckets_[parent], tree.buckets_[k])});
  }
  tree.go_up();
  tree.go_down();
  return tree;
}

void BucketTree::go_up() {
  for (Bucket& b : buckets_) {
    b.cheapest.assign(b.own.size() / b.choices(), kUnknownYet);
    b.rest.assign(b.cheapest.size(), kUnknownYet);
    for_each_entry(b, [&](std::size_t entry, std::size_t outer, const std::vector<std::size_t>& at) {
      b.cheapest[outer] = std::min(b.cheapest[outer], value(b, entry, at));
    });
  }
}

void BucketTree::go_down() {
  buckets_.back().rest = {0.0};
  for (std::size_t k = buckets_.size(); k-- > 0;) {
    const Bucket& b = buckets_[k];
    for_each_entry(b, [&](std::size_t entry, std::size_t outer, const std::vector<std::size_t>& at) {
      const double all = value(b, entry, at) + b.rest[outer];
      for (const Child& c : b.children) {
        Bucket& child = buckets_[c.bucket];
        const std::size_t o = outer_entry(c, at);
        child.rest[o] = std::min(child.rest[o], all - child.cheapest[o]);
      }
    });
  }
}

std::vector<std::vector<double>> BucketTree::with_choice() const {
  std::vector<std::vector<double>> costs(buckets_.size() - 1);
  for (const Bucket& b : buckets_) {
    if (b.who == kNone) continue;
    std::vector<double>& least = costs[b.who];
    least.assign(b.choices(), kUnknownYet);
    for_each_entry(b, [&](std::size_t entry, std::size_t outer, const std::vector<std::size_t>& at) {
      least[at.back()] = std::min(least[at.back()], value(b, entry, at) + b.rest[outer]);
    });
  }
  return costs;
}

}  // namespace search
