#include "search/grid/balance.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "search/cost/estimate.hpp"
#include "search/cost/margins.hpp"
#include "sim/effort.hpp"

namespace search {
namespace {

using Split = std::vector<int>;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // sums of seconds that differ by less are equal: some thousand additions round by less

// The best splits of the first units among the first stages.
class Balancer {
 public:
  Balancer(std::span<const std::vector<double>> seconds, int stages, BareEnds bare)
      : stages_(static_cast<std::size_t>(stages)), bare_(bare) {
    for (const std::vector<double>& of_rank : seconds) {
      std::vector<double>& sums = until_.emplace_back(1, 0.0);
      for (const double s : of_rank) sums.push_back(sums.back() + s);
    }
    units_ = until_.front().size() - 1;
  }

  Split run() {
    // First how quick the slowest stage can be, then the most even of the splits that keep to it.
    solve(kInfinite, [](double before, double stage) { return std::max(before, stage); });
    const double slowest = value_.back().back();
    BASE_CHECK(slowest < kInfinite, "{} stages of {} units", stages_, units_);
    solve(slowest * (1 + kRounding), [](double before, double stage) { return before + stage * stage; });
    Split split(stages_);
    std::size_t end = units_;
    for (std::size_t s = stages_; s-- > 0; end = begin_[s + 1][end]) split[s] = static_cast<int>(end - begin_[s + 1][end]);
    // The units before the first layer and after the last one are none.
    --split.front();
    --split.back();
    return split;
  }

 private:
  // Units of the stage with number s, counted from 1.
  [[nodiscard]] std::size_t least(std::size_t s) const {
    return std::size_t{1} + (s == 1 && !bare_.first ? 1 : 0) + (s == stages_ && !bare_.last ? 1 : 0);
  }

  // value_[s][n]: the least that `join` makes of the first s stages over the first n units, none of them above `limit`; begin_[s][n]:
  // where the last of these stages begins.
  template <class Join>
  void solve(double limit, Join join) {
    value_.assign(stages_ + 1, std::vector<double>(units_ + 1, kInfinite));
    begin_.assign(stages_ + 1, std::vector<std::size_t>(units_ + 1, 0));
    value_[0][0] = 0;
    for (std::size_t s = 1; s <= stages_; ++s)
      for (std::size_t n = s; n + (stages_ - s) <= units_; ++n) extend(s, n, limit, join);
  }

  template <class Join>
  void extend(std::size_t s, std::size_t n, double limit, Join join) {
    const std::vector<double>& until = until_[(s - 1) % until_.size()];
    double& best = value_[s][n];
    // The last stage grows backwards: once it alone is as bad as what was found, more units make it worse.
    for (std::size_t first = n + 1 - std::min(n + 1, least(s)); first-- >= s;) {
      const double stage = until[n] - until[first];
      if (stage > limit || join(0, stage) >= best) break;
      const double value = join(value_[s - 1][first], stage);
      if (value >= best * (1 - kRounding)) continue;
      best = value;
      begin_[s][n] = first;
    }
  }

  std::size_t stages_, units_ = 0;
  BareEnds bare_;
  std::vector<std::vector<double>> until_;  // [rank][n]: seconds of the first n units
  std::vector<std::vector<double>> value_;
  std::vector<std::vector<std::size_t>> begin_;
};

std::vector<std::size_t> ends_of(std::span<const int> split) {
  std::vector<std::size_t> ends;
  std::size_t end = 1;
  for (const int n : split) ends.push_back(end += static_cast<std::size_t>(n));
  ++ends.back();
  return ends;
}

// A split whose plan is estimated whole, and what it says of others.
struct Estimated {
  Estimated(const Splits& splits, Split of, pcg::Plan made, const sim::Oracle& oracle)
      : split(std::move(of)), plan(std::move(made)), estimator(plan, oracle), seconds(estimator.time(sim::variant_of(plan)).value()) {
    oracle.spend(sim::kBuildPlan.of(plan));
    estimator.use_units(sim::variant_of(plan), units_of_blocks(plan.pcg.blocks()), static_cast<std::size_t>(splits.layers) + 2);
  }

  // [stage][unit]
  [[nodiscard]] std::vector<std::vector<double>> unit_seconds() const {
    std::vector<std::vector<double>> seconds_of(split.size());
    const std::size_t units = ends_of(split).back();
    for (std::size_t s = 0; s < seconds_of.size(); ++s)
      for (std::size_t u = 0; u < units; ++u) seconds_of[s].push_back(estimator.unit_s(u, s));
    return seconds_of;
  }

  Split split;
  pcg::Plan plan;
  Estimator estimator;
  double seconds;
};

// Of a schedule, in all moves of one search that are timed: a tenth of a second.
constexpr double kMostPasses = 2e6;
// Moves that are estimated whole where none seems to shorten the iteration.
constexpr std::size_t kMostDoubtful = 8;

class Search {
 public:
  Search(const Splits& splits, const sim::Oracle& oracle) : splits_(splits), oracle_(oracle) {}

  std::optional<Split> run(Balance balance) {
    std::vector<double> alike(static_cast<std::size_t>(splits_.layers) + 2, 1);
    alike.front() = alike.back() = 0;
    if (!try_split(quickest_slowest_stage(std::span(&alike, 1), splits_.stages, splits_.bare))) return std::nullopt;
    Split even = quickest_slowest_stage(best_->unit_seconds(), splits_.stages, splits_.bare);
    if (balance == Balance::rough) return even;
    try_split(std::move(even));
    while (try_split(descend()) || try_doubtful()) {}
    return quickest_that_fits();
  }

 private:
  struct Timed {
    double seconds = 0;
    Split split;
    auto operator<=>(const Timed&) const = default;
  };

  // Returns: whether it is better than the best.
  bool try_split(Split split) {
    if (std::ranges::find(tried_, split, &Timed::split) != tried_.end()) return false;
    std::optional<pcg::Plan> plan = splits_.plan(split);
    if (!plan) return false;
    auto made = std::make_unique<Estimated>(splits_, std::move(split), *std::move(plan), oracle_);
    tried_.push_back({made->seconds, made->split});
    if (best_ && made->seconds >= best_->seconds * kLeastGain) return false;
    best_ = std::move(made);
    return true;
  }

  // What moves of one layer make of `split`, as the best says, the quickest first.
  std::vector<Timed> moves(const Split& split) {
    std::vector<Timed> timed;
    const double passes = 2.0 * static_cast<double>(split.size()) * best_->plan.micro_batches;
    for (std::size_t from = 0; from < split.size(); ++from) {
      const bool may_be_bare = (from == 0 && splits_.bare.first) || (from + 1 == split.size() && splits_.bare.last);
      if (split[from] <= (may_be_bare ? 0 : 1)) continue;
      for (std::size_t to = 0; to < split.size(); ++to) {
        if (to == from) continue;
        if ((passes_left_ -= passes) < 0) return {};
        Split next = split;
        --next[from];
        ++next[to];
        timed.push_back({best_->estimator.time_of_stages(ends_of(next)).value(), std::move(next)});
      }
    }
    std::ranges::sort(timed);
    return timed;
  }

  // Returns: where moves lead from the best.
  Split descend() {
    Timed at{best_->seconds, best_->split};
    std::vector<Timed> around = around_ = moves(at.split);
    while (!around.empty() && around.front().seconds < at.seconds * kLeastGain) {
      at = std::move(around.front());
      around = moves(at.split);
    }
    return at.split;
  }

  // Returns: whether some move from the best that does not seem to is better.
  bool try_doubtful() {
    const double best = best_->seconds;
    for (std::size_t i = 0; i < std::min(kMostDoubtful, around_.size()) && around_[i].seconds < kCostsOfUnitsErr * best; ++i)
      if (try_split(around_[i].split)) return true;
    return false;
  }

  // The quickest that was tried if none fits.
  Split quickest_that_fits() {
    std::ranges::sort(tried_);
    for (const Timed& t : tried_)
      if (oracle_.memory(*splits_.plan(t.split)).fits()) return t.split;
    return tried_.front().split;
  }

  const Splits& splits_;
  const sim::Oracle& oracle_;
  std::unique_ptr<Estimated> best_;
  std::vector<Timed> tried_;   // estimated whole
  std::vector<Timed> around_;  // moves from the best
  double passes_left_ = kMostPasses;
};

}  // namespace

Split quickest_slowest_stage(std::span<const std::vector<double>> seconds, int stages, BareEnds bare) {
  BASE_CHECK(stages >= 1 && !seconds.empty(), "{} stages of {} ranks", stages, seconds.size());
  return Balancer(seconds, stages, bare).run();
}

std::optional<Split> balanced_layers(const Splits& splits, Balance balance, const sim::Oracle& oracle) {
  return Search(splits, oracle).run(balance);
}

}  // namespace search
