#include "scenarios/confidence/fit/interval_fit.hpp"

#include <cmath>
#include <set>
#include <utility>

#include "base/random.hpp"

namespace confidence {
namespace {

constexpr int kSplits = 5;  // random halves, whose mean is steadier than one

// Sums over tested points, by source.
class Tested {
 public:
  void add(const scenarios::IntervalModel& model, const Residual& r) {
    const scenarios::Spread s = scenarios::spread_for(model, r.question);
    Sums& sums = by_source_[r.source];
    sums.points += 1;
    sums.inside += s.low <= r.log_ratio && r.log_ratio <= s.high;
    sums.width += std::exp(s.high) - std::exp(s.low);
    sums.score += interval_score(s, r.log_ratio, model.level);
    sums.error += std::abs(std::exp(-r.log_ratio) - 1);
  }
  void add(const Tested& other) {
    for (const auto& [source, sums] : other.by_source_) by_source_[source] += sums;
  }

  [[nodiscard]] std::optional<UnseenFigures> figures() const {
    if (by_source_.empty()) return std::nullopt;
    UnseenFigures f;
    const auto sources = static_cast<double>(by_source_.size());
    for (const auto& [source, sums] : by_source_) {
      f.coverage_by_source[source] = sums.inside / sums.points;
      f.coverage += sums.inside / sums.points / sources;
      f.width += sums.width / sums.points / sources;
      f.score += sums.score / sums.points / sources;
    }
    return f;
  }

  // Means over points, whichever group they are of; nullopt: none was tested.
  [[nodiscard]] std::optional<LeftOutFigures> together(std::string by, std::string name) const {
    Sums all;
    for (const auto& [source, sums] : by_source_) all += sums;
    if (all.points == 0) return std::nullopt;
    return LeftOutFigures{.by = std::move(by),
                          .name = std::move(name),
                          .points = static_cast<std::size_t>(all.points),
                          .mean_error = all.error / all.points,
                          .inside = all.inside / all.points,
                          .width = all.width / all.points,
                          .score = all.score / all.points};
  }

 private:
  struct Sums {
    double points = 0, inside = 0, width = 0, score = 0, error = 0;
    Sums& operator+=(const Sums& o) {
      points += o.points;
      inside += o.inside;
      width += o.width;
      score += o.score;
      error += o.error;
      return *this;
    }
  };
  std::map<std::string, Sums> by_source_;
};

// Makes intervals from the residuals that `fits` says, and tests the others.
void test_others(Tested& tested, std::span<const Residual> residuals, double level, auto fits) {
  std::vector<Residual> rest;
  for (std::size_t i = 0; i < residuals.size(); ++i)
    if (fits(i)) rest.push_back(residuals[i]);
  const scenarios::IntervalModel model = fit_intervals(rest, level);
  if (model.groups.empty()) return;
  for (std::size_t i = 0; i < residuals.size(); ++i)
    if (!fits(i)) tested.add(model, residuals[i]);
}

// `name`: what a residual is left out by. What is left out goes to `all`, by name.
std::optional<UnseenFigures> leave_one_out(std::span<const Residual> residuals, double level, const std::string& by, auto name,
                                           std::vector<LeftOutFigures>& all) {
  std::set<std::string> names;
  for (const Residual& r : residuals) names.insert(name(r));
  Tested tested;
  if (names.size() < 2) return std::nullopt;
  for (const std::string& out : names) {
    Tested alone;
    test_others(alone, residuals, level, [&](std::size_t i) { return name(residuals[i]) != out; });
    if (const std::optional<LeftOutFigures> figures = alone.together(by, out)) all.push_back(*figures);
    tested.add(alone);
  }
  return tested.figures();
}

// A random half of every source, by Fisher-Yates: true = fits.
std::vector<bool> random_half(std::span<const Residual> residuals, base::Random& random) {
  std::map<std::string, std::vector<std::size_t>> by_source;
  for (std::size_t i = 0; i < residuals.size(); ++i) by_source[residuals[i].source].push_back(i);
  std::vector<bool> fits(residuals.size(), false);
  for (auto& [source, rows] : by_source) {
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
    for (std::size_t i = 0; i < (rows.size() + 1) / 2; ++i) fits[rows[i]] = true;
  }
  return fits;
}

std::optional<UnseenFigures> split_half(std::span<const Residual> residuals, std::uint64_t seed, double level) {
  base::Random random(seed);
  Tested tested;
  for (int split = 0; split < kSplits; ++split) {
    const std::vector<bool> half = random_half(residuals, random);
    test_others(tested, residuals, level, [&](std::size_t i) { return half[i]; });
  }
  return tested.figures();
}

}  // namespace

UnseenCoverage unseen_coverage(std::span<const Residual> residuals, std::uint64_t seed, double level) {
  UnseenCoverage found;
  found.half = split_half(residuals, seed, level);
  const auto without = [&](const std::string& by, auto name) { return leave_one_out(residuals, level, by, name, found.left_out); };
  found.source = without("source", [](const Residual& r) { return r.published_by(); });
  (void)without("framework", [](const Residual& r) { return r.question.kind.framework; });
  found.machine = without("machine", [](const Residual& r) { return r.question.kind.device; });
  found.family = without("family", [](const Residual& r) { return r.family; });
  return found;
}

}  // namespace confidence
