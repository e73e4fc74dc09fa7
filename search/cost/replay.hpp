#pragma once
// Runs the items of a block once, one after another as each stream takes them, without contention for links. Private to this folder.

#include <functional>
#include <span>
#include <vector>

#include "search/cost/item_costs.hpp"
#include "search/cost/rank_map.hpp"
#include "search/cost/rank_streams.hpp"

namespace search {

enum class Hosts {
  ahead,   // whatever the device runs has been launched
  in_step  // the host starts the block together with the device
};

struct Signal {
  sim::EventId event;
  double time = 0;
  bool synchronises = false;  // of a collective of gradients or weights
};

// The item is on the stream of gradients and weights.
[[nodiscard]] bool synchronises(const sim::Item& item);

// `arrival` gives the time of an event of another block. Changes the streams.
// Returns: the events that the block signals.
// Cost: O(items, their dependencies and the ranks that they concern).
std::vector<Signal> replay(const sim::Block& block, const sim::Program& program, const ItemCosts& costs, const RankMap& map, Hosts hosts,
                           const std::function<double(sim::EventId)>& arrival, std::span<RankStreams> streams);

}  // namespace search
