#pragma once
// The cheapest choice for every operator, where costs are of single operators and of pairs: exact, by eliminating one operator after
// another (Jia et al., "Exploring Hidden Dimensions in Accelerating Convolutional Neural Networks", ICML'18, section 5.2, does so where an
// operator has two neighbours; the general step is bucket elimination, Dechter, Artificial Intelligence 113, 1999). Residual networks,
// transformers and towers that meet have operators of at most two neighbours until none is left. Start here: cheapest(); BucketTree keeps
// the tables of an elimination, which go back as well: what the cheapest answer costs that has a given choice, for all of them in two
// passes.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace search {

// Seconds by the choices of two operators, row by row.
struct PairCosts {
  std::size_t rows = 0, columns = 0;
  std::vector<double> seconds;
  [[nodiscard]] double at(std::size_t row, std::size_t column) const { return seconds[row * columns + column]; }
};

struct ChoiceProblem {
  struct Pair {
    std::uint32_t first, second;             // operators; `first` has the rows
    std::shared_ptr<const PairCosts> costs;  // equal pairs of a model share theirs
  };
  std::vector<std::vector<double>> costs;  // [operator][choice]; every operator has a choice
  std::vector<Pair> pairs;                 // any number of them of the same two operators
};

// Operators one after another, the one with the smallest table first (Dechter, section 5: bucket elimination as a join tree).
class BucketTree {
 public:
  // Costs that count in a table: of its operator, of a pair, or the cheapest of all below a child.
  struct Factor {
    const std::vector<double>* seconds = nullptr;  // null: of the child
    std::size_t child = 0;                         // a bucket whose outer operators are all in this scope
    std::vector<std::size_t> strides;              // by operator of the scope: from its choice to the entry
    [[nodiscard]] std::size_t entry(const std::vector<std::size_t>& at) const {
      std::size_t e = 0;
      for (std::size_t i = 0; i < strides.size(); ++i) e += at[i] * strides[i];
      return e;
    }
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // The table of an operator that is eliminated. An entry is a choice of every operator in the scope, the last one's fastest; an outer
  // entry is one of all but that last one, `who`.
  struct Bucket {
    std::uint32_t who = kNone;         // kNone: the root, whose scope are the operators that stay
    std::vector<std::uint32_t> scope;  // ends with `who`
    std::vector<std::size_t> sizes;    // choices, by operator of the scope
    std::vector<Factor> factors;
    std::vector<double> cheapest;     // by outer entry: of this bucket and all below it
    std::vector<std::uint32_t> best;  // by outer entry: the choice of `who` that is
    std::vector<double> rest;         // by outer entry: the least that everything else costs
    [[nodiscard]] std::size_t choices() const { return sizes.empty() ? 1 : sizes.back(); }
    [[nodiscard]] double entries() const;
  };

  // `stay`: operators that are not eliminated. No table is filled in yet.
  // Cost: O(operators^2 x neighbours).
  explicit BucketTree(ChoiceProblem problem, std::span<const std::uint32_t> stay = {});
  BucketTree(BucketTree&&) = default;
  BucketTree& operator=(BucketTree&&) = default;

  // Fills in `cheapest` and `best`, then `rest`, which requires that costs are finite and all are eliminated.
  // Cost: O(entries) each.
  void go_up();
  void go_down();

  // Children before parents; the last one is the root.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  [[nodiscard]] double entries() const;  // of all tables
  // Require: go_up(), and that all are eliminated. By operator.
  [[nodiscard]] double cheapest() const { return buckets_.back().cheapest.front(); }
  [[nodiscard]] std::vector<std::uint32_t> choice() const;
  // What answers with a choice cost at least, [operator][choice]: min-marginals.
  // Requires: go_down().
  [[nodiscard]] std::vector<std::vector<double>> with_choice() const;

  // Calls look(outer entry, choices by operator of the scope, cost with the cheapest below it) for each entry in order.
  template <class Look>
  void for_each_entry(const Bucket& b, const Look& look) const {
    std::vector<std::size_t> at(std::max<std::size_t>(1, b.sizes.size()), 0);
    std::vector<double> row;
    for (std::size_t outer = 0, left = at.size(); left > 0; ++outer) {
      add_up(b, at, row);
      for (at.back() = 0; at.back() < row.size(); ++at.back()) look(outer, at, row[at.back()]);
      at.back() = 0;
      for (left = at.size() - 1; left > 0 && ++at[left - 1] == b.sizes[left - 1]; --left) at[left - 1] = 0;
    }
  }

 private:
  [[nodiscard]] const std::vector<double>& costs(const Factor& f) const { return f.seconds ? *f.seconds : buckets_[f.child].cheapest; }
  // Makes `row` the costs of the choices of the last operator, where the others of the scope have made theirs.
  void add_up(const Bucket& b, const std::vector<std::size_t>& at, std::vector<double>& row) const;

  ChoiceProblem problem_;
  std::vector<Bucket> buckets_;
};

struct Chosen {
  std::vector<std::uint32_t> choice;  // per operator
  double seconds = 0;
  // Whether no other choices are cheaper. They may be where a table would have more than `most_entries`: then operators of its scope keep
  // but their cheapest choices.
  bool is_optimal = true;
  double entries = 0;  // of the tables that were gone through
};

inline constexpr double kMostEntries = 2e7;
// Cost: O(operators x c^(w + 1)) for c choices, where the eliminated operators have w neighbours.
[[nodiscard]] Chosen cheapest(const ChoiceProblem& problem, double most_entries = kMostEntries);

struct CheapestBetween {
  PairCosts costs;
  double entries = 0;
};
// The cost of the cheapest choices of all others, by the choices of two operators; of one, where they are the same, in one row.
[[nodiscard]] CheapestBetween cheapest_between(const ChoiceProblem& problem, std::uint32_t first, std::uint32_t second);

[[nodiscard]] double cost_of(const ChoiceProblem& problem, const std::vector<std::uint32_t>& choice);

using Choices = std::vector<std::uint32_t>;
[[nodiscard]] std::vector<Choices> all_choices(const ChoiceProblem& problem);  // per operator, ascending
// The problem of some choices of each operator, and its choices by their numbers in the whole problem.
[[nodiscard]] ChoiceProblem restricted(const ChoiceProblem& problem, const std::vector<Choices>& left);
[[nodiscard]] Choices in_all(const std::vector<Choices>& left, Choices choice);

}  // namespace search
