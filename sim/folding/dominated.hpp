#pragma once
// Links that are never fuller than another: every route that crosses such a link also crosses the other, and takes at least as great a
// share of it. Then the other link is what holds flows back, and max-min shares are the same without the first. Of two links that are
// equally full the first one stays. Internal to sim/folding.

#include <span>
#include <vector>

#include "sim/engine/task_graph.hpp"

namespace sim {

// Takes those links out of the routes; every route that crossed a link still crosses one. `bandwidth`: per link that routes name. Requires:
// a route names a link once, in ascending order.
// Cost: O(links x links of a route x routes over a link), far less where links share few routes.
void drop_dominated_links(std::vector<std::vector<WeightedLink>>& routes, std::span<const base::BytesPerSecond> bandwidth);

}  // namespace sim
