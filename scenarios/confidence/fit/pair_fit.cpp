#include "scenarios/confidence/fit/pair_fit.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <regex>
#include <utility>

namespace confidence {
namespace {

using scenarios::Change;
using scenarios::PairModel;

constexpr std::size_t kKinds = scenarios::kChangeNames.size();
constexpr std::size_t kMostOfQuestion = 50;  // pairs: a few points of a question say what all its pairs do
// No publication counts as more pairs: twenty times as much as one with a single pair is enough.
constexpr double kMostCounted = 400;
constexpr std::array kPairGrowths = {0.0, 0.5, 1.0, 1.5};  // coarse, as those of interval_fit.cpp
constexpr double kLeastGrowthGain = 0.02;                  // of the score: less is chance

struct PairError {
  double error = 0;  // |ln(measured ratio / predicted ratio)|
  double apart = 0;  // shares_apart()
};
using Questions = std::map<std::string, std::vector<PairError>>;  // by what the two have in common
using Publications = std::map<std::string, Questions>;

// All facts but those of a kind.
std::string common_text(const scenarios::ForecastFacts& f, Change kind) {
  std::string text = f.work;
  if (kind != Change::plan) text += "\n" + f.plan;
  if (kind != Change::scale) text += fmt::format("\n{} {}", f.gpus, f.samples);
  if (kind != Change::precision) text += "\n" + f.precision;
  if (kind != Change::machine) text += fmt::format("\n{}", f.machine);
  return text;
}

void add_pair(const Residual& a, const Residual& b, std::array<Publications, kKinds>& found) {
  const scenarios::Changes changes = scenarios::changes_between(a.facts, b.facts);
  if (changes.other || changes.count() != 1) return;
  const auto kind = static_cast<std::size_t>(std::ranges::find(changes.kinds, true) - changes.kinds.begin());
  found[kind][a.publication][common_text(a.facts, static_cast<Change>(kind))].push_back(
      {std::abs(a.log_ratio - b.log_ratio), scenarios::shares_apart(a.facts, b.facts)});
}

std::array<Publications, kKinds> all_pairs(std::span<const Residual> residuals) {
  std::map<std::pair<std::string, std::string>, std::vector<const Residual*>> trainings;
  for (const Residual& r : residuals) trainings[{r.publication, r.facts.work}].push_back(&r);
  std::array<Publications, kKinds> found;
  for (const auto& [key, members] : trainings)
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t j = i + 1; j < members.size(); ++j) add_pair(*members[i], *members[j], found);
  return found;
}

// Pairs of one kind by their scaled error, ascending, so that quantiles without some publications are one pass each.
class PooledPairs {
 public:
  PooledPairs(const Publications& publications, double growth) : growth_(growth) {
    for (const auto& [name, questions] : publications) add(questions);
    std::ranges::sort(entries_, {}, &Entry::value);
  }

  [[nodiscard]] std::size_t publications() const { return weights_.size(); }
  [[nodiscard]] std::size_t pairs() const { return pairs_; }

  // Returns the spread that the publications give that are not left out; 0: too few are left.
  [[nodiscard]] double spread(std::vector<bool> out, double level) const {
    std::size_t left = 0, pairs = 0;
    for (std::size_t p = 0; p < out.size(); ++p) {
      left += out[p] ? 0 : 1;
      pairs += out[p] ? 0 : counts_[p];
    }
    if (left < kLeastPublications || pairs < kLeastPairs) return 0;
    const double all = quantile(out, level);
    std::vector<double> without(out.size(), 0);
    for (std::size_t p = 0; p < out.size(); ++p) {
      if (out[p]) continue;
      out[p] = true;
      without[p] = quantile(out, level);
      out[p] = false;
    }
    return all * std::max(1.0, factor(out, without, level));
  }

  // Returns the mean over publications of the mean over its pairs of a figure(error, spread, scale), by spreads that were made without it;
  // nullopt where too few are left.
  template <class Figure>
  [[nodiscard]] std::optional<double> left_out_mean(double level, Figure figure) const {
    if (publications() == 0) return std::nullopt;
    std::vector<double> spreads;
    for (std::size_t p = 0; p < publications(); ++p) {
      std::vector<bool> out(publications(), false);
      out[p] = true;
      spreads.push_back(spread(out, level));
      if (spreads.back() == 0) return std::nullopt;
    }
    double sum = 0;
    for (const Entry& e : entries_) {
      const double scale = std::exp(growth_ * e.apart);
      sum += e.share * figure(e.value * scale, spreads[e.publication] * scale);
    }
    return sum / static_cast<double>(publications());
  }

 private:
  struct Entry {
    double value = 0, apart = 0;
    double share = 0;  // of its publication
    std::size_t publication = 0;
  };

  void add(const Questions& questions) {
    std::size_t count = 0;
    for (const auto& [common, pairs] : questions) {
      count += pairs.size();
      const std::size_t step = (pairs.size() + kMostOfQuestion - 1) / kMostOfQuestion, kept = (pairs.size() + step - 1) / step;
      const double share = 1 / static_cast<double>(kept * questions.size());
      for (std::size_t i = 0; i < pairs.size(); i += step)
        entries_.push_back({pairs[i].error / std::exp(growth_ * pairs[i].apart), pairs[i].apart, share, weights_.size()});
    }
    counts_.push_back(count);
    weights_.push_back(std::sqrt(std::min(kMostCounted, static_cast<double>(count))));
    pairs_ += count;
  }

  [[nodiscard]] double quantile(const std::vector<bool>& out, double level) const {
    double all = 0, sum = 0, last = 0;
    for (std::size_t p = 0; p < out.size(); ++p) all += out[p] ? 0 : weights_[p];
    for (const Entry& e : entries_) {
      if (out[e.publication]) continue;
      last = e.value;
      if ((sum += e.share * weights_[e.publication]) >= level * all * (1 - 1e-12)) break;  // rounding must not skip what is just enough
    }
    return std::max(scenarios::kLeastPairSpread, last);
  }

  // How many times the spreads made without each publication hold `level` of its pairs, each publication alike.
  [[nodiscard]] double factor(const std::vector<bool>& out, const std::vector<double>& without, double level) const {
    std::vector<std::pair<double, double>> needed;
    double all = 0, sum = 0;
    for (const Entry& e : entries_) {
      if (out[e.publication]) continue;
      needed.emplace_back(e.value / without[e.publication], e.share);
      all += e.share;
    }
    std::ranges::sort(needed);
    for (const auto& [times, share] : needed)
      if ((sum += share) >= level * all * (1 - 1e-12)) return times;
    return 1;
  }

  double growth_;
  std::size_t pairs_ = 0;
  std::vector<Entry> entries_;
  std::vector<double> weights_;      // by publication
  std::vector<std::size_t> counts_;  // likewise, of pairs
};

double score_of_growth(const std::array<Publications, kKinds>& pairs, double growth, double level) {
  double score = 0;
  for (const Publications& of_kind : pairs)
    score += PooledPairs(of_kind, growth)
                 .left_out_mean(level,
                                [&](double error, double spread) {
                                  return interval_score({-spread, spread}, error, level);
                                })
                 .value_or(0);
  return score;
}

double best_growth(const std::array<Publications, kKinds>& pairs, double level) {
  double best = kPairGrowths[0], least = score_of_growth(pairs, best, level);
  for (const double growth : kPairGrowths)
    if (const double score = score_of_growth(pairs, growth, level); score < least * (1 - kLeastGrowthGain)) {
      least = score;
      best = growth;
    }
  return best;
}

}  // namespace

std::string publication_of(const std::string& source) {
  static const std::regex kRound("_v[0-9]+(\\.[0-9]+)*$");
  return std::regex_replace(source.substr(0, source.find_first_of("@:,")), kRound, "");
}

PairModel fit_pairs(std::span<const Residual> residuals, double level) {
  const std::array<Publications, kKinds> pairs = all_pairs(residuals);
  PairModel model{.level = level, .growth = best_growth(pairs, level)};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const PooledPairs pooled(pairs[kind], model.growth);
    model.spread[kind] = pooled.spread(std::vector<bool>(pooled.publications(), false), level);
  }
  return model;
}

std::vector<LeftOutPairs> left_out_pairs(std::span<const Residual> residuals, double level) {
  const std::array<Publications, kKinds> pairs = all_pairs(residuals);
  const double growth = best_growth(pairs, level);
  std::vector<LeftOutPairs> all;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const PooledPairs pooled(pairs[kind], growth);
    if (pooled.pairs() == 0) continue;
    all.push_back({.kind = static_cast<Change>(kind), .pairs = pooled.pairs(), .publications = pooled.publications()});
    all.back().inside = pooled.left_out_mean(level, [](double error, double spread) { return error <= spread ? 1.0 : 0.0; });
    all.back().width = pooled.left_out_mean(level, [](double, double spread) { return std::exp(spread) - std::exp(-spread); });
  }
  return all;
}

}  // namespace confidence
