#include "search/solve/memory_constrained/cheapest_within.hpp"

#include <optional>
#include <utility>

#include "sim/effort.hpp"

namespace search {
namespace {

constexpr std::uint32_t kNothing = UINT32_MAX;
constexpr double kSameCost = 1e-9;  // a share of `to_beat`: sums in another order differ by less

// Choices of a bucket's operator and of all below it.
struct Label {
  double excess = 0;  // of the cost with bytes at their multiplier over the least in the same place
  double bytes = 0;
  std::uint32_t made_of = kNothing;  // Step
};

// A label is a choice, or is put together of two.
struct Step {
  std::uint32_t who = BucketTree::kNone, choice = 0;
  std::uint32_t first = kNothing, second = kNothing;
};

struct FrontAnswer {
  bool is_complete = false;                               // else there were too many labels
  std::optional<std::vector<std::uint32_t>> choice = {};  // complete and none: nothing that fits costs less
  double pairs = 0;                                       // of labels that were put together
};

// The cheapest choices within a limit by elimination in which every table holds, in place of one least cost, a front of costs and bytes:
// label-setting for a constrained shortest path (Irnich and Desaulniers, 2005), over a join tree in place of a path. A label is dropped
// where another one takes less of both, or where with the least that all else costs and takes it misses what is known.
class ByteFronts {
 public:
  // Of those that fit and cost less than `to_beat`. `tree`: of the problem with bytes at this multiplier, which gives the cost of all else
  // at least. The closer multiplier and `to_beat` are to the best, the fewer labels there are.
  ByteFronts(const ConstrainedProblem& problem, const BucketTree& tree, double multiplier, double to_beat, const ConstrainedEffort& limits)
      : problem_(problem), tree_(tree), multiplier_(multiplier), to_beat_(to_beat), limits_(limits) {}

  FrontAnswer run() {
    const auto& buckets = tree_.buckets();
    fronts_.resize(buckets.size());
    least_.resize(buckets.size(), 0);
    for (std::size_t k = 0; k < buckets.size(); ++k) {
      const BucketTree::Bucket& b = buckets[k];
      fronts_[k].resize(b.cheapest.size());
      if (b.who != BucketTree::kNone) least_[k] = *std::ranges::min_element(problem_.bytes[b.who]);
      const double own_least = least_[k];
      for (const BucketTree::Factor& f : b.factors)
        if (!f.seconds) least_[k] += least_[f.child];
      bool is_complete = true;
      tree_.for_each_entry(b, [&](std::size_t outer, const std::vector<std::size_t>& at, double value) {
        is_complete = is_complete && add_entry(b, fronts_[k][outer], value, outer, at, own_least);
      });
      if (!is_complete) return {.pairs = pairs_};
      for (std::vector<Label>& front : fronts_[k]) thin_out(front);
      for (const BucketTree::Factor& f : b.factors)
        if (!f.seconds) fronts_[f.child].clear();
    }
    return {.is_complete = true, .choice = cheapest_of(fronts_.back().front()), .pairs = pairs_};
  }

 private:
  // Labels of one choice of the bucket's operator, whose front they join. Returns: false where there are too many.
  bool add_entry(const BucketTree::Bucket& b, std::vector<Label>& front, double value, std::size_t outer,
                 const std::vector<std::size_t>& at, double least) {
    const double room = most_ - value - b.rest[outer];
    if (room < 0) return true;
    Label own;
    if (b.who != BucketTree::kNone) {
      own.bytes = problem_.bytes[b.who][at.back()];
      if (own.bytes > least + spare_) return true;
      own.made_of = add_step({b.who, static_cast<std::uint32_t>(at.back())});
    }
    std::vector<Label> labels{own};
    for (const BucketTree::Factor& f : b.factors) {
      if (f.seconds) continue;
      least += least_[f.child];
      if (!join(labels, fronts_[f.child][f.entry(at)], room, least + spare_)) return false;
    }
    for (Label& l : labels) {
      l.excess += value - b.cheapest[outer];
      front.push_back(l);
    }
    return true;
  }

  bool join(std::vector<Label>& labels, const std::vector<Label>& more, double most_excess, double most_bytes) {
    pairs_ += static_cast<double>(labels.size()) * static_cast<double>(more.size());
    if (pairs_ > limits_.most_pairs) return false;
    std::vector<Label> both;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> made_of;
    for (const Label& l : labels)
      for (const Label& m : more) {
        const Label sum{l.excess + m.excess, l.bytes + m.bytes, static_cast<std::uint32_t>(made_of.size())};
        if (sum.excess > most_excess || sum.bytes > most_bytes) continue;
        both.push_back(sum);
        made_of.emplace_back(l.made_of, m.made_of);
      }
    thin_out(both);
    for (Label& l : both) {
      const auto [first, second] = made_of[l.made_of];
      l.made_of = add_step({BucketTree::kNone, 0, first, second});
    }
    labels = std::move(both);
    return static_cast<double>(steps_.size()) <= limits_.most_labels;
  }

  std::uint32_t add_step(const Step& s) {
    steps_.push_back(s);
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }

  // Seconds without the multiplier of bytes, but for a constant of the place.
  [[nodiscard]] double cost(const Label& l) const { return l.excess - multiplier_ * l.bytes; }

  // Leaves the minimum_memory, and of those that take more what costs less.
  void thin_out(std::vector<Label>& labels) const {
    std::ranges::sort(labels, [&](const Label& a, const Label& b) { return a.bytes != b.bytes ? a.bytes < b.bytes : cost(a) < cost(b); });
    double least = std::numeric_limits<double>::infinity();
    std::erase_if(labels, [&](const Label& l) {
      if (cost(l) >= least - tolerance_) return true;
      least = cost(l);
      return false;
    });
  }

  // All labels of the last front fit.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> cheapest_of(const std::vector<Label>& front) const {
    if (front.empty()) return std::nullopt;
    const auto best = std::ranges::min_element(front, {}, [&](const Label& l) { return cost(l); });
    std::vector<std::uint32_t> choice(problem_.bytes.size(), 0), open{best->made_of};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      if (at == kNothing) continue;
      const Step& s = steps_[at];
      if (s.who != BucketTree::kNone) choice[s.who] = s.choice;
      open.insert(open.end(), {s.first, s.second});
    }
    return choice;
  }

  const ConstrainedProblem& problem_;
  const BucketTree& tree_;
  double multiplier_, to_beat_;
  ConstrainedEffort limits_;
  double tolerance_ = kSameCost * to_beat_, most_ = to_beat_ + multiplier_ * problem_.limit;
  double spare_ = most_bytes(problem_) - least_bytes(problem_);  // bytes over the minimum_memory choices of all
  std::vector<std::vector<std::vector<Label>>> fronts_;          // by bucket and outer entry
  std::vector<double> least_;                                    // bytes, by bucket with all below it
  std::vector<Step> steps_;
  double pairs_ = 0;
};

constexpr double kNoCheaper = 1e-6;   // a share: choices that are cheaper by less are not searched for
constexpr double kSameLine = 1e-10;   // a share: a multiplier that gains less than this is the best
constexpr int kMostMultipliers = 60;  // that are tried; each moves to another corner of the front

ConstrainedProblem only(const ConstrainedProblem& problem, const std::vector<Choices>& left) {
  ConstrainedProblem p{restricted(problem.choices, left), {}, problem.limit};
  for (std::size_t o = 0; o < left.size(); ++o) {
    std::vector<double>& bytes = p.bytes.emplace_back();
    for (const std::uint32_t c : left[o]) bytes.push_back(problem.bytes[o][c]);
  }
  return p;
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
    if (const double seconds = cost(c); fits(problem_, c) && seconds < best_.seconds) {
      best_.choice = c;
      best_.fits = true;
      best_.seconds = seconds;
    }
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
    const Chosen chosen = cheapest(restricted(problem.choices, smallest));
    budget.spend(sim::kBucketEntry * chosen.entries);
    const Choices found = in_all(smallest, chosen.choice);
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

// Costs with bytes at a multiplier.
ChoiceProblem penalised(const ConstrainedProblem& problem, double multiplier) {
  ChoiceProblem p = problem.choices;
  for (std::size_t o = 0; o < p.costs.size(); ++o)
    for (std::size_t c = 0; c < p.costs[o].size(); ++c) p.costs[o][c] += multiplier * problem.bytes[o][c];
  return p;
}

// With all costs known; nullopt: the time was up.
std::optional<Corner> corner(const ConstrainedProblem& problem, double multiplier, Incumbent& best, const Budget& budget) {
  const ChoiceProblem choices = penalised(problem, multiplier);
  while (!budget.time_is_up()) {
    Chosen c = cheapest(choices);
    budget.spend(sim::kBucketEntry * c.entries);
    if (best.is_new(c.choice)) continue;  // the tables of pairs are shared
    best.take(c.choice);
    const double seconds = best.cost(c.choice), bytes = bytes_of(problem, c.choice);
    return Corner{std::move(c.choice), seconds, bytes, seconds + multiplier * bytes, c.is_optimal};
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

// Without choices that no better answer has. Returns: whether another round would find the same.
bool search_rest(const ConstrainedProblem& problem, const Relaxation& relaxed, const ConstrainedEffort& effort, const Budget& budget,
                 Incumbent& best) {
  const double multiplier = relaxed.multiplier;
  std::vector<Choices> left = all_choices(problem.choices);
  ConstrainedProblem rest = problem;
  const auto tree_of_rest = [&]() -> std::optional<BucketTree> {
    BucketTree of_rest(penalised(rest, multiplier));
    if (of_rest.entries() > effort.most_entries) return std::nullopt;
    budget.spend(8 * sim::kBucketEntry * of_rest.entries());  // up, and down and for each choice, which take longer
    of_rest.go_up();
    of_rest.go_down();
    return of_rest;
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
  ConstrainedEffort limits = effort;
  limits.most_pairs = std::min(limits.most_pairs, budget.left() / sim::kFrontPair);
  const FrontAnswer found = tree ? ByteFronts(rest, *tree, multiplier, to_beat, limits).run() : FrontAnswer{};
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
