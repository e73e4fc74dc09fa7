#pragma once
// The whole answer of capacity planning as a value: what reports write.
// Start here: capacity_result() makes it of CapacityTerms (terms.hpp, which reads them) and cases; entries.hpp has time, cost, energy and
// goodput of one case, this header the choice among all. Nothing here knows machines or plans.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/diagnostics.hpp"
#include "scenarios/capacity/entries.hpp"

namespace scenarios {

// The price at which a candidate's cheapest entry costs what another candidate's cheapest does.
struct BreakEven {
  std::size_t candidate = 0, against = 0;    // of CapacityTerms::candidates
  std::size_t entry = 0, against_entry = 0;  // the entries that cost the same
  base::Dollars price;                       // of a rented GPU in an hour, above 0
};

// Indices of entries; nullopt: there is none. Without a deadline every entry counts as one that meets it, and so with the budget. Of equal
// ones the cheapest counts, then the quickest, then the first.
struct Choices {
  std::optional<std::size_t> smallest;         // fewest GPUs that meet the deadline
  std::optional<std::size_t> smallest_surely;  // fewest GPUs that meet it with their whole interval
  std::optional<std::size_t> cheapest;         // that meets the deadline
  std::optional<std::size_t> quickest;         // that meets the budget
  // For each two candidates that have an entry which meets the deadline, where the first rents anything and the second has a cost; by
  // candidate, then by the other one. Between entry e of the first and the cheapest b of the second,
  //   price = (cost(b) - owned cost(e)) / rented GPU hours(e),
  // and the largest over all e: at that price the cheapest of the first costs what b does. Only those above 0.
  std::vector<BreakEven> break_evens;
};

[[nodiscard]] Choices capacity_choices(const CapacityTerms& terms, std::span<const CapacityEntry> entries);

struct CapacityResult {
  CapacityTerms terms;
  std::vector<CapacityEntry> entries;  // by candidate, then nodes, then plan, as the scenario has them
  Choices choices;
  std::vector<base::Note> notes;  // about all entries: what was assumed where the scenario does not say, and what is not counted
};

// Pure: the same terms and cases give the same answer.
[[nodiscard]] CapacityResult capacity_result(const CapacityTerms& terms, std::span<const CapacityCase> cases);

}  // namespace scenarios
