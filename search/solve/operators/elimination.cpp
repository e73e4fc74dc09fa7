#include "search/solve/operators/elimination.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "sim/effort.hpp"

namespace search {
namespace {

constexpr std::size_t kFewest = 4;  // choices that an operator keeps where a table would be too large

// Seconds by the choices of some operators, the last one's fastest.
struct Factor {
  std::vector<std::uint32_t> operators;  // ascending
  std::vector<double> seconds;
};

// An eliminated operator: its best choice for every choice of its neighbours.
struct Eliminated {
  std::uint32_t who = 0;
  std::vector<std::uint32_t> neighbours;
  std::vector<std::uint32_t> best;
};

// Sums of costs by the choices of single operators, and of several together.
class CostTables {
 public:
  explicit CostTables(const ChoiceProblem& problem) : alone_(problem.costs) {
    for (const ChoiceProblem::Pair& p : problem.pairs) add(p);
  }

  [[nodiscard]] std::size_t operators() const { return alone_.size(); }
  [[nodiscard]] const std::vector<double>& alone(std::uint32_t who) const { return alone_[who]; }
  // Takes out the costs of an operator with others.
  [[nodiscard]] std::vector<Factor> take(std::uint32_t who) {
    std::vector<Factor> taken;
    std::erase_if(together_, [&](auto& entry) {
      if (!std::ranges::binary_search(entry.first, who)) return false;
      taken.push_back({entry.first, std::move(entry.second)});
      return true;
    });
    return taken;
  }
  void add(Factor more) {
    if (more.operators.empty()) {
      seconds_ += more.seconds.front();
      return;
    }
    std::vector<double>& sum = more.operators.size() == 1 ? alone_[more.operators.front()] : together_[more.operators];
    if (sum.empty()) sum.assign(more.seconds.size(), 0);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more.seconds[i];
  }
  // Costs of two operators, which may be one, where no others are left.
  [[nodiscard]] PairCosts between(std::uint32_t first, std::uint32_t second) const {
    PairCosts costs{first == second ? 1 : alone_[first].size(), alone_[second].size(), {}};
    const auto pair = together_.find({std::min(first, second), std::max(first, second)});
    for (std::size_t r = 0; r < costs.rows; ++r)
      for (std::size_t c = 0; c < costs.columns; ++c) {
        double seconds = seconds_ + alone_[second][c];
        if (first != second) seconds += alone_[first][r];
        if (pair != together_.end()) seconds += first < second ? pair->second[r * costs.columns + c] : pair->second[c * costs.rows + r];
        costs.seconds.push_back(seconds);
      }
    return costs;
  }
  // Where none is left: the one eliminated last knows its choice; with it the one before, and so on.
  [[nodiscard]] Chosen read_back(const std::vector<Eliminated>& steps) const {
    Chosen chosen{std::vector<std::uint32_t>(alone_.size(), 0), seconds_};
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      std::size_t entry = 0;
      for (const std::uint32_t n : step->neighbours) entry = entry * alone_[n].size() + chosen.choice[n];
      chosen.choice[step->who] = step->best[entry];
    }
    return chosen;
  }

 private:
  void add(const ChoiceProblem::Pair& p) {
    if (p.first == p.second) {
      for (std::size_t c = 0; c < alone_[p.first].size(); ++c) alone_[p.first][c] += p.costs->at(c, c);
      return;
    }
    const auto [low, high] = std::minmax(p.first, p.second);
    Factor both{{low, high}, {}};
    for (std::size_t a = 0; a < alone_[low].size(); ++a)
      for (std::size_t b = 0; b < alone_[high].size(); ++b) both.seconds.push_back(low == p.first ? p.costs->at(a, b) : p.costs->at(b, a));
    add(std::move(both));
  }

  std::vector<std::vector<double>> alone_;                              // [operator][choice]
  std::map<std::vector<std::uint32_t>, std::vector<double>> together_;  // by operators, as in Factor
  double seconds_ = 0;
};

// Operators that are left, and the choices that they keep.
class Factors {
 public:
  explicit Factors(const ChoiceProblem& problem) : costs_(problem), neighbours_(problem.costs.size()) {
    for (const std::vector<double>& costs : problem.costs) {
      kept_.emplace_back(costs.size());
      std::iota(kept_.back().begin(), kept_.back().end(), 0);
    }
    for (const ChoiceProblem::Pair& p : problem.pairs) join({p.first, p.second});
  }

  [[nodiscard]] const CostTables& costs() const { return costs_; }
  // Entries of the table of an operator and its neighbours.
  [[nodiscard]] double table_size(std::uint32_t who) const {
    double entries = static_cast<double>(kept_[who].size());
    for (const std::uint32_t n : neighbours_[who]) entries *= static_cast<double>(kept_[n].size());
    return entries;
  }

  // Leaves the neighbours of an operator, but for those that stay, so few choices that its table is small. Returns: whether it was before.
  bool thin_out_around(std::uint32_t who, const std::vector<bool>& stays, double most_entries) {
    bool was_small = true;
    while (table_size(who) > most_entries) {
      const auto largest = std::ranges::max_element(neighbours_[who], {}, [&](std::uint32_t n) { return stays[n] ? 0 : kept_[n].size(); });
      if (stays[*largest] || kept_[*largest].size() <= kFewest) break;
      halve(*largest);
      was_small = false;
    }
    return was_small;
  }

  // Goes through the table of all kept choices of `who` (fastest) and its neighbours.
  Eliminated eliminate(std::uint32_t who) {
    const std::vector<std::uint32_t> around(neighbours_[who].begin(), neighbours_[who].end());
    const std::vector<Factor> factors = costs_.take(who);
    Eliminated step{who, around, {}};
    Factor rest{around, {}};
    std::size_t entries = 1;
    for (const std::uint32_t n : around) entries *= costs_.alone(n).size();
    rest.seconds.assign(entries, std::numeric_limits<double>::infinity());
    step.best.assign(entries, 0);
    std::vector<std::uint32_t> at(around.size(), 0);  // positions in kept_
    for (bool more = true; more; more = advance(around, at)) {
      std::size_t entry = 0;
      for (std::size_t i = 0; i < around.size(); ++i) entry = entry * costs_.alone(around[i]).size() + kept_[around[i]][at[i]];
      // Where the choices of the neighbours are fixed, each factor is a row over the choices of `who`.
      sums_ = costs_.alone(who);
      for (const Factor& f : factors) add_row(f, who, around, at);
      for (const std::uint32_t c : kept_[who]) {
        if (sums_[c] >= rest.seconds[entry]) continue;
        rest.seconds[entry] = sums_[c];
        step.best[entry] = c;
      }
    }
    costs_.add(std::move(rest));
    for (const std::uint32_t n : around) neighbours_[n].erase(who);
    neighbours_[who].clear();
    join(around);
    return step;
  }

 private:
  void join(const std::vector<std::uint32_t>& together) {
    for (const std::uint32_t a : together)
      for (const std::uint32_t b : together)
        if (a != b) neighbours_[a].insert(b);
  }

  void halve(std::uint32_t who) {
    std::vector<std::uint32_t>& kept = kept_[who];
    std::ranges::stable_sort(kept, {}, [&](std::uint32_t c) { return costs_.alone(who)[c]; });
    kept.resize(std::max(kFewest, kept.size() / 2));
    std::ranges::sort(kept);
  }

  bool advance(const std::vector<std::uint32_t>& around, std::vector<std::uint32_t>& at) const {
    for (std::size_t i = around.size(); i-- > 0;) {
      if (++at[i] < kept_[around[i]].size()) return true;
      at[i] = 0;
    }
    return false;
  }

  void add_row(const Factor& f, std::uint32_t who, const std::vector<std::uint32_t>& around, const std::vector<std::uint32_t>& at) {
    std::size_t base = 0, stride = 0;
    for (const std::uint32_t o : f.operators) {
      const std::size_t size = costs_.alone(o).size();
      base *= size;
      stride *= size;
      if (o == who) stride = 1;
      else base += kept_[o][at[static_cast<std::size_t>(std::ranges::lower_bound(around, o) - around.begin())]];
    }
    for (const std::uint32_t c : kept_[who]) sums_[c] += f.seconds[base + c * stride];
  }

  CostTables costs_;
  std::vector<std::vector<std::uint32_t>> kept_;     // [operator]: choices, ascending
  std::vector<std::set<std::uint32_t>> neighbours_;  // [operator]
  std::vector<double> sums_;
};

struct Elimination {
  std::vector<Eliminated> steps;
  bool is_optimal = true;
};

// Eliminates all operators but those that stay, the one with the smallest table first.
Elimination eliminate(Factors& factors, const std::vector<bool>& stays, double most_entries) {
  Elimination done;
  std::vector<bool> gone = stays;
  for (std::ptrdiff_t left = std::ranges::count(gone, false); left > 0; --left) {
    std::uint32_t who = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t o = 0; o < factors.costs().operators(); ++o) {
      const double entries = gone[o] ? least : factors.table_size(o);
      if (entries >= least) continue;
      least = entries;
      who = o;
    }
    done.is_optimal = factors.thin_out_around(who, stays, most_entries) && done.is_optimal;
    gone[who] = true;
    done.steps.push_back(factors.eliminate(who));
  }
  return done;
}

}  // namespace

base::Seconds effort_of(const ChoiceProblem& problem) {
  double entries = 0;
  for (const ChoiceProblem::Pair& p : problem.pairs)
    entries += static_cast<double>(p.costs->rows * p.costs->columns * std::max(p.costs->rows, p.costs->columns));
  return sim::kPairEntry * entries;
}

Chosen cheapest(const ChoiceProblem& problem, double most_entries) {
  const std::vector<std::vector<std::uint32_t>> left = without_dead_ends(problem);
  Factors factors(restricted(problem, left));
  const Elimination done = eliminate(factors, std::vector<bool>(left.size(), false), most_entries);
  Chosen chosen = factors.costs().read_back(done.steps);
  chosen.is_optimal = done.is_optimal;
  for (std::size_t o = 0; o < left.size(); ++o) chosen.choice[o] = left[o][chosen.choice[o]];
  return chosen;
}

PairCosts cheapest_between(const ChoiceProblem& problem, std::uint32_t first, std::uint32_t second) {
  Factors factors(problem);
  std::vector<bool> stays(problem.costs.size(), false);
  stays[first] = stays[second] = true;
  eliminate(factors, stays, kMostEntries);
  return factors.costs().between(first, second);
}

double cost_of(const ChoiceProblem& problem, const std::vector<std::uint32_t>& choice) {
  double seconds = 0;
  for (std::size_t o = 0; o < choice.size(); ++o) seconds += problem.costs[o][choice[o]];
  for (const ChoiceProblem::Pair& p : problem.pairs) seconds += p.costs->at(choice[p.first], choice[p.second]);
  return seconds;
}

}  // namespace search
