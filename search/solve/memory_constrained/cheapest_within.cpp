#include "search/solve/memory_constrained/cheapest_within.hpp"

#include <utility>

#include "sim/effort.hpp"

namespace search {
namespace {

constexpr double kNoCheaper = 1e-6;   // a share: choices that are cheaper by less are not searched for
constexpr double kSameLine = 1e-10;   // a share: a multiplier that gains less than this is the best
constexpr int kMostMultipliers = 60;  // that are tried; each moves to another corner of the front

using Choices = std::vector<std::uint32_t>;

ConstrainedProblem only(const ConstrainedProblem& problem, const std::vector<Choices>& left) {
  ConstrainedProblem p{restricted(problem.choices, left), {}, problem.limit};
  for (std::size_t o = 0; o < left.size(); ++o) {
    std::vector<double>& bytes = p.bytes.emplace_back();
    for (const std::uint32_t c : left[o]) bytes.push_back(problem.bytes[o][c]);
  }
  return p;
}

Choices in_all(const std::vector<Choices>& left, Choices choice) {
  for (std::size_t o = 0; o < choice.size(); ++o) choice[o] = left[o][choice[o]];
  return choice;
}

class Incumbent {
 public:
  Incumbent(const ConstrainedProblem& problem, const ResolveCosts& resolve) : problem_(problem), resolve_(resolve) {}

  [[nodiscard]] const ConstrainedChoice& best() const { return best_; }
  [[nodiscard]] double cost(const Choices& c) const { return cost_of(problem_.choices, c); }
  [[nodiscard]] bool is_proved() const { return best_.fits && best_.bound >= best_.seconds * (1 - kNoCheaper); }
  // Whether some costs of these choices were bounds until now.
  [[nodiscard]] bool is_new(const Choices& c) const { return resolve_ && resolve_(c); }
  void raise_bound(double bound) { best_.bound = std::max(best_.bound, bound); }
  // Returns: whether all costs of these choices were known.
  bool take(const Choices& c) {
    const bool was_known = !is_new(c);
    if (!fits(problem_, c)) return was_known;
    const double seconds = cost(c);
    if (best_.fits && seconds >= best_.seconds) return was_known;
    best_.choice = c;
    best_.fits = true;
    best_.seconds = seconds;
    return was_known;
  }

 private:
  const ConstrainedProblem& problem_;
  const ResolveCosts& resolve_;
  ConstrainedChoice best_;
};

// nullopt: the time was up.
std::optional<Choices> minimum_memory_choice(const ConstrainedProblem& problem, const Incumbent& best, const Budget& budget) {
  std::vector<Choices> smallest;
  for (const std::vector<double>& bytes : problem.bytes) {
    const double least = *std::ranges::min_element(bytes);
    Choices& left = smallest.emplace_back();
    for (std::uint32_t c = 0; c < bytes.size(); ++c)
      if (bytes[c] == least) left.push_back(c);
  }
  while (!budget.time_is_up()) {
    const ChoiceProblem restricted_to = restricted(problem.choices, smallest);
    budget.spend(effort_of(restricted_to));
    const Choices found = in_all(smallest, cheapest(restricted_to).choice);
    if (!best.is_new(found)) return found;
  }
  return std::nullopt;
}

// The cheapest choices where bytes cost their multiplier.
struct Corner {
  Choices choice;
  double seconds = 0, bytes = 0;  // without the multiplier
  double value = 0;               // with it
  bool is_optimal = true;
};

// With all costs known; nullopt: the time was up.
std::optional<Corner> corner(const ConstrainedProblem& problem, double multiplier, Incumbent& best, const Budget& budget) {
  const ChoiceProblem choices = penalised(problem, multiplier);
  while (!budget.time_is_up()) {
    budget.spend(effort_of(choices));
    Chosen c = cheapest(choices);
    if (best.is_new(c.choice)) continue;  // the tables of pairs are shared
    Corner found{.choice = std::move(c.choice), .value = c.seconds, .is_optimal = c.is_optimal};
    found.seconds = best.cost(found.choice);
    found.bytes = bytes_of(problem, found.choice);
    found.value = found.seconds + multiplier * found.bytes;
    best.take(found.choice);
    return found;
  }
  return std::nullopt;
}

// The first operators as in one, the others as in the other: equal layers want the same at one multiplier, and only some may have it.
Choices mixed(const ConstrainedProblem& problem, const Choices& a, const Choices& b) {
  Choices best = a;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [head, tail] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    Choices c = *tail;
    for (std::size_t o = 0; o < c.size(); ++o) {
      c[o] = (*head)[o];
      if (c == best || !fits(problem, c)) continue;
      const double seconds = cost_of(problem.choices, c);
      if (seconds >= least) continue;
      least = seconds;
      best = c;
    }
  }
  return best;
}

struct Relaxation {
  double multiplier = 0;
  bool is_exhausted = false;  // another round would find the same
};

// From the line through choices that fit and some that do not to the next, until no choices lie below it.
Relaxation relax(const ConstrainedProblem& problem, const Choices& minimum_memory, Incumbent& best, const Budget& budget) {
  Relaxation found;
  std::optional<Corner> over = corner(problem, 0, best, budget);
  if (!over) return found;
  if (over->is_optimal) best.raise_bound(over->seconds);
  if (fits(problem, over->choice)) {
    found.is_exhausted = !over->is_optimal;
    return found;
  }
  Corner under{.choice = minimum_memory, .seconds = best.cost(minimum_memory), .bytes = bytes_of(problem, minimum_memory)};
  for (int i = 0; i < kMostMultipliers; ++i) {
    const double multiplier = (under.seconds - over->seconds) / (over->bytes - under.bytes);
    if (multiplier <= 0) break;  // what fits is as cheap as anything
    const double line = under.seconds + multiplier * under.bytes;
    std::optional<Corner> c = corner(problem, multiplier, best, budget);
    if (!c) return found;
    found.multiplier = multiplier;
    if (c->is_optimal) best.raise_bound(c->value - multiplier * problem.limit);
    if (c->value >= line * (1 - kSameLine)) break;
    (fits(problem, c->choice) ? under : *over) = std::move(*c);
  }
  best.take(mixed(problem, under.choice, over->choice));
  return found;
}

std::vector<Choices> without_costly(const std::vector<Choices>& left, const BucketTree& tree, double most) {
  const std::vector<std::vector<double>> with = tree.with_choice();
  std::vector<Choices> fewer(left.size());
  for (std::size_t o = 0; o < left.size(); ++o)
    for (std::size_t c = 0; c < left[o].size(); ++c)
      if (with[o][c] <= most) fewer[o].push_back(left[o][c]);
  return fewer;
}

// The tables of all buckets are gone through a few times.
double entries_of(const BucketTree& tree) {
  double entries = 0;
  for (const BucketTree::Bucket& b : tree.buckets()) entries += static_cast<double>(b.own.size());
  return entries;
}

// Without choices that no better answer has. Returns: whether another round would find the same.
bool search_rest(const ConstrainedProblem& problem, const Relaxation& relaxed, const ConstrainedEffort& effort, const Budget& budget,
                 Incumbent& best) {
  const double multiplier = relaxed.multiplier;
  std::vector<Choices> left = without_dead_ends(problem.choices, &problem.bytes);
  ConstrainedProblem rest = only(problem, left);
  const auto tree_of_rest = [&] {
    std::optional<BucketTree> tree = BucketTree::of(penalised(rest, multiplier), effort.most_entries);
    if (tree) budget.spend(sim::kBucketEntry * entries_of(*tree));
    return tree;
  };
  std::optional<BucketTree> tree = tree_of_rest();
  if (tree) {
    best.raise_bound(tree->cheapest() - multiplier * problem.limit);
    if (best.is_proved()) return true;
    left = without_costly(left, *tree, (best.best().seconds + multiplier * problem.limit) * (1 + kSameLine));
    rest = only(problem, left);
    tree = tree_of_rest();
  }
  const double to_beat = best.best().seconds * (1 - kNoCheaper);
  FrontLimits limits = effort.fronts;
  limits.most_pairs = std::min(limits.most_pairs, budget.left() / sim::kFrontPair);
  const FrontAnswer found = tree ? cheapest_by_fronts(rest, *tree, multiplier, to_beat, limits) : FrontAnswer{};
  budget.spend(sim::kFrontPair * found.pairs);
  if (!found.is_complete) return true;
  if (!found.choice) {
    best.raise_bound(to_beat);
    return relaxed.is_exhausted;
  }
  // The cheapest by costs that are bounds where they were not resolved yet.
  const Choices choice = in_all(left, *found.choice);
  best.raise_bound(best.cost(choice));
  return best.take(choice) && !best.is_proved();
}

}  // namespace

ConstrainedChoice cheapest_within(const ConstrainedProblem& problem, const ResolveCosts& resolve, const Budget& budget,
                                  const ConstrainedEffort& effort) {
  Incumbent best(problem, resolve);
  const std::optional<Choices> minimum_memory = minimum_memory_choice(problem, best, budget);
  if (!minimum_memory) return {};
  if (!fits(problem, *minimum_memory))
    return {.choice = *minimum_memory, .fits = false, .is_optimal = true, .seconds = best.cost(*minimum_memory)};
  best.take(*minimum_memory);
  // Resolved costs are higher than their bounds: bounds and what was proved before stay true, and the next round is closer.
  for (bool is_exhausted = false; !budget.time_is_up() && !best.is_proved() && !is_exhausted;) {
    const Relaxation relaxed = relax(problem, *minimum_memory, best, budget);
    is_exhausted = best.is_proved() || budget.time_is_up() ? relaxed.is_exhausted : search_rest(problem, relaxed, effort, budget, best);
  }
  ConstrainedChoice found = best.best();
  found.is_optimal = best.is_proved();
  found.bound = std::min(found.bound, found.seconds);
  return found;
}

}  // namespace search
