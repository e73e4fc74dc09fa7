#include "reports/capacity/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "reports/layout/table.hpp"

namespace reports {
namespace {

using scenarios::CapacityEntry;
using scenarios::CapacityResult;
using scenarios::Outcome;
using scenarios::Run;

// One unit for all figures of a column: the largest in which the least of them is at least 1, or the smallest unit.
struct ColumnUnit {
  const char* name;
  double size;
};
constexpr std::array kTimes{ColumnUnit{"s", 1}, ColumnUnit{"min", 60}, ColumnUnit{"hours", 3600}, ColumnUnit{"days", 86400}};
constexpr std::array kMoney{ColumnUnit{"USD", 1}, ColumnUnit{"kUSD", 1e3}, ColumnUnit{"MUSD", 1e6}};
constexpr std::array kEnergies{ColumnUnit{"Wh", 3600}, ColumnUnit{"kWh", 3.6e6}, ColumnUnit{"MWh", 3.6e9}, ColumnUnit{"GWh", 3.6e12}};

template <class Figure>
ColumnUnit unit_for(const CapacityResult& r, std::span<const ColumnUnit> units, Figure&& figure) {
  double least = std::numeric_limits<double>::infinity();
  for (const CapacityEntry& e : r.entries)
    if (e.outcome)
      if (const double value = figure(*e.outcome); value > 0) least = std::min(least, value);
  ColumnUnit unit = units.front();
  for (const ColumnUnit& u : units)
    if (least >= u.size && least < std::numeric_limits<double>::infinity()) unit = u;
  return unit;
}

struct ColumnUnits {
  ColumnUnit time, money, energy;
};

struct ShownColumns {
  bool costs = false, energy = false, deadline = false, budget = false, tokens = false, owned = false;
};

struct CapacityAsked {
  const CapacityResult& capacity;
  const std::vector<Run>& runs;
  ColumnUnits units;
  ShownColumns shown;
};

double cost_of(const Outcome& o) { return o.costs ? o.costs->total().value() : 0; }

CapacityAsked asked_of(const scenarios::ScenarioResult& answer) {
  const CapacityResult& r = *answer.capacity;
  CapacityAsked a{r, answer.capacity_runs, {}, {}};
  a.units.time = unit_for(r, kTimes, [](const Outcome& o) { return o.time.value(); });
  a.units.money = unit_for(r, kMoney, cost_of);
  a.units.energy = unit_for(r, kEnergies, [](const Outcome& o) { return o.energy ? o.energy->value() : 0; });
  a.shown.deadline = r.terms.deadline.has_value();
  a.shown.tokens = r.terms.work.unit == scenarios::Work::Unit::tokens;
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

std::vector<Table::Column> capacity_headings(const CapacityAsked& a) {
  std::vector<Table::Column> h = {{"nodes", Align::right}};
  if (a.shown.owned) h.push_back({"owned", Align::right});
  h.push_back({"GPUs", Align::right});
  h.push_back({"goodput", Align::right, "%"});
  h.push_back({"time", Align::right, a.units.time.name});
  h.push_back({"90 %", Align::right, a.units.time.name});
  if (a.shown.costs) {
    h.push_back({"cost", Align::right, a.units.money.name});
    h.push_back({"90 %", Align::right, a.units.money.name});
  }
  if (a.shown.energy) h.push_back({"energy", Align::right, a.units.energy.name});
  if (a.shown.deadline) h.push_back({"in time"});
  if (a.shown.budget) h.push_back({"in budget"});
  if (a.shown.costs) h.push_back({"frontier"});
  return h;
}

std::string word_of(const std::optional<scenarios::Chance>& c) { return c ? std::string(scenarios::to_text(*c)) : "-"; }

// Why an entry has no figures.
std::string status_word(const Run& run) {
  switch (run.status) {
    case scenarios::Status::ok: return "over 300 years";
    case scenarios::Status::out_of_memory: return "no memory";
    default: return std::string(scenarios::to_text(run.status));
  }
}

std::vector<std::string> capacity_row(const CapacityAsked& a, const CapacityEntry& e) {
  const scenarios::Fleet& fleet = e.asked.fleet;
  std::vector<std::string> c = {fmt::format("{}", fleet.nodes)};
  if (a.shown.owned) c.push_back(fmt::format("{}", fleet.owned_nodes));
  c.push_back(fmt::format("{}", fleet.gpus));
  const Outcome* o = e.outcome ? &*e.outcome : nullptr;
  c.push_back(o != nullptr ? fmt::format("{:.1f}", 100 * o->goodput) : "-");
  c.push_back(o != nullptr ? figure(o->time.value(), a.units.time) : "-");
  c.push_back(o != nullptr ? range_text(o->time_low.value(), o->time_high.value(), a.units.time) : status_word(a.runs[e.asked.run]));
  const bool priced = o != nullptr && o->costs;
  if (a.shown.costs) {
    c.push_back(priced ? figure(cost_of(*o), a.units.money) : "-");
    c.push_back(priced ? range_text(o->cost_low().value(), o->cost_high().value(), a.units.money) : "-");
  }
  if (a.shown.energy) c.push_back(o != nullptr && o->energy ? figure(o->energy->value(), a.units.energy) : "-");
  if (a.shown.deadline) c.push_back(o != nullptr ? word_of(o->deadline) : "-");
  if (a.shown.budget) c.push_back(o != nullptr ? word_of(o->budget) : "-");
  if (a.shown.costs) c.emplace_back(o != nullptr && o->on_frontier.value_or(false) ? "yes" : "");
  return c;
}

std::string capacity_table(const CapacityAsked& a, std::size_t width) {
  Table t(capacity_headings(a));
  std::pair<std::size_t, std::size_t> group{std::numeric_limits<std::size_t>::max(), 0};
  // Rows of a candidate and a plan together, by nodes: a candidate's entries alternate between its plans.
  std::vector<const CapacityEntry*> rows;
  for (const CapacityEntry& e : a.capacity.entries) rows.push_back(&e);
  const auto group_of = [](const CapacityEntry* e) { return std::pair(e->asked.candidate, e->asked.plan); };
  std::ranges::stable_sort(rows, {}, group_of);
  for (const CapacityEntry* e : rows) {
    if (group_of(e) != group)
      t.heading(fmt::format("{}, {}", a.capacity.terms.candidates[e->asked.candidate].name, a.runs[e->asked.run].plan));
    group = group_of(e);
    t.row(capacity_row(a, *e));
  }
  return t.text(t.width(2) <= width ? 2 : 1);
}

std::string machine_text(const CapacityAsked& a, std::size_t entry) {
  const CapacityEntry& e = a.capacity.entries[entry];
  return fmt::format("{} x {} ({} GPUs, {})", a.capacity.terms.candidates[e.asked.candidate].name, e.asked.fleet.nodes, e.asked.fleet.gpus,
                     a.runs[e.asked.run].plan);
}

// "rent 12, capex 8, operations 2, electricity 1.5": where some of it is owned.
std::string parts_text(const CapacityAsked& a, const scenarios::Costs& c) {
  return fmt::format("rent {}, capex {}, operations {}, electricity {}", figure(c.rent.value(), a.units.money),
                     figure(c.capex.value(), a.units.money), figure(c.operations.value(), a.units.money),
                     figure(c.electricity.value(), a.units.money));
}

// "18 to 24 days, 90 %; 52.1 kUSD (45 to 60); 12.3 MWh".
std::string outcome_text(const CapacityAsked& a, std::size_t entry) {
  const Outcome& o = *a.capacity.entries[entry].outcome;
  std::string text = fmt::format("{} {}, 90 %", range_text(o.time_low.value(), o.time_high.value(), a.units.time), a.units.time.name);
  if (o.costs)
    text += fmt::format("; {} {} ({})", figure(cost_of(o), a.units.money), a.units.money.name,
                        range_text(o.cost_low().value(), o.cost_high().value(), a.units.money));
  if (o.costs && a.capacity.entries[entry].asked.fleet.owned_nodes > 0) text += ": " + parts_text(a, *o.costs);
  if (o.energy) text += "; " + base::to_text(*o.energy);
  return text;
}

std::string question_text(const CapacityResult& r) {
  constexpr std::array<const char*, 3> kUnits = {"tokens", "samples", "iterations"};
  std::string amount = fmt::format("{:.4g}", r.terms.work.amount);
  if (const std::size_t plus = amount.find('+'); plus != std::string::npos) amount.erase(plus, 1);  // "3e11"
  std::string text = fmt::format("{} {} of training", amount, kUnits[static_cast<std::size_t>(r.terms.work.unit)]);
  if (r.terms.deadline) text += fmt::format(", in {}", base::to_text(*r.terms.deadline));
  if (r.terms.budget) text += fmt::format(", for {}", base::to_text(*r.terms.budget));
  return text;
}

std::string price_text(const scenarios::CandidateTerms& c) {
  if (!c.price) return "no price is given";
  constexpr std::array<const char*, 3> kEndings = {"/h", "/node/h", "/gpu/h"};
  return fmt::format("now {} USD{}", base::plain_number(c.price->amount.value(), 3), kEndings[static_cast<std::size_t>(c.price->per)]);
}

// Against the cheapest of all alone, and of the cheapest against the next: the JSON result has every pair.
std::vector<std::string> break_evens(const CapacityAsked& a) {
  std::vector<std::string> all;
  const auto& cheapest = a.capacity.choices.cheapest;
  if (!cheapest) return all;
  for (const scenarios::BreakEven& b : a.capacity.choices.break_evens)
    if (b.against_entry == *cheapest)
      all.push_back(fmt::format("{} would cost as much at {} USD per GPU and hour ({})", machine_text(a, b.entry),
                                base::plain_number(b.price.value(), 3), price_text(a.capacity.terms.candidates[b.candidate])));
  return all;
}

void add_sentence(std::string& out, const std::string& label, const std::string& text, std::size_t width) {
  constexpr std::size_t kLabel = 12;
  bool first = true;
  for (const std::string& l : wrapped(text, width - kLabel)) {
    out += fmt::format("{:<{}}{}\n", first ? label : "", kLabel, l);
    first = false;
  }
}

std::string choices_text(const CapacityAsked& a, std::size_t width) {
  const scenarios::Choices& c = a.capacity.choices;
  const auto said = [&](std::size_t entry) {
    const std::string& plan = a.runs[a.capacity.entries[entry].asked.run].plan_summary;
    return fmt::format("{}: {}{}", machine_text(a, entry), outcome_text(a, entry), plan.empty() ? "" : "; " + plan);
  };
  std::string out;
  if (a.shown.deadline) {
    add_sentence(out, "smallest",
                 c.smallest ? said(*c.smallest) + fmt::format("; in time {}", word_of(a.capacity.entries[*c.smallest].outcome->deadline))
                            : "no machine meets the deadline",
                 width);
    if (c.smallest_surely && c.smallest_surely != c.smallest) add_sentence(out, "  surely", said(*c.smallest_surely), width);
  }
  if (c.cheapest) add_sentence(out, "cheapest", said(*c.cheapest), width);
  if (a.shown.budget) add_sentence(out, "quickest", c.quickest ? said(*c.quickest) : "no machine keeps within the budget", width);
  for (const std::string& sentence : break_evens(a)) add_sentence(out, "break-even", sentence, width);
  return out;
}

std::string legend_text(const CapacityAsked& a, std::size_t width) {
  std::string sentence = "goodput: the share of the time that trains, besides failures and checkpoints; 90 %: the interval";
  if (a.shown.deadline || a.shown.budget)
    sentence += "; surely: all of the interval keeps the limit, probably: its middle does, unlikely: its lower end alone";
  if (a.shown.costs) sentence += "; frontier: none is as quick and as cheap, and better in one of the two";
  std::string out = "\n";
  for (const std::string& l : wrapped(sentence, width)) out += l + "\n";
  return out;
}

// What was assumed stands beside the answer that it is about.
std::string capacity_notes(const CapacityResult& r, std::size_t width) {
  constexpr std::array<const char*, 5> kKinds = {"problem", "caution", "assumed", "search", "detail"};
  std::string out;
  for (const base::Note& n : r.notes) add_sentence(out, kKinds[static_cast<std::size_t>(n.kind)], n.text, width);
  return out;
}

}  // namespace

std::string capacity_text(const scenarios::ScenarioResult& answer, std::size_t width) {
  if (!answer.capacity) return "";
  const CapacityAsked a = asked_of(answer);
  std::string out = "\n";
  add_sentence(out, "capacity", question_text(a.capacity), width);
  return out + "\n" + capacity_table(a, width) + legend_text(a, width) + "\n" + choices_text(a, width) + capacity_notes(a.capacity, width);
}

scenarios::ScenarioResult with_capacity_runs(const scenarios::ScenarioResult& answer) {
  scenarios::ScenarioResult all = answer;
  all.runs.insert(all.runs.end(), answer.capacity_runs.begin(), answer.capacity_runs.end());
  return all;
}

}  // namespace reports
