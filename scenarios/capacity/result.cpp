#include "scenarios/capacity/result.hpp"

#include <fmt/core.h>

#include <limits>
#include <tuple>

namespace scenarios {
namespace {

using base::NoteKind;

std::vector<base::Note> notes_on(const CapacityTerms& terms) {
  std::vector<base::Note> notes;
  if (!terms.reliability) {
    notes.push_back(
        {NoteKind::assumption, "no-reliability", "nothing fails and nothing is saved, as the scenario has no `reliability`: goodput is 1"});
    return notes;
  }
  const Reliability& r = *terms.reliability;
  if (r.mtbf_is_default)
    notes.push_back({NoteKind::assumption, "mtbf-default",
                     fmt::format("a GPU and its share of the machine fail every {:.0f} h: derived from 419 unexpected interruptions of "
                                 "Llama 3 405B in 54 days on 16,384 H100 (arXiv 2407.21783, section 3.3.4)",
                                 r.mtbf_per_gpu.value() / 3600)});
  if (r.restart_is_default)
    notes.push_back(
        {NoteKind::assumption, "restart-default", fmt::format("after a failure the job trains again in {}", base::to_text(r.restart))});
  notes.push_back({NoteKind::detail, "cost-intervals",
                   "intervals of time and cost are those of the iteration time: failures count as they come on average"});
  return notes;
}

// Its cost, infinite where it is not known.
double cost_of(const Outcome& o) { return o.costs ? o.costs->total().value() : std::numeric_limits<double>::infinity(); }

bool is_in_time(const Outcome& o) { return !o.deadline || meets(*o.deadline); }

// The first of the entries that pass with the least key.
template <class Passes, class Key>
std::optional<std::size_t> least(std::span<const CapacityEntry> entries, Passes&& passes, Key&& key) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i].outcome && passes(entries[i]) && (!best || key(entries[i]) < key(entries[*best]))) best = i;
  return best;
}

std::optional<std::size_t> cheapest_of(std::span<const CapacityEntry> entries, std::optional<std::size_t> candidate) {
  return least(
      entries,
      [&](const CapacityEntry& e) { return (!candidate || e.asked.candidate == *candidate) && e.outcome->costs && is_in_time(*e.outcome); },
      [](const CapacityEntry& e) { return std::tuple(cost_of(*e.outcome), e.outcome->time); });
}

std::optional<BreakEven> break_even(std::span<const CapacityEntry> entries, std::size_t candidate, std::size_t against) {
  const auto other = cheapest_of(entries, against);
  if (!other) return std::nullopt;
  BreakEven best{candidate, against, 0, *other, base::Dollars(0)};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].asked.candidate != candidate || !entries[i].outcome) continue;
    const Outcome& o = *entries[i].outcome;
    if (!is_in_time(o) || o.rented_gpu_hours <= 0) continue;
    const base::Dollars price = (entries[*other].outcome->costs->total() - o.owned_cost) / o.rented_gpu_hours;
    if (price > best.price) {
      best.price = price;
      best.entry = i;
    }
  }
  return best.price > base::Dollars(0) ? std::optional(best) : std::nullopt;
}

}  // namespace

CapacityResult capacity_result(const CapacityTerms& terms, std::span<const CapacityCase> cases) {
  CapacityResult result{.terms = terms, .entries = capacity_entries(terms, cases), .choices = {}, .notes = notes_on(terms)};
  result.choices = capacity_choices(terms, result.entries);
  return result;
}

Choices capacity_choices(const CapacityTerms& terms, std::span<const CapacityEntry> entries) {
  Choices c;
  const auto size = [](const CapacityEntry& e) { return std::tuple(e.asked.fleet.gpus, cost_of(*e.outcome), e.outcome->time); };
  c.smallest = least(
      entries, [](const CapacityEntry& e) { return is_in_time(*e.outcome); }, size);
  c.smallest_surely = least(
      entries, [](const CapacityEntry& e) { return !e.outcome->deadline || e.outcome->deadline == Chance::surely; }, size);
  c.cheapest = cheapest_of(entries, std::nullopt);
  c.quickest = least(
      entries, [&](const CapacityEntry& e) { return terms.budget ? e.outcome->budget && meets(*e.outcome->budget) : true; },
      [](const CapacityEntry& e) { return std::tuple(e.outcome->time, cost_of(*e.outcome)); });
  for (std::size_t candidate = 0; candidate < terms.candidates.size(); ++candidate)
    for (std::size_t against = 0; against < terms.candidates.size(); ++against)
      if (candidate != against)
        if (const auto found = break_even(entries, candidate, against)) c.break_evens.push_back(*found);
  return c;
}

}  // namespace scenarios
