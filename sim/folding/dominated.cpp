#include "sim/folding/dominated.hpp"

#include <algorithm>
#include <cstdint>

namespace sim {
namespace {

// The part of a link's bandwidth that one byte per second on a route takes.
struct Share {
  std::uint32_t route;
  double of_link;
};

// Whether a link with shares `a` is always at least as full as one with shares `b`. Both in order of routes.
bool is_fuller(std::span<const Share> a, std::span<const Share> b) {
  auto at = a.begin();
  for (const Share& s : b) {
    while (at != a.end() && at->route < s.route) ++at;
    if (at == a.end() || at->route != s.route || at->of_link < s.of_link) return false;
  }
  return true;
}

class Links {
 public:
  Links(std::span<const std::vector<WeightedLink>> routes, std::span<const base::BytesPerSecond> bandwidth)
      : routes_(routes), shares_(bandwidth.size()) {
    for (std::uint32_t r = 0; r < routes.size(); ++r)
      for (const WeightedLink& l : routes[r]) shares_[l.link].push_back({r, l.weight / bandwidth[l.link].value()});
  }

  [[nodiscard]] bool is_dominated(std::uint32_t link) const {
    const std::vector<Share>& own = shares_[link];
    const auto crossed = [&](const Share& s) { return routes_[s.route].size(); };
    const std::uint32_t shortest = std::ranges::min(own, {}, crossed).route;
    return std::ranges::any_of(routes_[shortest], [&](const WeightedLink& other) {
      const std::vector<Share>& others = shares_[other.link];
      if (other.link == link || others.size() < own.size() || !is_fuller(others, own)) return false;
      const bool are_equal = others.size() == own.size() && is_fuller(own, others);
      return !are_equal || other.link < link;
    });
  }

 private:
  std::span<const std::vector<WeightedLink>> routes_;
  std::vector<std::vector<Share>> shares_;  // per link, in order of routes
};

}  // namespace

void drop_dominated_links(std::vector<std::vector<WeightedLink>>& routes, std::span<const base::BytesPerSecond> bandwidth) {
  std::vector<bool> dominated(bandwidth.size(), false), known(bandwidth.size(), false);
  const Links links(routes, bandwidth);
  for (const std::vector<WeightedLink>& route : routes)
    for (const WeightedLink& l : route)
      if (!known[l.link]) {
        known[l.link] = true;
        dominated[l.link] = links.is_dominated(l.link);
      }
  for (std::vector<WeightedLink>& route : routes) std::erase_if(route, [&](const WeightedLink& l) { return dominated[l.link]; });
}

}  // namespace sim
