#include "scenarios/capacity/entries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace scenarios {
namespace {

// The time of the whole work, where nothing fails and nothing is saved.
base::Seconds undisturbed_time(const Work& work, const TrainingForecast& f) {
  switch (work.unit) {
    case Work::Unit::tokens: return base::Seconds(work.amount / f.tokens_per_s);
    case Work::Unit::samples: return base::Seconds(work.amount / f.samples_per_s);
    case Work::Unit::iterations: return work.amount * f.iteration;
  }
  return {};
}

Losses losses_of(const Reliability& r, const CapacityCase& c, base::Seconds undisturbed) {
  Losses l;
  l.mtbf = r.mtbf_per_gpu / c.forecast->gpus;
  l.checkpoint_size = r.checkpoints.size.value_or(c.forecast->states);
  l.checkpoint = l.checkpoint_size / r.checkpoints.bandwidth.of(c.fleet.nodes, c.fleet.gpus);
  const base::Seconds wanted = r.checkpoints.interval.value_or(checkpoint_interval({l.mtbf, l.checkpoint, r.restart}));
  // A checkpoint is saved between two iterations; a training that is shorter than the interval is saved at its end.
  l.interval = std::min(std::max(wanted, c.forecast->iteration), undisturbed);
  return l;
}

std::optional<Outcome> outcome_of(const CapacityTerms& terms, const CapacityCase& c) {
  const CandidateTerms& candidate = terms.candidates[c.candidate];
  const base::Seconds undisturbed = undisturbed_time(terms.work, *c.forecast);
  Outcome o;
  if (terms.reliability) {
    o.losses = losses_of(*terms.reliability, c, undisturbed);
    o.goodput = goodput({o.losses->mtbf, o.losses->checkpoint, terms.reliability->restart}, o.losses->interval);
  }
  o.time = undisturbed / o.goodput;
  if (!(o.time <= kLongestTraining)) return std::nullopt;  // infinite, too
  o.time_low = o.time * (c.forecast->low / c.forecast->iteration);
  o.time_high = o.time * (c.forecast->high / c.forecast->iteration);
  if (o.losses) o.losses->failures = o.time / o.losses->mtbf;
  o.rented_gpu_hours = o.time / kHour * c.fleet.rented_gpus();
  o.owned_cost = over(owned_hourly_costs(candidate, c.fleet), o.time).total();
  if (const auto hourly = hourly_costs(candidate, c.fleet)) o.costs = over(*hourly, o.time);
  if (const auto power = site_power(candidate, c.fleet)) o.energy = *power * o.time;
  if (terms.deadline) o.deadline = chance(o.time_low, o.time, o.time_high, *terms.deadline);
  if (terms.budget && o.costs) o.budget = chance(o.cost_low(), o.costs->total(), o.cost_high(), *terms.budget);
  return o;
}

void mark_frontier(std::vector<CapacityEntry>& entries) {
  std::vector<Outcome*> priced;
  std::vector<Figures> figures;
  for (CapacityEntry& e : entries) {
    if (!e.outcome || !e.outcome->costs) continue;
    priced.push_back(&*e.outcome);
    figures.push_back({e.outcome->costs->total().value(), e.outcome->time.value()});
  }
  const std::vector<bool> on = on_frontier(figures);
  for (std::size_t i = 0; i < priced.size(); ++i) priced[i]->on_frontier = on[i];
}

constexpr double kHoursPerYear = 8760;
constexpr double kJoulesPerKilowattHour = 3.6e6;

}  // namespace

std::vector<CapacityEntry> capacity_entries(const CapacityTerms& terms, std::span<const CapacityCase> cases) {
  std::vector<CapacityEntry> entries;
  for (const CapacityCase& c : cases) entries.push_back({c, c.forecast ? outcome_of(terms, c) : std::nullopt});
  mark_frontier(entries);
  return entries;
}

std::string_view to_text(Chance c) {
  constexpr std::array kWords = {"surely", "probably", "unlikely", "not"};  // as Chance has them
  return kWords[static_cast<std::size_t>(c)];
}

std::vector<bool> on_frontier(std::span<const Figures> all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(all[i].cost, all[i].time, i); });
  std::vector<bool> result(all.size(), false);
  Figures last;  // the last on the frontier: of those that cost no more, the quickest
  double quickest = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    if (all[i].time < quickest || all[i] == last) {
      result[i] = true;
      last = all[i];
      quickest = all[i].time;
    }
  }
  return result;
}

Costs owned_hourly_costs(const CandidateTerms& terms, const Fleet& fleet) {
  Costs c;
  if (!terms.owned || fleet.owned_nodes == 0) return c;
  const Owned& o = *terms.owned;
  const double hours = kHoursPerYear * o.utilisation;  // of a year, in which somebody trains
  if (o.capex) c.capex = o.capex->of(fleet.owned_nodes, fleet.owned_gpus) / (o.years * hours);
  c.operations = o.operations.of(fleet.owned_nodes, fleet.owned_gpus) / hours;
  if (!terms.power) return c;
  // A power of all nodes together is shared out by nodes.
  const base::Watts owned = terms.power->per == Per::all ? terms.power->amount * (static_cast<double>(fleet.owned_nodes) / fleet.nodes)
                                                         : terms.power->of(fleet.owned_nodes, fleet.owned_gpus);
  const base::Joules an_hour = owned * kHour * terms.pue;
  c.electricity = o.electricity * (an_hour.value() / kJoulesPerKilowattHour);
  return c;
}

std::optional<Costs> hourly_costs(const CandidateTerms& terms, const Fleet& fleet) {
  Costs c = owned_hourly_costs(terms, fleet);
  if (fleet.rented_nodes() == 0) return c;
  if (!terms.price) return std::nullopt;
  c.rent = terms.price->of(fleet.rented_nodes(), fleet.rented_gpus());
  return c;
}

Costs over(const Costs& hourly, base::Seconds time) {
  const double hours = time / kHour;
  return {hourly.rent * hours, hourly.capex * hours, hourly.operations * hours, hourly.electricity * hours};
}

std::optional<base::Watts> site_power(const CandidateTerms& terms, const Fleet& fleet) {
  if (!terms.power) return std::nullopt;
  return terms.power->of(fleet.nodes, fleet.gpus) * terms.pue;
}

base::Seconds checkpoint_interval(const FailureTimes& times) {
  const double m = times.mtbf.value(), d = times.checkpoint.value();
  const double x = d / (2 * m);
  return base::Seconds(x < 1 ? std::sqrt(2 * d * m) * (1 + std::sqrt(x) / 3 + x / 9) - d : m);
}

double goodput(const FailureTimes& times, base::Seconds interval) {
  const double m = times.mtbf.value();
  return interval.value() / (m * std::exp(times.restart.value() / m) * std::expm1((interval + times.checkpoint).value() / m));
}

}  // namespace scenarios
