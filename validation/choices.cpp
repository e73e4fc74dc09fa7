#include "validation/choices.hpp"

#include <algorithm>
#include <map>

namespace validation {
namespace {

// Measured time of the plan with the least forecast over the least measured time, less 1.
double regret_of(const std::vector<Pair>& plans) {
  const Pair& favourite = *std::ranges::min_element(plans, {}, &Pair::predicted);
  const Pair& best = *std::ranges::min_element(plans, {}, &Pair::measured);
  return favourite.measured / best.measured - 1;
}

}  // namespace

std::optional<Choices> choices_of(const std::vector<Item>& items, const std::vector<std::size_t>& members) {
  std::map<std::string, std::vector<Pair>> questions;
  for (const std::size_t m : members) {
    const Item& i = items[m];
    if (i.failure.empty() && i.facts) questions[i.facts->question].push_back({i.measured.value(), i.predicted.value()});
  }
  Choices c;
  Order order;
  double regret = 0;
  for (const auto& [question, plans] : questions) {
    if (plans.size() < 2) continue;
    c.questions += 1;
    order += order_of(plans);
    regret += regret_of(plans);
  }
  if (c.questions == 0) return std::nullopt;
  c.tau = order.tau();
  c.regret = regret / static_cast<double>(c.questions);
  return c;
}

}  // namespace validation
