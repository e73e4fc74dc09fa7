#include "sim/collectives/collective.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.hpp"

namespace sim {
namespace {

// The narrowest links of a route, without owning names: a route is looked up far more often than a class is new.
struct Glance {
  static constexpr std::size_t kMostTypes = 16;  // the presets name five; a cluster's own file may name more
  std::array<std::pair<std::string_view, base::BytesPerSecond>, kMostTypes> narrowest;
  std::size_t types = 0;

  void see(const topology::Link& link) {
    for (std::size_t i = 0; i < types; ++i)
      if (narrowest[i].first == link.type) {
        narrowest[i].second = std::min(narrowest[i].second, link.bandwidth);
        return;
      }
    BASE_CHECK(types < kMostTypes, "a route over {} types of links", types + 1);
    narrowest[types++] = {link.type, link.bandwidth};
  }
};

}  // namespace

RouteClassId RouteClasses::of(const topology::Route& route) {
  Glance glance;
  for (const topology::LinkId l : route.links) glance.see(cluster_.link(l));
  const auto begin = glance.narrowest.begin(), end = begin + static_cast<std::ptrdiff_t>(glance.types);
  std::sort(begin, end);
  const auto is_equal = [&](const RouteClass& c) {
    return c.latency == route.latency &&
           std::ranges::equal(std::ranges::subrange(begin, end), c.narrowest,
                              [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; });
  };
  const auto known = std::ranges::find_if(classes_, is_equal);
  if (known != classes_.end()) return RouteClassId(static_cast<std::size_t>(known - classes_.begin()));
  classes_.push_back({route.latency, {begin, end}});
  return RouteClassId(classes_.size() - 1);
}

}  // namespace sim
