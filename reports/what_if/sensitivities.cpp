#include "reports/what_if/sensitivities.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "reports/layout/table.hpp"
#include "reports/layout/time_unit.hpp"

namespace reports {
namespace {

using scenarios::Sensitivity;

// Of the time: what changes it by less is not worth a row.
constexpr double kLeastChange = 1e-3;

double gain_of(const Sensitivity& s) { return s.improved && s.time > base::Seconds() ? 1 - *s.improved / s.time : 0; }

bool matters(const Sensitivity& s) { return std::abs(s.elasticity) >= kLeastChange || std::abs(gain_of(s)) >= kLeastChange; }

std::string bare_path(const std::string& path) { return path.starts_with("cluster.") ? path.substr(path.find('.') + 1) : path; }

std::string gain_text(const Sensitivity& s) {
  if (!s.improved) return "-";
  const double gain = gain_of(s);
  return fmt::format("{:.1f} % {}", 100 * std::abs(gain), gain >= 0 ? "less" : "more");
}

std::string plan_sensitivity(const std::vector<Sensitivity>& all, std::size_t width) {
  std::vector<base::Seconds> times;
  std::vector<std::string> idle;
  for (const Sensitivity& s : all) {
    if (s.improved) times.push_back(*s.improved);
    if (!matters(s)) idle.push_back(bare_path(s.parameter));
  }
  const TimeUnit unit = unit_of(times);
  Table table({{"part of the cluster", Align::left},
               {"elasticity", Align::right},
               {"twice as good", Align::right, unit.name},
               {"time", Align::right}});
  std::vector<const Sensitivity*> rows;
  for (const Sensitivity& s : all)
    if (matters(s)) rows.push_back(&s);
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const Sensitivity* s) { return gain_of(*s); });
  for (const Sensitivity* s : rows)
    table.row({bare_path(s->parameter), s->replanned ? "re-planned" : fmt::format("{:+.3f}", s->elasticity),
               s->improved ? unit.text(*s->improved) : "-", gain_text(*s)});
  std::string text =
      fmt::format("\nwhat would help most: {}, {}\n", all.front().plan, base::to_text(all.front().time)) + table.text(2, width);
  if (!idle.empty()) text += hanging(fmt::format("nothing is won by {}", fmt::join(idle, ", ")), width);
  return text;
}

}  // namespace

std::string sensitivities_text(const scenarios::ScenarioResult& result, std::size_t width) {
  std::string text;
  std::vector<Sensitivity> of_plan;
  for (const Sensitivity& s : result.sensitivity) {
    if (!of_plan.empty() && of_plan.front().plan != s.plan) {
      text += plan_sensitivity(of_plan, width);
      of_plan.clear();
    }
    of_plan.push_back(s);
  }
  if (!of_plan.empty()) text += plan_sensitivity(of_plan, width);
  if (text.empty()) return text;
  return text + hanging("elasticity: 1 % more of the part changes the time by so many percent, with the same plan", width);
}

}  // namespace reports
