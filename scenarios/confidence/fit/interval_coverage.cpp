#include "scenarios/confidence/fit/interval_fit.hpp"

#include <cmath>
#include <set>
#include <utility>

namespace confidence {
namespace {

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

  void add_coverage(std::map<std::string, double>& by_group) const {
    for (const auto& [group, sums] : by_source_) by_group[group] = sums.inside / sums.points;
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

// `name`: what a residual is left out by. Returns what every point was tested with.
Tested leave_one_out(std::span<const Residual> residuals, double level, const std::string& by, auto name,
                     std::vector<LeftOutFigures>& all) {
  std::set<std::string> names;
  for (const Residual& r : residuals) names.insert(name(r));
  Tested tested;
  if (names.size() < 2) return tested;
  for (const std::string& out : names) {
    Tested alone;
    test_others(alone, residuals, level, [&](std::size_t i) { return name(residuals[i]) != out; });
    if (const std::optional<LeftOutFigures> figures = alone.together(by, out)) all.push_back(*figures);
    tested.add(alone);
  }
  return tested;
}

}  // namespace

UnseenCoverage unseen_coverage(std::span<const Residual> residuals, double level) {
  UnseenCoverage found;
  const auto without = [&](const std::string& by, auto name) { return leave_one_out(residuals, level, by, name, found.left_out); };
  without("source", [](const Residual& r) { return r.published_by(); }).add_coverage(found.by_group);
  without("framework", [](const Residual& r) { return r.question.kind.framework; });
  without("machine", [](const Residual& r) { return r.question.kind.device; });
  without("family", [](const Residual& r) { return r.family; });
  return found;
}

}  // namespace confidence
