#include "scenarios/confidence/choices.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace confidence {
namespace {

// By question, then by plan: the runs of each.
using Runs = std::map<std::string, std::map<std::string, std::vector<Pair>>>;

Runs runs_of(const std::vector<Item>& items, const std::vector<std::size_t>& members) {
  Runs runs;
  for (const std::size_t m : members) {
    const Item& i = items[m];
    if (i.failure.empty() && i.facts) runs[i.facts->question][i.facts->plan].push_back({i.measured.value(), i.predicted.value()});
  }
  return runs;
}

// Of pairs of plans, how much more often another measurement orders them as they are than the other way round: the expected
// sign of a normal difference, the logarithms of whose times scatter as `scatter` says. What lies apart by chance counts as apart, so that
// this is a little too good.
struct ExpectedOrder {
  double sum = 0, pairs = 0;
  void add(const std::map<std::string, std::vector<Pair>>& plans, const std::vector<Pair>& medians, double scatter) {
    std::vector<double> variances;
    for (const auto& [plan, runs] : plans) variances.push_back(scatter * scatter / static_cast<double>(runs.size()));
    for (std::size_t i = 0; i < medians.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const double apart = std::abs(std::log(medians[i].measured / medians[j].measured));
        sum += std::erf(apart / std::sqrt(2 * (variances[i] + variances[j])));
        pairs += 1;
      }
  }
};

// Mean measured time of the plans with the least forecast over the least measured time, less 1. Several have the least where what tells
// them apart is nothing to the forecast.
double regret_of(const std::vector<Pair>& plans) {
  const double least = std::ranges::min_element(plans, {}, &Pair::predicted)->predicted;
  double sum = 0, favourites = 0;
  for (const Pair& p : plans) {
    if (p.predicted > least) continue;
    sum += p.measured;
    favourites += 1;
  }
  return sum / favourites / std::ranges::min_element(plans, {}, &Pair::measured)->measured - 1;
}

// A plan that was measured again, by another release or on another day, is no second plan.
std::vector<Pair> plans_of(const std::map<std::string, std::vector<Pair>>& runs) {
  std::vector<Pair> plans;
  for (const auto& [plan, pairs] : runs) {
    std::vector<double> measured;
    for (const Pair& p : pairs) measured.push_back(p.measured);
    plans.push_back({median(std::move(measured)), pairs.front().predicted});
  }
  return plans;
}

}  // namespace

std::optional<Repeats> repeats_of(const std::vector<Item>& items, const std::vector<std::size_t>& members) {
  Repeats r;
  double squares = 0;
  for (const auto& [question, plans] : runs_of(items, members))
    for (const auto& [plan, runs] : plans) {
      double mean = 0;
      for (const Pair& p : runs) mean += std::log(p.measured) / static_cast<double>(runs.size());
      for (const Pair& p : runs) squares += (std::log(p.measured) - mean) * (std::log(p.measured) - mean);
      r.runs += runs.size() - 1;
    }
  if (r.runs < kLeastRepeats) return std::nullopt;
  r.scatter = std::sqrt(squares / static_cast<double>(r.runs));
  return r;
}

std::optional<Choices> choices_of(const std::vector<Item>& items, const std::vector<std::size_t>& members,
                                  const std::optional<Repeats>& repeats) {
  Choices c;
  Order order, apart;
  ExpectedOrder truth;
  double regret = 0;
  for (const auto& [question, runs] : runs_of(items, members)) {
    const std::vector<Pair> plans = plans_of(runs);
    if (plans.size() < 2) continue;
    c.questions += 1;
    order += order_of(plans);
    apart += order_of(plans, kRepeats);
    if (repeats && repeats->scatter > 0) truth.add(runs, plans, repeats->scatter);
    regret += regret_of(plans);
  }
  if (c.questions == 0) return std::nullopt;
  c.tau = order.tau();
  if (apart.same + apart.opposite > 0) c.tau_apart = apart.tau();
  if (truth.pairs > 0) c.tau_of_truth = truth.sum / truth.pairs;
  c.regret = regret / static_cast<double>(c.questions);
  return c;
}

}  // namespace confidence
