#include "reports/what_if/what_if.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <vector>

#include "reports/layout/speedups.hpp"
#include "reports/layout/table.hpp"
#include "reports/layout/time_unit.hpp"

namespace reports {
namespace {

using scenarios::Run;
using scenarios::Sensitivity;

// More rows than two screens hold hide the text above them.
constexpr std::size_t kMostPoints = 60;

// A point with one plan: the base's, and one that was made anew.
struct SweptPoint {
  const Run *same = nullptr, *anew = nullptr;
  [[nodiscard]] const Run& any() const { return anew != nullptr ? *anew : *same; }
};

struct PlanSweep {
  const Run* base = nullptr;
  std::vector<SweptPoint> points;
};

using Sweeps = std::vector<std::pair<std::pair<std::string, std::string>, PlanSweep>>;  // by sweep and plan, in order

Sweeps sweeps_of(const scenarios::ScenarioResult& result) {
  Sweeps all;
  for (const Run& r : result.runs) {
    if (r.sweep.empty()) continue;
    const std::pair key(r.sweep, r.plan);
    auto at = std::ranges::find(all, key, &Sweeps::value_type::first);
    if (at == all.end()) at = all.insert(at, {key, {}});
    PlanSweep& sweep = at->second;
    if (sweep.points.empty() || sweep.points.back().any().variant != r.variant) sweep.points.emplace_back();
    (r.replanned ? sweep.points.back().anew : sweep.points.back().same) = &r;
  }
  for (auto& [key, sweep] : all)
    for (const Run& r : result.runs)
      if (r.is_of_base() && r.plan == key.second && r.simulation) sweep.base = &r;
  return all;
}

// The keys whose values differ from point to point, as positions among the settings.
std::vector<std::size_t> varied(const PlanSweep& sweep) {
  std::vector<std::size_t> keys;
  const auto& first = sweep.points.front().any().settings;
  for (std::size_t k = 0; k < first.size(); ++k)
    if (std::ranges::any_of(sweep.points, [&](const SweptPoint& p) { return p.any().settings[k].second != first[k].second; }))
      keys.push_back(k);
  if (keys.empty() && !first.empty()) keys.push_back(first.size() - 1);
  return keys;
}

// "infiniband.bandwidth" of "cluster.links.infiniband.bandwidth": the last two words distinguish keys.
std::string short_path(const std::string& path) {
  std::size_t at = path.rfind('.');
  if (at != std::string::npos && at > 0) at = path.rfind('.', at - 1);
  const std::string end = at == std::string::npos ? path : path.substr(at + 1);
  return end.starts_with("cluster.") || end.starts_with("training.") ? end.substr(end.find('.') + 1) : end;
}

std::string time_text(const Run* r, const TimeUnit& unit) {
  if (r == nullptr) return "-";
  if (!r->simulation) return std::string(scenarios::to_text(r->status));
  return unit.text(r->simulation->iteration_time) + (r->status == scenarios::Status::ok ? "" : "!");
}

// Throughput of the better of the two answers over the base's; nullptr: none fits.
const scenarios::Speedup* against(const SweptPoint& p) {
  const Run& r = p.any();
  return r.status == scenarios::Status::ok && r.against_base ? &*r.against_base : nullptr;
}

std::string against_text(const SweptPoint& p) {
  const scenarios::Speedup* s = against(p);
  return s == nullptr ? "-" : speedup_cell(*s);
}

std::string plan_text(const Run* base, const Run& r) {
  if (!r.simulation) return "";
  return base != nullptr && have_same_plan(*base, r) ? "the base's" : r.plan_summary;
}

std::string sweep_text(const std::string& name, const std::string& plan, const PlanSweep& sweep, std::size_t width) {
  std::vector<base::Seconds> times;
  bool does_not_fit = false, has_same = false, has_anew = false;
  for (const SweptPoint& p : sweep.points)
    for (const Run* r : {p.same, p.anew}) {
      if (r == nullptr) continue;
      (r == p.same ? has_same : has_anew) = true;
      if (r->simulation) times.push_back(r->simulation->iteration_time);
      does_not_fit = does_not_fit || (r->simulation && r->status != scenarios::Status::ok);
    }
  const TimeUnit unit = unit_of(times);
  const std::vector<std::size_t> keys = varied(sweep);
  Columns<SweptPoint> columns;
  for (const std::size_t k : keys)
    columns.add(right(short_path(sweep.points.front().any().settings[k].first)),
                [k](const SweptPoint& p) { return p.any().settings[k].second; });
  columns.add(right("GPUs"), [](const SweptPoint& p) { return fmt::format("{}", p.any().gpus); });
  if (has_same) columns.add(right("same plan", unit.name), [&](const SweptPoint& p) { return time_text(p.same, unit); });
  if (has_anew) columns.add(right("re-planned", unit.name), [&](const SweptPoint& p) { return time_text(p.anew, unit); });
  const bool has_ends =
      std::ranges::any_of(sweep.points, [](const SweptPoint& p) { return against(p) != nullptr && !against(p)->is_exact(); });
  columns.add(has_ends ? right("vs base", "%") : right("vs base"), against_text);
  columns.add(left("plan"), [&](const SweptPoint& p) { return plan_text(sweep.base, p.any()); });
  Table table(columns.headings);
  for (const SweptPoint& p : sweep.points | std::views::take(kMostPoints)) table.row(columns.row(p));
  std::string text = fmt::format("\n{}, {}\n", name, plan) + table.text(2, width);
  std::string end;
  if (does_not_fit) end += "!: does not fit into memory. ";
  if (sweep.points.size() > kMostPoints)
    end += fmt::format("{} more points are in the JSON, the CSV and the report.", sweep.points.size() - kMostPoints);
  return end.empty() ? text : text + hanging(end, width);
}

// A share of the time: a smaller change is not worth a row.
constexpr double kLeastChange = 1e-3;

double gain_of(const Sensitivity& s) { return s.improved && s.time > base::Seconds() ? 1 - *s.improved / s.time : 0; }

std::string bare_path(const std::string& path) { return path.starts_with("cluster.") ? path.substr(path.find('.') + 1) : path; }

std::string gain_text(const Sensitivity& s) {
  if (!s.improved) return "-";
  const double gain = gain_of(s);
  return fmt::format("{:.1f} % {}", 100 * std::abs(gain), gain >= 0 ? "less" : "more");
}

// "16 to 30": the ends of the interval of what is saved, in per cent of the time.
std::string saved_text(const Sensitivity& s) {
  return s.speedup ? fmt::format("{:.0f} to {:.0f}", 100 * (1 - 1 / s.speedup->low), 100 * (1 - 1 / s.speedup->high)) : "-";
}

Columns<Sensitivity> sensitivity_columns(const std::vector<const Sensitivity*>& rows, const TimeUnit& unit) {
  Columns<Sensitivity> c;
  c.add(left("part of the cluster"), [](const Sensitivity& s) { return bare_path(s.parameter); });
  c.add(right("elasticity"), [](const Sensitivity& s) { return s.replanned ? "re-planned" : fmt::format("{:+.3f}", s.elasticity); });
  c.add(right("twice as good", unit.name), [unit](const Sensitivity& s) { return s.improved ? unit.text(*s.improved) : "-"; });
  c.add(right("time"), gain_text);
  if (std::ranges::any_of(rows, [](const Sensitivity* s) { return s->speedup.has_value(); })) c.add(right("90 %", "% less"), saved_text);
  return c;
}

std::string plan_sensitivity(const std::vector<Sensitivity>& all, std::size_t width) {
  std::vector<base::Seconds> times;
  std::vector<const Sensitivity*> rows;
  std::vector<std::string> idle, unsure;
  for (const Sensitivity& s : all) {
    if (s.improved) times.push_back(*s.improved);
    if (std::abs(s.elasticity) >= kLeastChange || std::abs(gain_of(s)) >= kLeastChange) rows.push_back(&s);
    else idle.push_back(bare_path(s.parameter));
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const Sensitivity* s) { return gain_of(*s); });
  const Columns<Sensitivity> columns = sensitivity_columns(rows, unit_of(times));
  Table table(columns.headings);
  for (const Sensitivity* s : rows) {
    table.row(columns.row(*s));
    if (s->speedup && s->speedup->is_no_sure_gain()) unsure.push_back(bare_path(s->parameter));
  }
  std::string text =
      fmt::format("\nwhat would help most: {}, {}\n", all.front().plan, base::to_text(all.front().time)) + table.text(2, width);
  if (!unsure.empty()) text += hanging(fmt::format("no sure gain by {}: the interval holds 0", fmt::join(unsure, ", ")), width);
  if (!idle.empty()) text += hanging(fmt::format("nothing is won by {}", fmt::join(idle, ", ")), width);
  return text;
}

}  // namespace

std::string sweeps_text(const scenarios::ScenarioResult& result, std::size_t width) {
  std::string text;
  for (const auto& [key, sweep] : sweeps_of(result)) text += sweep_text(key.first, key.second, sweep, width);
  return text;
}

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
  return text + hanging("elasticity: percent by which 1 % more of the part changes the time, with the same plan", width);
}

}  // namespace reports
