#include "scenarios/capacity/costs.hpp"

namespace scenarios {
namespace {

constexpr double kHoursPerYear = 8760;
constexpr double kJoulesPerKilowattHour = 3.6e6;

}  // namespace

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

}  // namespace scenarios
