#include "tools/collector/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace collector {
namespace {

constexpr double kSample_s = 2e-4;  // of one sample: the events around it cost microseconds, so they stay near a percent
constexpr double kCase_s = 1.5e-2;  // of all samples of a case: a budget of minutes then holds thousands of cases
constexpr double kSetUp_s = 1e-2;   // for the choice of an algorithm and the capture of a graph

}  // namespace

Repeats repeats_for(double launch_s) {
  Repeats r;
  r.launches = static_cast<int>(std::clamp(std::ceil(kSample_s / launch_s), 1.0, 200.0));
  r.samples = static_cast<int>(std::clamp(std::round(kCase_s / (r.launches * launch_s)), 7.0, 51.0));
  return r;
}

double measuring_seconds(double launch_s) {
  const Repeats r = repeats_for(launch_s);
  return kSetUp_s + launch_s * (2 + r.launches * (r.samples + 1));
}

std::vector<Scheduled> schedule(const Device& d, const std::vector<Group>& groups) {
  std::vector<std::size_t> next(groups.size(), 0);
  std::vector<double> spent(groups.size(), 0);
  std::vector<Scheduled> order;
  double now = 0;
  for (;;) {
    std::size_t best = groups.size();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (next[g] == groups[g].cases.size()) continue;
      if (best == groups.size() || spent[g] / groups[g].weight < spent[best] / groups[best].weight) best = g;
    }
    if (best == groups.size()) return order;
    const Case& what = groups[best].cases[next[best]++];
    order.push_back({what, best, now});
    const double takes = measuring_seconds(predicted_seconds(d, what));
    spent[best] += takes;
    now += takes;
  }
}

std::size_t within_budget(const std::vector<Scheduled>& order, double budget_s) {
  const auto late = std::find_if(order.begin(), order.end(), [&](const Scheduled& s) { return s.starts_at_s >= budget_s; });
  return static_cast<std::size_t>(late - order.begin());
}

std::vector<std::string> left_out(const std::vector<Group>& groups, const std::vector<Scheduled>& order, std::size_t measured) {
  std::vector<std::size_t> done(groups.size(), 0);
  for (std::size_t i = 0; i < measured; ++i) ++done[order[i].group];
  std::vector<std::string> result;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (done[g] < groups[g].cases.size())
      result.push_back(groups[g].name + ": " + std::to_string(done[g]) + " of " + std::to_string(groups[g].cases.size()) +
                       " cases, then the time budget ended");
  return result;
}

Shares shares_of(double budget_s, int gpus) {
  Shares s{.launch = 0.02 * budget_s, .copies = 0.06 * budget_s, .overlap = 0.08 * budget_s};
  s.collectives = gpus > 1 ? 0.15 * budget_s : 0;
  s.kernels = budget_s - s.launch - s.copies - s.overlap - s.collectives;
  return s;
}

}  // namespace collector
