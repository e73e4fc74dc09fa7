#pragma once
// Bucket elimination with its tables kept, forwards and back (Dechter, Artificial Intelligence 113, 1999, section 5; a join tree of the
// operators): what the cheapest answer costs that has a given choice of an operator, for all of them in two passes.

#include <cstdint>
#include <optional>
#include <vector>

#include "search/solve/operators/elimination.hpp"

namespace search {

class BucketTree {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // A table of an operator that is eliminated. An entry is a choice of every operator in the scope, the last one's fastest; an outer entry
  // is one of all but that last one, `who`.
  struct Child {
    std::size_t bucket = 0;
    std::vector<std::size_t> strides;  // by operator of the parent's scope: from its choice to the child's outer entry
  };
  struct Bucket {
    std::uint32_t who = kNone;
    std::vector<std::uint32_t> scope;  // ends with `who`; empty: the root
    std::vector<std::size_t> sizes;    // choices, by operator of the scope
    std::vector<Child> children;       // buckets whose outer operators are all in this scope, each in one scope only
    std::vector<double> own;           // by entry: costs of `who`, and of its pairs with the others in the scope
    std::vector<double> cheapest;      // by outer entry: of this bucket and all below it
    std::vector<double> rest;          // by outer entry: the least that everything else costs
    [[nodiscard]] std::size_t choices() const { return sizes.empty() ? 1 : sizes.back(); }
  };

  // nullopt: the tables have more than `most_entries` together.
  // Requires: costs are finite.
  // Cost: O(operators^2 + entries).
  [[nodiscard]] static std::optional<BucketTree> of(const ChoiceProblem& problem, double most_entries);

  // Children before parents; the last one is the root.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  [[nodiscard]] double cheapest() const { return buckets_.back().cheapest.front(); }
  // The same of answers with a choice, [operator][choice]: min-marginals.
  [[nodiscard]] std::vector<std::vector<double>> with_choice() const;

  // Calls look(entry, outer entry, choices by operator of the scope) for each entry in order.
  template <class Look>
  static void for_each_entry(const Bucket& b, const Look& look) {
    std::vector<std::size_t> at(b.sizes.size(), 0);
    std::size_t entry = 0;
    for (bool more = true; more; ++entry) {
      look(entry, entry / b.choices(), at);
      more = false;
      for (std::size_t i = at.size(); i-- > 0 && !more;) {
        more = ++at[i] < b.sizes[i];
        if (!more) at[i] = 0;
      }
    }
  }
  [[nodiscard]] static std::size_t outer_entry(const Child& c, const std::vector<std::size_t>& at) {
    std::size_t entry = 0;
    for (std::size_t i = 0; i < at.size(); ++i) entry += at[i] * c.strides[i];
    return entry;
  }
  // The cost of the entry with the cheapest below it.
  [[nodiscard]] double value(const Bucket& b, std::size_t entry, const std::vector<std::size_t>& at) const {
    double sum = b.own[entry];
    for (const Child& c : b.children) sum += buckets_[c.bucket].cheapest[outer_entry(c, at)];
    return sum;
  }

 private:
  BucketTree() = default;
  void go_up();
  void go_down();

  std::vector<Bucket> buckets_;
};

}  // namespace search
