#include "search/solve/operators/elimination.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace search {
namespace {

constexpr std::size_t kRivals = 6;  // cheap choices that each other one is held against
constexpr int kRounds = 8;          // each round leaves fewer, which leaves fewer yet

class DeadEnds {
 public:
  DeadEnds(const ChoiceProblem& problem, const std::vector<std::vector<double>>* bytes)
      : problem_(problem), bytes_(bytes), pairs_of_(problem.costs.size()) {
    for (const std::vector<double>& costs : problem.costs) {
      left_.emplace_back(costs.size());
      std::iota(left_.back().begin(), left_.back().end(), 0);
    }
    for (std::uint32_t p = 0; p < problem.pairs.size(); ++p) {
      pairs_of_[problem.pairs[p].first].push_back(p);
      if (problem.pairs[p].second != problem.pairs[p].first) pairs_of_[problem.pairs[p].second].push_back(p);
    }
  }

  std::vector<std::vector<std::uint32_t>> run() {
    for (int round = 0; round < kRounds; ++round) {
      bool fewer = false;
      for (std::uint32_t o = 0; o < left_.size(); ++o) fewer = thin_out(o) || fewer;
      if (!fewer) break;
    }
    return std::move(left_);
  }

 private:
  bool thin_out(std::uint32_t who) {
    std::vector<std::uint32_t>& left = left_[who];
    if (left.size() == 1) return false;
    std::vector<std::pair<double, std::uint32_t>> cheapest_first;
    for (const std::uint32_t c : left) cheapest_first.emplace_back(at_least(who, c), c);
    std::ranges::sort(cheapest_first);
    std::vector<std::uint32_t> kept;
    for (const auto& [seconds, choice] : cheapest_first) {
      const auto is_dead_end = [&, c = choice](std::uint32_t rival) { return costs_no_more(who, rival, c); };
      if (std::ranges::none_of(std::span(kept).first(std::min(kept.size(), kRivals)), is_dead_end)) kept.push_back(choice);
    }
    std::ranges::sort(kept);
    const bool fewer = kept.size() < left.size();
    left = std::move(kept);
    return fewer;
  }

  // The cost of a pair where its operator `who` has made this choice, and the other one that.
  [[nodiscard]] static double pair_cost(const ChoiceProblem::Pair& p, std::uint32_t who, std::uint32_t mine, std::uint32_t other) {
    return p.first == p.second ? p.costs->at(mine, mine) : p.first == who ? p.costs->at(mine, other) : p.costs->at(other, mine);
  }

  // Adds to `seconds`, for each pair of the operator, the least that `cost` makes of it over the choices of the other one.
  template <class Cost>
  [[nodiscard]] double with_neighbours(std::uint32_t who, double seconds, const Cost& cost) const {
    for (const std::uint32_t p : pairs_of_[who]) {
      const ChoiceProblem::Pair& pair = problem_.pairs[p];
      double least = std::numeric_limits<double>::infinity();
      for (const std::uint32_t x : left_[pair.first == who ? pair.second : pair.first]) least = std::min(least, cost(pair, x));
      seconds += least;
    }
    return seconds;
  }

  // The choice's own cost, and the least that it costs with its neighbours.
  [[nodiscard]] double at_least(std::uint32_t who, std::uint32_t choice) const {
    return with_neighbours(who, problem_.costs[who][choice],
                           [&](const ChoiceProblem::Pair& p, std::uint32_t x) { return pair_cost(p, who, choice, x); });
  }

  // Whether `rival` costs and takes no more than `choice`, whatever the neighbours choose.
  [[nodiscard]] bool costs_no_more(std::uint32_t who, std::uint32_t rival, std::uint32_t choice) const {
    if (bytes_ != nullptr && (*bytes_)[who][rival] > (*bytes_)[who][choice]) return false;
    return with_neighbours(who, problem_.costs[who][choice] - problem_.costs[who][rival],
                           [&](const ChoiceProblem::Pair& p, std::uint32_t x) {
                             return pair_cost(p, who, choice, x) - pair_cost(p, who, rival, x);
                           }) >= 0;
  }

  const ChoiceProblem& problem_;
  const std::vector<std::vector<double>>* bytes_;
  std::vector<std::vector<std::uint32_t>> pairs_of_;  // per operator
  std::vector<std::vector<std::uint32_t>> left_;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> without_dead_ends(const ChoiceProblem& problem, const std::vector<std::vector<double>>* bytes) {
  return DeadEnds(problem, bytes).run();
}

ChoiceProblem restricted(const ChoiceProblem& problem, const std::vector<std::vector<std::uint32_t>>& left) {
  ChoiceProblem fewer;
  for (std::size_t o = 0; o < left.size(); ++o) {
    std::vector<double>& costs = fewer.costs.emplace_back();
    for (const std::uint32_t c : left[o]) costs.push_back(problem.costs[o][c]);
  }
  for (const ChoiceProblem::Pair& p : problem.pairs) {
    const std::vector<std::uint32_t>&rows = left[p.first], &columns = left[p.second];
    PairCosts costs{rows.size(), columns.size(), {}};
    for (const std::uint32_t r : rows)
      for (const std::uint32_t c : columns) costs.seconds.push_back(p.costs->at(r, c));
    fewer.pairs.push_back({p.first, p.second, std::make_shared<PairCosts>(std::move(costs))});
  }
  return fewer;
}

}  // namespace search
