#pragma once
// Tables of collectives: our own, and public ones that are recognised by their header.

#include <string>
#include <vector>

#include "profiles/measured/measurements.hpp"
#include "profiles/measured/table_csv.hpp"

namespace measured {

// Puts the rows of a table of collectives into `into`. Returns false when the header is none of theirs. Throws: base::InputError when a
// cell is not what its column holds.
[[nodiscard]] bool read_collective_table(const CsvTable& t, Measurements& into);
// Returns our own table. read_collective_table reads it back where every row names its cluster.
[[nodiscard]] std::string to_csv(const std::vector<CollectiveMeasurement>& collectives);

}  // namespace measured
