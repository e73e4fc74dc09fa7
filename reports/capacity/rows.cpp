#include "reports/capacity/capacity.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "base/numbers.hpp"
#include "reports/layout/table.hpp"

namespace reports {
namespace {

using scenarios::CapacityEntry;
using scenarios::CapacityResult;
using scenarios::Outcome;

constexpr std::array kTimes{ColumnUnit{"s", 1}, ColumnUnit{"min", 60}, ColumnUnit{"hours", 3600}, ColumnUnit{"days", 86400}};
constexpr std::array kMoney{ColumnUnit{"USD", 1}, ColumnUnit{"kUSD", 1e3}, ColumnUnit{"MUSD", 1e6}};
constexpr std::array kEnergies{ColumnUnit{"Wh", 3600}, ColumnUnit{"kWh", 3.6e6}, ColumnUnit{"MWh", 3.6e9}, ColumnUnit{"GWh", 3.6e12}};

template <class Figure>
ColumnUnit unit_for(const CapacityResult& r, std::span<const ColumnUnit> units, Figure&& figure_of) {
  double least = std::numeric_limits<double>::infinity();
  for (const CapacityEntry& e : r.entries)
    if (e.outcome)
      if (const double value = figure_of(*e.outcome); value > 0) least = std::min(least, value);
  ColumnUnit unit = units.front();
  for (const ColumnUnit& u : units)
    if (least >= u.size && least < std::numeric_limits<double>::infinity()) unit = u;
  return unit;
}

double cost_of(const Outcome& o) { return o.costs ? o.costs->total().value() : 0; }

// The place of the verdicts: in columns of their own, or in a line below the figures.
enum class Verdicts { beside, below };

// Why an entry has no figures.
std::string status_word(const scenarios::Run& run) {
  if (run.status == scenarios::Status::ok) return "over 300 years";
  return run.status == scenarios::Status::out_of_memory ? "no memory" : std::string(scenarios::to_text(run.status));
}

Columns<CapacityEntry> capacity_columns(const CapacityView& a, Verdicts verdicts) {
  Columns<CapacityEntry> c;
  const auto add = [&](const Table::Column& heading, auto cell) {  // "-" of an entry without figures
    c.add(heading, [cell](const CapacityEntry& e) { return e.outcome ? cell(*e.outcome) : std::string("-"); });
  };
  const auto& [time, money, energy] = a.units;
  c.add(right("nodes"), [](const CapacityEntry& e) { return fmt::format("{}", e.asked.fleet.nodes); });
  if (a.shown.owned) c.add(right("owned"), [](const CapacityEntry& e) { return fmt::format("{}", e.asked.fleet.owned_nodes); });
  c.add(right("GPUs"), [](const CapacityEntry& e) { return fmt::format("{}", e.asked.fleet.gpus); });
  add(right("goodput", "%"), [](const Outcome& o) { return fmt::format("{:.1f}", 100 * o.goodput); });
  add(right("time", time.name), [&a](const Outcome& o) { return figure(o.time.value(), a.units.time); });
  c.add(right("90 %", time.name), [&a](const CapacityEntry& e) {
    const auto& o = e.outcome;
    return o ? range_text(o->time_low.value(), o->time_high.value(), a.units.time) : status_word(a.runs[e.asked.run]);
  });
  if (a.shown.costs) {
    add(right("cost", money.name), [&a](const Outcome& o) { return o.costs ? figure(cost_of(o), a.units.money) : "-"; });
    add(right("90 %", money.name),
        [&a](const Outcome& o) { return o.costs ? range_text(o.cost_low().value(), o.cost_high().value(), a.units.money) : "-"; });
  }
  if (a.shown.energy)
    add(right("energy", energy.name), [&a](const Outcome& o) { return o.energy ? figure(o.energy->value(), a.units.energy) : "-"; });
  if (verdicts == Verdicts::below) return c;
  if (a.shown.deadline) add(left("in time"), [](const Outcome& o) { return word_of(o.deadline); });
  if (a.shown.budget) add(left("in budget"), [](const Outcome& o) { return word_of(o.budget); });
  if (a.shown.costs)
    c.add(left("frontier"), [](const CapacityEntry& e) { return e.outcome && e.outcome->on_frontier.value_or(false) ? "yes" : ""; });
  return c;
}

// "in time probably, in budget surely, on the frontier"; empty without figures.
std::string verdict_line(const CapacityView& a, const CapacityEntry& e) {
  std::vector<std::string> words;
  if (e.outcome && a.shown.deadline) words.push_back("in time " + word_of(e.outcome->deadline));
  if (e.outcome && a.shown.budget) words.push_back("in budget " + word_of(e.outcome->budget));
  if (e.outcome && e.outcome->on_frontier.value_or(false)) words.emplace_back("on the frontier");
  return fmt::format("{}", fmt::join(words, ", "));
}

Table capacity_layout(const CapacityView& a, Verdicts verdicts) {
  const Columns<CapacityEntry> columns = capacity_columns(a, verdicts);
  Table t(columns.headings);
  // Rows of a candidate and a plan together, by nodes: a candidate's entries alternate between its plans.
  std::vector<const CapacityEntry*> rows;
  for (const CapacityEntry& e : a.capacity.entries) rows.push_back(&e);
  const auto group_of = [](const CapacityEntry* e) { return std::pair(e->asked.candidate, e->asked.plan); };
  std::ranges::stable_sort(rows, {}, group_of);
  const CapacityEntry* last = nullptr;
  for (const CapacityEntry* e : rows) {
    if (last == nullptr || group_of(e) != group_of(last))
      t.heading(fmt::format("{}, {}", a.capacity.terms.candidates[e->asked.candidate].name, a.runs[e->asked.run].plan));
    last = e;
    t.row(columns.row(*e));
    if (const std::string line = verdict_line(a, *e); verdicts == Verdicts::below && !line.empty()) t.heading("      " + line);
  }
  return t;
}

}  // namespace

std::string word_of(const std::optional<scenarios::Chance>& c) { return c ? std::string(scenarios::to_text(*c)) : "-"; }

CapacityView capacity_view(const scenarios::ScenarioResult& answer) {
  const CapacityResult& r = *answer.capacity;
  CapacityView a{r, answer.capacity_runs, {}, {}};
  a.units.time = unit_for(r, kTimes, [](const Outcome& o) { return o.time.value(); });
  a.units.money = unit_for(r, kMoney, cost_of);
  a.units.energy = unit_for(r, kEnergies, [](const Outcome& o) { return o.energy ? o.energy->value() : 0; });
  a.shown.deadline = r.terms.deadline.has_value();
  for (const CapacityEntry& e : r.entries) {
    a.shown.owned = a.shown.owned || e.asked.fleet.owned_nodes > 0;
    if (!e.outcome) continue;
    a.shown.costs = a.shown.costs || e.outcome->costs;
    a.shown.energy = a.shown.energy || e.outcome->energy;
    a.shown.budget = a.shown.budget || e.outcome->budget;
  }
  return a;
}

std::string figure(double value, const ColumnUnit& unit) { return base::plain_number(value / unit.size, 3); }

std::string range_text(double low, double high, const ColumnUnit& unit) {
  return fmt::format("{} to {}", figure(low, unit), figure(high, unit));
}

std::string capacity_table(const CapacityView& view, std::size_t width) {
  for (const Verdicts verdicts : {Verdicts::beside, Verdicts::below}) {
    const Table table = capacity_layout(view, verdicts);
    for (const std::size_t gap : {std::size_t{2}, std::size_t{1}})
      if (table.width(gap) <= width) return table.text(gap);
  }
  return capacity_layout(view, Verdicts::below).text(1);
}

}  // namespace reports
