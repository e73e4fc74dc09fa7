#include "search/solve/memory_constrained/cheapest_within.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/solve/operators/dead_ends.hpp"

namespace search {
namespace {

constexpr double kNoCheaper = 1e-6;  // a share: what is cheaper by less is not looked for
constexpr double kSameLine = 1e-10;  // a share: a price that gains less than this is the best
constexpr int kMostPrices = 60;      // that are tried; each moves to another corner of the front
constexpr int kMostPasses = 20;      // over all operators, for choices that are better by themselves

using Choice = std::vector<std::uint32_t>;

ConstrainedProblem only(const ConstrainedProblem& problem, const std::vector<Choice>& left) {
  ConstrainedProblem p{restricted(problem.choices, left), {}, problem.limit};
  for (std::size_t o = 0; o < left.size(); ++o) {
    std::vector<double>& bytes = p.bytes.emplace_back();
    for (const std::uint32_t c : left[o]) bytes.push_back(problem.bytes[o][c]);
  }
  return p;
}

Choice in_all(const std::vector<Choice>& left, Choice choice) {
  for (std::size_t o = 0; o < choice.size(); ++o) choice[o] = left[o][choice[o]];
  return choice;
}

class Within {
 public:
  Within(const ConstrainedProblem& problem, const FindOut& find_out, const Budget& budget, const ConstrainedEffort& effort)
      : problem_(problem), find_out_(find_out), budget_(budget), effort_(effort), pairs_of_(problem.bytes.size()) {
    for (std::uint32_t p = 0; p < problem.choices.pairs.size(); ++p) {
      pairs_of_[problem.choices.pairs[p].first].push_back(p);
      if (problem.choices.pairs[p].second != problem.choices.pairs[p].first) pairs_of_[problem.choices.pairs[p].second].push_back(p);
    }
  }

  ConstrainedChoice run() {
    const std::optional<Choice> leanest = cheapest_of_leanest();
    if (!leanest) return {};
    if (!fits(problem_, *leanest)) return {.choice = *leanest, .fits = false, .is_optimal = true, .seconds = seconds(*leanest)};
    take(*leanest);
    // What is found out makes some costs higher: bounds and what was proved before stay true, and the next round is closer.
    while (!budget_.time_is_up() && !is_proved() && !gave_up_) {
      find_price(*leanest);
      if (!is_proved() && !budget_.time_is_up()) search_what_is_left();
    }
    best_.is_optimal = is_proved();
    best_.bound = std::min(best_.bound, best_.seconds);
    return best_;
  }

 private:
  [[nodiscard]] double seconds(const Choice& c) const { return cost_of(problem_.choices, c); }
  [[nodiscard]] bool is_proved() const { return best_.fits && best_.bound >= best_.seconds * (1 - kNoCheaper); }
  [[nodiscard]] bool is_new(const Choice& c) const { return find_out_ && find_out_(c); }
  void raise_bound(double bound) { best_.bound = std::max(best_.bound, bound); }

  // Returns: whether all costs of these choices were known.
  bool take(const Choice& c) {
    const bool was_known = !is_new(c);
    if (!fits(problem_, c)) return was_known;
    const double s = seconds(c);
    if (best_.fits && s >= best_.seconds) return was_known;
    best_.choice = c;
    best_.fits = true;
    best_.seconds = s;
    return was_known;
  }

  // At a price, with all costs known; nullopt: the time was up.
  struct Corner {
    Choice choice;
    double seconds = 0, bytes = 0;  // without the price
    double value = 0;               // with it
    bool is_optimal = true;
  };
  [[nodiscard]] std::optional<Corner> corner(const ChoiceProblem& choices, double price) {
    while (!budget_.time_is_up()) {
      Chosen c = cheapest(choices);
      if (is_new(c.choice)) continue;  // the tables of pairs are shared
      Corner found{.choice = std::move(c.choice), .value = c.seconds, .is_optimal = c.is_optimal};
      found.seconds = seconds(found.choice);
      found.bytes = bytes_of(problem_, found.choice);
      found.value = found.seconds + price * found.bytes;
      take(found.choice);
      return found;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Choice> cheapest_of_leanest() {
    std::vector<Choice> leanest;
    for (const std::vector<double>& bytes : problem_.bytes) {
      const double least = *std::ranges::min_element(bytes);
      Choice& left = leanest.emplace_back();
      for (std::uint32_t c = 0; c < bytes.size(); ++c)
        if (bytes[c] == least) left.push_back(c);
    }
    while (!budget_.time_is_up()) {
      const Choice found = in_all(leanest, cheapest(restricted(problem_.choices, leanest)).choice);
      if (!is_new(found)) return found;
    }
    return std::nullopt;
  }

  // From the line through choices that fit and some that do not to the next, until no choices lie below it.
  void find_price(const Choice& leanest) {
    price_ = 0;
    std::optional<Corner> over = corner(problem_.choices, 0);
    if (!over) return;
    if (over->is_optimal) raise_bound(over->seconds);
    if (fits(problem_, over->choice)) return give_up_unless(over->is_optimal);
    Corner under{.choice = leanest, .seconds = seconds(leanest), .bytes = bytes_of(problem_, leanest)};
    for (int i = 0; i < kMostPrices; ++i) {
      const double price = (under.seconds - over->seconds) / (over->bytes - under.bytes);
      if (price <= 0) break;  // what fits is as cheap as anything
      const double line = under.seconds + price * under.bytes;
      std::optional<Corner> c = corner(priced(problem_, price), price);
      if (!c) return;
      price_ = price;
      if (c->is_optimal) raise_bound(c->value - price * problem_.limit);
      if (c->value >= line * (1 - kSameLine)) break;
      (fits(problem_, c->choice) ? under : *over) = std::move(*c);
    }
    mix(under.choice, over->choice);
    improve();
  }

  void give_up_unless(bool is_optimal) { gave_up_ = gave_up_ || !is_optimal; }

  // The first operators as in one, the others as in the other: layers that are alike want the same at one price, and only some of them may
  // have it.
  void mix(const Choice& a, const Choice& b) {
    Choice best = a;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [head, tail] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      Choice c = *tail;
      for (std::size_t o = 0; o < c.size(); ++o) {
        c[o] = (*head)[o];
        if (c == best || !fits(problem_, c)) continue;
        const double s = seconds(c);
        if (s >= least) continue;
        least = s;
        best = c;
      }
    }
    take(best);
  }

  // One operator after another as is best where the others stay.
  void improve() {
    Choice c = best_.choice;
    double bytes = bytes_of(problem_, c);
    bool is_better = true;
    for (int pass = 0; pass < kMostPasses && is_better; ++pass) {
      is_better = false;
      for (std::uint32_t o = 0; o < c.size(); ++o) {
        const std::uint32_t was = c[o];
        const auto with = [&](std::uint32_t x) {
          c[o] = x;
          double s = problem_.choices.costs[o][x];
          for (const std::uint32_t p : pairs_of_[o]) {
            const ChoiceProblem::Pair& pair = problem_.choices.pairs[p];
            s += pair.costs->at(c[pair.first], c[pair.second]);
          }
          return s;
        };
        double least = with(was);
        std::uint32_t best = was;
        for (std::uint32_t x = 0; x < problem_.bytes[o].size(); ++x) {
          if (bytes - problem_.bytes[o][was] + problem_.bytes[o][x] > most_bytes(problem_)) continue;
          const double s = with(x);
          if (s >= least * (1 - kSameLine)) continue;
          least = s;
          best = x;
        }
        c[o] = best;
        bytes += problem_.bytes[o][best] - problem_.bytes[o][was];
        is_better = is_better || best != was;
      }
    }
    take(c);
  }

  // Without choices that no better answer has.
  void search_what_is_left() {
    std::vector<Choice> left = without_dead_ends(problem_.choices, &problem_.bytes);
    ConstrainedProblem rest = only(problem_, left);
    std::optional<BucketTree> tree = BucketTree::of(priced(rest, price_), effort_.most_entries);
    if (tree) {
      raise_bound(tree->cheapest() - price_ * problem_.limit);
      if (is_proved()) return;
      left = without_dear(left, *tree);
      rest = only(problem_, left);
      tree = BucketTree::of(priced(rest, price_), effort_.most_entries);
    }
    const double to_beat = best_.seconds * (1 - kNoCheaper);
    const FrontAnswer found = tree ? cheapest_by_fronts(rest, *tree, price_, to_beat, effort_.fronts) : FrontAnswer{};
    if (!found.is_complete) {
      gave_up_ = true;
      return;
    }
    if (!found.choice) return raise_bound(to_beat);
    settle(in_all(left, *found.choice));
  }

  // The cheapest by costs that are bounds of what was not asked about yet.
  void settle(const Choice& choice) {
    raise_bound(seconds(choice));
    gave_up_ = take(choice) && !is_proved();
  }

  [[nodiscard]] std::vector<Choice> without_dear(const std::vector<Choice>& left, const BucketTree& tree) const {
    const std::vector<std::vector<double>> with = tree.with_choice();
    const double most = (best_.seconds + price_ * problem_.limit) * (1 + kSameLine);
    std::vector<Choice> fewer(left.size());
    for (std::size_t o = 0; o < left.size(); ++o)
      for (std::size_t c = 0; c < left[o].size(); ++c)
        if (with[o][c] <= most) fewer[o].push_back(left[o][c]);
    return fewer;
  }

  const ConstrainedProblem& problem_;
  const FindOut& find_out_;
  const Budget& budget_;
  ConstrainedEffort effort_;
  std::vector<std::vector<std::uint32_t>> pairs_of_;  // per operator
  ConstrainedChoice best_;
  double price_ = 0;
  bool gave_up_ = false;
};

}  // namespace

ConstrainedChoice cheapest_within(const ConstrainedProblem& problem, const FindOut& find_out, const Budget& budget,
                                  const ConstrainedEffort& effort) {
  return Within(problem, find_out, budget, effort).run();
}

}  // namespace search
