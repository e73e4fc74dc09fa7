#pragma once
// What a training costs on the terms of a candidate, and the energy that it takes. Every part is proportional to the time, so that an
// interval of the time is one of the cost.

#include <optional>

#include "base/units.hpp"
#include "scenarios/capacity/terms.hpp"

namespace scenarios {

inline constexpr base::Seconds kHour{3600};

// Machines that work for the training: of so many nodes, the first are owned, as far as the terms say, and the rest is rented.
struct Fleet {
  int nodes = 0, gpus = 0;
  int owned_nodes = 0, owned_gpus = 0;
  [[nodiscard]] int rented_nodes() const { return nodes - owned_nodes; }
  [[nodiscard]] int rented_gpus() const { return gpus - owned_gpus; }
};

// Of an hour, or of a whole training.
struct Costs {
  base::Dollars rent, capex, operations, electricity;
  [[nodiscard]] base::Dollars total() const { return rent + capex + operations + electricity; }
};

// Returns what the owned part of the fleet costs in an hour; zeros where nothing is owned.
//   capex       = capex / (years x 8760 x utilisation)
//   operations  = operations / (8760 x utilisation)
//   electricity = power x PUE x price of a kWh; that of rented nodes is in their rent
// (what an hour of an owned machine costs in total cost of ownership: its costs over its life, over the hours in which it works.)
[[nodiscard]] Costs owned_hourly_costs(const CandidateTerms& terms, const Fleet& fleet);

// Returns the same with the rent of the rest; nullopt: something is rented and has no price.
[[nodiscard]] std::optional<Costs> hourly_costs(const CandidateTerms& terms, const Fleet& fleet);

// Returns the costs of a training that takes so long.
[[nodiscard]] Costs over(const Costs& hourly, base::Seconds time);

// Returns the power of the whole site, with its cooling; nullopt where the terms do not say.
[[nodiscard]] std::optional<base::Watts> site_power(const CandidateTerms& terms, const Fleet& fleet);

}  // namespace scenarios
