#include "reports/capacity/capacity.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/numbers.hpp"
#include "reports/layout/speedups.hpp"
#include "reports/layout/table.hpp"

namespace reports {
namespace {

using scenarios::CapacityResult;

std::string machine_text(const CapacityView& a, std::size_t entry) {
  const scenarios::CapacityEntry& e = a.capacity.entries[entry];
  return fmt::format("{} x {} ({}, {})", a.capacity.terms.candidates[e.asked.candidate].name, e.asked.fleet.nodes,
                     base::counted(e.asked.fleet.gpus, "GPU"), a.runs[e.asked.run].plan);
}

// "rent 12, capex 8, operations 2, electricity 1.5": where some of it is owned.
std::string parts_text(const CapacityView& a, const scenarios::Costs& c) {
  return fmt::format("rent {}, capex {}, operations {}, electricity {}", figure(c.rent.value(), a.units.money),
                     figure(c.capex.value(), a.units.money), figure(c.operations.value(), a.units.money),
                     figure(c.electricity.value(), a.units.money));
}

// "18 to 24 days, 90 %; 52.1 kUSD (45 to 60); 12.3 MWh".
std::string outcome_text(const CapacityView& a, std::size_t entry) {
  const scenarios::Outcome& o = *a.capacity.entries[entry].outcome;
  std::string text = fmt::format("{} {}, 90 %", range_text(o.time_low.value(), o.time_high.value(), a.units.time), a.units.time.name);
  if (o.costs)
    text += fmt::format("; {} {} ({})", figure(o.costs->total().value(), a.units.money), a.units.money.name,
                        range_text(o.cost_low().value(), o.cost_high().value(), a.units.money));
  if (o.costs && a.capacity.entries[entry].asked.fleet.owned_nodes > 0) text += ": " + parts_text(a, *o.costs);
  if (o.energy) text += "; " + base::to_text(*o.energy);
  return text;
}

std::string question_text(const CapacityResult& r) {
  constexpr std::array<const char*, 3> kUnits = {"tokens", "samples", "iterations"};
  std::string amount = fmt::format("{:.4g}", r.terms.work.amount);
  if (const std::size_t plus = amount.find('+'); plus != std::string::npos)  // "3e9", not "3e+09"
    amount.erase(plus, std::min(amount.find_first_not_of("+0", plus), amount.size()) - plus);
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
std::vector<std::string> break_evens(const CapacityView& a) {
  std::vector<std::string> all;
  const auto& cheapest = a.capacity.choices.cheapest;
  if (!cheapest) return all;
  for (const scenarios::BreakEven& b : a.capacity.choices.break_evens)
    if (b.against_entry == *cheapest)
      all.push_back(fmt::format("{} would cost as much at {} USD per GPU and hour ({})", machine_text(a, b.entry),
                                base::plain_number(b.price.value(), 3), price_text(a.capacity.terms.candidates[b.candidate])));
  return all;
}

// "; 1.83 times as quick as the cheapest (1.6 to 2.1)"; empty for the machine that others are compared with, and where none is.
std::string against_named(const CapacityView& a, std::size_t entry) {
  const auto& s = a.capacity.entries[entry].speedup;
  const scenarios::Choices& c = a.capacity.choices;
  if (!s || s->is_exact() || (!c.cheapest && !c.smallest)) return "";
  return fmt::format("; {:.2f} times as quick as the {}{} ({})", s->ratio, c.cheapest ? "cheapest" : "smallest",
                     s->is_no_sure_gain() ? ", not surely" : "", speedup_range(*s));
}

std::string sentence(std::string_view label, const std::string& text, std::size_t width) { return labelled(label, 12, text, width); }

std::string choices_text(const CapacityView& a, std::size_t width) {
  const scenarios::Choices& c = a.capacity.choices;
  const auto said = [&](std::size_t entry) {
    const std::string& plan = a.runs[a.capacity.entries[entry].asked.run].plan_summary;
    return fmt::format("{}: {}{}", machine_text(a, entry), outcome_text(a, entry), plan.empty() ? "" : "; " + plan) +
           against_named(a, entry);
  };
  std::string out;
  if (a.shown.deadline) {
    out += sentence("smallest",
                    c.smallest ? said(*c.smallest) + fmt::format("; in time {}", word_of(a.capacity.entries[*c.smallest].outcome->deadline))
                               : "no machine meets the deadline",
                    width);
    if (c.smallest_surely && c.smallest_surely != c.smallest) out += sentence("  surely", said(*c.smallest_surely), width);
  }
  if (c.cheapest) out += sentence("cheapest", said(*c.cheapest), width);
  if (a.shown.budget) out += sentence("quickest", c.quickest ? said(*c.quickest) : "no machine keeps within the budget", width);
  for (const std::string& text : break_evens(a)) out += sentence("break-even", text, width);
  return out;
}

std::string legend_text(const CapacityView& a, std::size_t width) {
  std::string text = "goodput: the share of the time that trains, besides failures and checkpoints; 90 %: the interval";
  if (a.shown.deadline || a.shown.budget)
    text += "; surely: all of the interval keeps the limit, probably: its middle does, unlikely: its lower end alone";
  if (a.shown.costs) text += "; frontier: none is as quick and as cheap, and better in one of the two";
  return "\n" + labelled("", 0, text, width);
}

// Assumptions are beside the answer that they are about.
std::string capacity_notes(const CapacityResult& r, std::size_t width) {
  constexpr std::array<const char*, 5> kKinds = {"problem", "caution", "assumed", "search", "detail"};
  std::string out;
  for (const base::Note& n : r.notes) out += sentence(kKinds[static_cast<std::size_t>(n.kind)], n.text, width);
  return out;
}

}  // namespace

std::string capacity_text(const scenarios::ScenarioResult& answer, std::size_t width) {
  if (!answer.capacity) return "";
  const CapacityView a = capacity_view(answer);
  return "\n" + sentence("capacity", question_text(a.capacity), width) + "\n" + capacity_table(a, width) + legend_text(a, width) + "\n" +
         choices_text(a, width) + capacity_notes(a.capacity, width);
}

}  // namespace reports
