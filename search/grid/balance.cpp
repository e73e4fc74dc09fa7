#include "search/grid/balance.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace search {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // sums of seconds that differ by less are equal: some thousand additions round by less

// The best splits of the first layers among the first stages.
class Balancer {
 public:
  Balancer(std::span<const std::vector<double>> seconds, int stages) : stages_(static_cast<std::size_t>(stages)) {
    for (const std::vector<double>& of_rank : seconds) {
      std::vector<double>& sums = until_.emplace_back(1, 0.0);
      for (const double s : of_rank) sums.push_back(sums.back() + s);
    }
    layers_ = until_.front().size() - 1;
  }

  std::vector<int> run() {
    // First how quick the slowest stage can be, then the most even of the splits that keep to it.
    solve(kInfinite, [](double before, double stage) { return std::max(before, stage); });
    const double slowest = value_.back().back();
    solve(slowest * (1 + kRounding), [](double before, double stage) { return before + stage * stage; });
    std::vector<int> split(stages_);
    std::size_t end = layers_;
    for (std::size_t s = stages_; s-- > 0; end = begin_[s + 1][end]) split[s] = static_cast<int>(end - begin_[s + 1][end]);
    return split;
  }

 private:
  // value_[s][n]: the least that `join` makes of the first s stages over the first n layers, none of them above `limit`; begin_[s][n]:
  // where the last of these stages begins.
  template <class Join>
  void solve(double limit, Join join) {
    value_.assign(stages_ + 1, std::vector<double>(layers_ + 1, kInfinite));
    begin_.assign(stages_ + 1, std::vector<std::size_t>(layers_ + 1, 0));
    value_[0][0] = 0;
    for (std::size_t s = 1; s <= stages_; ++s)
      for (std::size_t n = s; n + (stages_ - s) <= layers_; ++n) extend(s, n, limit, join);
  }

  template <class Join>
  void extend(std::size_t s, std::size_t n, double limit, Join join) {
    const std::vector<double>& until = until_[(s - 1) % until_.size()];
    double& best = value_[s][n];
    // The last stage grows backwards: once it alone is as bad as what was found, more layers make it worse.
    for (std::size_t first = n; first-- >= s;) {
      const double stage = until[n] - until[first];
      if (stage > limit || join(0, stage) >= best) break;
      const double value = join(value_[s - 1][first], stage);
      if (value >= best * (1 - kRounding)) continue;
      best = value;
      begin_[s][n] = first;
    }
  }

  std::size_t stages_, layers_ = 0;
  std::vector<std::vector<double>> until_;  // [rank][n]: seconds of the first n layers
  std::vector<std::vector<double>> value_;
  std::vector<std::vector<std::size_t>> begin_;
};

}  // namespace

std::vector<int> balanced_layers(std::span<const std::vector<double>> seconds, int stages) {
  BASE_CHECK(stages >= 1 && !seconds.empty() && seconds.front().size() >= static_cast<std::size_t>(stages), "{} stages of {} ranks", stages,
             seconds.size());
  return Balancer(seconds, stages).run();
}

std::string layers_text(std::span<const int> layers_per_stage) {
  std::string text;
  for (auto at = layers_per_stage.begin(); at != layers_per_stage.end();) {
    const auto next = std::find_if(at, layers_per_stage.end(), [&](int n) { return n != *at; });
    if (!text.empty()) text += " + ";
    text += next - at > 1 ? fmt::format("{} x {}", next - at, *at) : fmt::format("{}", *at);
    at = next;
  }
  return text;
}

}  // namespace search
