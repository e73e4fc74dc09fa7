#pragma once
// One small graph for every operator and each of its forms, and random lawful shardings of any graph.

#include <string>
#include <vector>

#include "base/random.hpp"
#include "pcg/graph/pcg.hpp"

namespace pcg::zoo {

struct Exhibit {
  std::string name;
  Graph graph;
};
// Sizes are small and have the divisors 2 and 3 where something can be cut.
[[nodiscard]] std::vector<Exhibit> exhibits();

// Lawful for one node: a few loops are cut in 2 or 3, and all may be done twice.
[[nodiscard]] Sharding random_sharding(const Graph& g, GraphNodeId id, base::Random& random);
[[nodiscard]] std::vector<Sharding> random_shardings(const Graph& g, base::Random& random);

}  // namespace pcg::zoo
