#include "search/solve/mapping/chain.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace search {
namespace {

struct CheapestVariant {
  double seconds = std::numeric_limits<double>::infinity();
  std::uint32_t variant = 0;
};

// The cheapest variant for each choice of a link's two ends.
struct LinkCosts {
  std::size_t rows = 0, columns = 0;
  std::vector<CheapestVariant> cheapest;
};

LinkCosts costs_of(Mapping& mapping, const Link& link, DeviceBlock block) {
  LinkCosts costs;
  for (std::uint32_t v = 0; v < link.variants.size(); ++v) {
    const BranchCosts c = mapping.costs(*link.variants[v], block);
    costs.rows = c.rows;
    costs.columns = c.columns;
    costs.cheapest.resize(c.seconds.size());
    for (std::size_t i = 0; i < c.seconds.size(); ++i)
      if (c.seconds[i] < costs.cheapest[i].seconds) costs.cheapest[i] = {c.seconds[i], v};
  }
  return costs;
}

// One round, with the movements that are known.
PlacedChain placed_now(Mapping& mapping, const std::vector<Link>& links, DeviceBlock block) {
  std::map<std::vector<const Mapping::Part*>, LinkCosts> known;
  std::vector<const LinkCosts*> costs;
  std::vector<std::vector<double>> seconds{{0.0}};    // up to each link's end, by its choices
  std::vector<std::vector<std::uint32_t>> came_from;  // the choice of the link's beginning
  for (const Link& link : links) {
    const auto [at, is_new] = known.try_emplace(link.variants);
    if (is_new) at->second = costs_of(mapping, link, block);
    const LinkCosts& c = *costs.emplace_back(&at->second);
    std::vector<double> here(c.columns, std::numeric_limits<double>::infinity());
    std::vector<std::uint32_t> from(c.columns, 0);
    for (std::uint32_t r = 0; r < c.rows; ++r)
      for (std::size_t k = 0; k < c.columns; ++k) {
        const double sum = seconds.back()[r] + c.cheapest[r * c.columns + k].seconds;
        if (sum >= here[k]) continue;
        here[k] = sum;
        from[k] = r;
      }
    seconds.push_back(std::move(here));
    came_from.push_back(std::move(from));
  }
  PlacedChain chain{std::vector<PlacedLink>(links.size()), *std::ranges::min_element(seconds.back())};
  auto last = static_cast<std::uint32_t>(std::ranges::min_element(seconds.back()) - seconds.back().begin());
  for (std::size_t l = links.size(); l-- > 0;) {
    const std::uint32_t first = came_from[l][last];
    PlacedLink& link = chain.links[l];
    link.variant = costs[l]->cheapest[first * costs[l]->columns + last].variant;
    link.placed = mapping.place(*links[l].variants[link.variant], block, first, last);
    last = first;
  }
  return chain;
}

}  // namespace

std::optional<PlacedChain> place_chain(Mapping& mapping, const std::vector<Link>& links, DeviceBlock block, const Budget& budget) {
  while (!budget.time_is_up()) {
    PlacedChain chain = placed_now(mapping, links, block);
    bool is_new = false;
    for (std::size_t l = 0; l < links.size(); ++l)
      is_new = mapping.find_out(*links[l].variants[chain.links[l].variant], chain.links[l].placed) || is_new;
    if (!is_new) return chain;
  }
  return std::nullopt;
}

}  // namespace search
