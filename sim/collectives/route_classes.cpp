#include "sim/collectives/collective.hpp"

#include <algorithm>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <string_view>

namespace sim {

RouteClassId RouteClasses::of(const topology::Route& route) {
  // A route is looked up far more often than a class is new: names are not copied, and few types of links need no allocation.
  boost::container::small_flat_map<std::string_view, base::BytesPerSecond, 16> narrowest;
  for (const topology::LinkId l : route.links) {
    const topology::Link& link = cluster_.link(l);
    base::BytesPerSecond& least = narrowest.try_emplace(link.type, link.bandwidth).first->second;
    least = std::min(least, link.bandwidth);
  }
  const auto is_equal = [&](const RouteClass& c) {
    return c.latency == route.latency && std::ranges::equal(narrowest, c.narrowest, [](const auto& a, const auto& b) {
             return a.first == b.first && a.second == b.second;
           });
  };
  const auto known = static_cast<std::size_t>(std::ranges::find_if(classes_, is_equal) - classes_.begin());
  if (known == classes_.size()) classes_.push_back({route.latency, {narrowest.begin(), narrowest.end()}});
  return RouteClassId(known);
}

}  // namespace sim
