#include "validation/choices.hpp"

#include <algorithm>
#include <map>

namespace validation {
namespace {

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

std::optional<Choices> choices_of(const std::vector<Item>& items, const std::vector<std::size_t>& members) {
  std::map<std::string, std::map<std::string, std::vector<Pair>>> questions;
  for (const std::size_t m : members) {
    const Item& i = items[m];
    if (i.failure.empty() && i.facts) questions[i.facts->question][i.facts->plan].push_back({i.measured.value(), i.predicted.value()});
  }
  Choices c;
  Order order, apart;
  double regret = 0;
  for (const auto& [question, runs] : questions) {
    const std::vector<Pair> plans = plans_of(runs);
    if (plans.size() < 2) continue;
    c.questions += 1;
    order += order_of(plans);
    apart += order_of(plans, kRepeats);
    regret += regret_of(plans);
  }
  if (c.questions == 0) return std::nullopt;
  c.tau = order.tau();
  if (apart.same + apart.opposite > 0) c.tau_apart = apart.tau();
  c.regret = regret / static_cast<double>(c.questions);
  return c;
}

}  // namespace validation
