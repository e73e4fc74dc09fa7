#include "search/solve/operators/elimination.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace search {
namespace {

constexpr std::size_t kFewest = 4;  // choices that an operator keeps where a table would be too large
constexpr double kUnknownYet = std::numeric_limits<double>::infinity();

// Which operators share costs, those that are left.
class Neighbours {
 public:
  explicit Neighbours(const ChoiceProblem& problem) : problem_(problem), of_(problem.costs.size()) {
    for (const ChoiceProblem::Pair& p : problem.pairs) join({p.first, p.second});
  }
  [[nodiscard]] double table_size(std::uint32_t who) const {
    auto entries = static_cast<double>(problem_.costs[who].size());
    for (const std::uint32_t n : of_[who]) entries *= static_cast<double>(problem_.costs[n].size());
    return entries;
  }
  // Returns: its neighbours, ascending, which then are neighbours of each other.
  std::vector<std::uint32_t> eliminate(std::uint32_t who) {
    std::vector<std::uint32_t> around(of_[who].begin(), of_[who].end());
    for (const std::uint32_t a : around) of_[a].erase(who);
    join(around);
    return around;
  }

 private:
  void join(const std::vector<std::uint32_t>& together) {
    for (const std::uint32_t a : together)
      for (const std::uint32_t b : together)
        if (a != b) of_[a].insert(b);
  }

  const ChoiceProblem& problem_;
  std::vector<std::set<std::uint32_t>> of_;
};

std::size_t place_of(const BucketTree::Bucket& b, std::uint32_t who) {
  return static_cast<std::size_t>(std::ranges::find(b.scope, who) - b.scope.begin());
}

// A tree none of whose tables is too large, over the choices that are left.
struct SmallTree {
  BucketTree tree;
  std::vector<Choices> left;
  bool has_all;  // none had to be left out
};

SmallTree small_tree(const ChoiceProblem& problem, std::span<const std::uint32_t> stay, double most_entries) {
  std::vector<Choices> left = all_choices(problem);
  for (bool has_all = true;; has_all = false) {
    BucketTree tree(has_all ? problem : restricted(problem, left), stay);
    Choices* largest = nullptr;
    for (const BucketTree::Bucket& b : tree.buckets()) {
      if (b.entries() <= most_entries) continue;
      for (const std::uint32_t o : b.scope)
        if (o != b.who && std::ranges::find(stay, o) == stay.end() && left[o].size() > std::max(kFewest, largest ? largest->size() : 0))
          largest = &left[o];
      if (largest) break;
    }
    if (!largest) {
      tree.go_up();
      return {std::move(tree), std::move(left), has_all};
    }
    const std::vector<double>& costs = problem.costs[static_cast<std::size_t>(largest - left.data())];
    std::ranges::stable_sort(*largest, {}, [&](std::uint32_t c) { return costs[c]; });
    largest->resize(std::max(kFewest, largest->size() / 2));
    std::ranges::sort(*largest);
  }
}

}  // namespace

BucketTree::BucketTree(ChoiceProblem problem, std::span<const std::uint32_t> stay) : problem_(std::move(problem)) {
  Neighbours neighbours(problem_);
  const std::size_t count = problem_.costs.size();
  std::vector<std::size_t> bucket_of(count, count);  // `count`: not yet
  for (const std::uint32_t o : stay) bucket_of[o] = count - stay.size();
  std::vector<bool> is_counted(problem_.pairs.size(), false);
  buckets_.reserve(count + 1);
  const auto add_bucket = [&](std::uint32_t who, std::vector<std::uint32_t> scope) {
    Bucket& b = buckets_.emplace_back();
    b.who = who;
    b.scope = std::move(scope);
    for (const std::uint32_t o : b.scope) b.sizes.push_back(problem_.costs[o].size());
    const auto add = [&](const std::vector<double>& seconds) -> std::vector<std::size_t>& {
      return b.factors.emplace_back(Factor{&seconds, 0, std::vector<std::size_t>(b.scope.size(), 0)}).strides;
    };
    for (const std::uint32_t o : b.scope)
      if (o == who || who == kNone) add(problem_.costs[o])[place_of(b, o)] = 1;
    for (std::size_t p = 0; p < problem_.pairs.size(); ++p) {
      const ChoiceProblem::Pair& pair = problem_.pairs[p];
      if (is_counted[p] || (who != kNone && pair.first != who && pair.second != who)) continue;
      is_counted[p] = true;
      std::vector<std::size_t>& strides = add(pair.costs->seconds);
      strides[place_of(b, pair.first)] += pair.costs->columns;
      strides[place_of(b, pair.second)] += 1;
    }
  };
  std::vector<std::uint32_t> order;
  std::vector<std::vector<std::uint32_t>> scopes;
  while (order.size() + stay.size() < count) {
    std::uint32_t who = kNone;
    double smallest = kUnknownYet;
    for (std::uint32_t o = 0; o < count; ++o) {
      if (bucket_of[o] < count || neighbours.table_size(o) >= smallest) continue;
      who = o;
      smallest = neighbours.table_size(o);
    }
    bucket_of[who] = order.size();
    order.push_back(who);
    scopes.push_back(neighbours.eliminate(who));
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    // Of the neighbours the one that is eliminated first is last: its bucket goes through this one's table in the order of memory.
    std::ranges::stable_sort(scopes[k], std::greater{}, [&](std::uint32_t o) { return bucket_of[o]; });
    scopes[k].push_back(order[k]);
    add_bucket(order[k], std::move(scopes[k]));
  }
  add_bucket(kNone, {stay.begin(), stay.end()});
  for (std::size_t k = 0; k + 1 < buckets_.size(); ++k) {
    const Bucket& child = buckets_[k];
    std::size_t parent = buckets_.size() - 1;  // where none of its neighbours is left
    for (std::size_t i = 0; i + 1 < child.scope.size(); ++i) parent = std::min(parent, bucket_of[child.scope[i]]);
    Factor f{nullptr, k, std::vector<std::size_t>(buckets_[parent].scope.size(), 0)};
    for (std::size_t i = child.scope.size() - 1, stride = 1; i-- > 0; stride *= child.sizes[i])
      f.strides[place_of(buckets_[parent], child.scope[i])] = stride;
    buckets_[parent].factors.push_back(std::move(f));
  }
}

double BucketTree::Bucket::entries() const {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0, [](double all, std::size_t n) { return all * static_cast<double>(n); });
}

double BucketTree::entries() const {
  return std::accumulate(buckets_.begin(), buckets_.end(), 0.0, [](double all, const Bucket& b) { return all + b.entries(); });
}

void BucketTree::add_up(const Bucket& b, const std::vector<std::size_t>& at, std::vector<double>& row) const {
  row.assign(b.choices(), 0);
  for (const Factor& f : b.factors) {
    const double* seconds = costs(f).data() + f.entry(at);
    const std::size_t stride = f.strides.empty() ? 0 : f.strides.back();
    for (std::size_t c = 0; c < row.size(); ++c) row[c] += seconds[c * stride];
  }
}

void BucketTree::go_up() {
  for (Bucket& b : buckets_) {
    b.cheapest.assign(static_cast<std::size_t>(b.entries()) / b.choices(), kUnknownYet);
    b.best.assign(b.cheapest.size(), 0);
    for_each_entry(b, [&](std::size_t outer, const std::vector<std::size_t>& at, double value) {
      if (value >= b.cheapest[outer]) return;
      b.cheapest[outer] = value;
      b.best[outer] = static_cast<std::uint32_t>(at.back());
    });
  }
}

void BucketTree::go_down() {
  for (Bucket& b : buckets_) b.rest.assign(b.cheapest.size(), kUnknownYet);
  buckets_.back().rest = {0.0};
  for (std::size_t k = buckets_.size(); k-- > 0;) {
    const Bucket& b = buckets_[k];
    for_each_entry(b, [&](std::size_t outer, const std::vector<std::size_t>& at, double value) {
      for (const Factor& f : b.factors) {
        if (f.seconds) continue;
        Bucket& child = buckets_[f.child];
        const std::size_t o = f.entry(at);
        child.rest[o] = std::min(child.rest[o], value + b.rest[outer] - child.cheapest[o]);
      }
    });
  }
}

std::vector<std::uint32_t> BucketTree::choice() const {
  std::vector<std::uint32_t> choice(problem_.costs.size(), 0);
  // The one eliminated last knows its choice; with it the one before, and so on.
  for (std::size_t k = buckets_.size() - 1; k-- > 0;) {
    const Bucket& b = buckets_[k];
    std::size_t outer = 0;
    for (std::size_t i = 0; i + 1 < b.scope.size(); ++i) outer = outer * b.sizes[i] + choice[b.scope[i]];
    choice[b.who] = b.best[outer];
  }
  return choice;
}

std::vector<std::vector<double>> BucketTree::with_choice() const {
  std::vector<std::vector<double>> least;
  for (const std::vector<double>& costs : problem_.costs) least.emplace_back(costs.size(), kUnknownYet);
  for (const Bucket& b : std::span(buckets_).first(buckets_.size() - 1))
    for_each_entry(b, [&](std::size_t outer, const std::vector<std::size_t>& at, double value) {
      double& with = least[b.who][at.back()];
      with = std::min(with, value + b.rest[outer]);
    });
  return least;
}

Chosen cheapest(const ChoiceProblem& problem, double most_entries) {
  const SmallTree small = small_tree(problem, {}, most_entries);
  return {in_all(small.left, small.tree.choice()), small.tree.cheapest(), small.has_all, small.tree.entries()};
}

CheapestBetween cheapest_between(const ChoiceProblem& problem, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t both[] = {first, second};
  const SmallTree small = small_tree(problem, std::span(both).subspan(first == second ? 1 : 0), kMostEntries);
  PairCosts costs{first == second ? 1 : problem.costs[first].size(), problem.costs[second].size(), {}};
  small.tree.for_each_entry(small.tree.buckets().back(),
                            [&](std::size_t, const std::vector<std::size_t>&, double value) { costs.seconds.push_back(value); });
  return {std::move(costs), small.tree.entries()};
}

std::vector<Choices> all_choices(const ChoiceProblem& problem) {
  std::vector<Choices> all;
  for (const std::vector<double>& costs : problem.costs) {
    all.emplace_back(costs.size());
    std::iota(all.back().begin(), all.back().end(), 0U);
  }
  return all;
}

ChoiceProblem restricted(const ChoiceProblem& problem, const std::vector<Choices>& left) {
  ChoiceProblem fewer;
  for (std::size_t o = 0; o < left.size(); ++o) {
    std::vector<double>& costs = fewer.costs.emplace_back();
    for (const std::uint32_t c : left[o]) costs.push_back(problem.costs[o][c]);
  }
  for (const ChoiceProblem::Pair& p : problem.pairs) {
    PairCosts costs{left[p.first].size(), left[p.second].size(), {}};
    for (const std::uint32_t r : left[p.first])
      for (const std::uint32_t c : left[p.second]) costs.seconds.push_back(p.costs->at(r, c));
    fewer.pairs.push_back({p.first, p.second, std::make_shared<PairCosts>(std::move(costs))});
  }
  return fewer;
}

Choices in_all(const std::vector<Choices>& left, Choices choice) {
  for (std::size_t o = 0; o < choice.size(); ++o) choice[o] = left[o][choice[o]];
  return choice;
}

double cost_of(const ChoiceProblem& problem, const std::vector<std::uint32_t>& choice) {
  double seconds = 0;
  for (std::size_t o = 0; o < choice.size(); ++o) seconds += problem.costs[o][choice[o]];
  for (const ChoiceProblem::Pair& p : problem.pairs) seconds += p.costs->at(choice[p.first], choice[p.second]);
  return seconds;
}

}  // namespace search
