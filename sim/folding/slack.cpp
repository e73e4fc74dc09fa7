#include "sim/folding/slack.hpp"

#include <algorithm>
#include <optional>

namespace sim {

std::vector<bool> slack_links(const Traffic& traffic, const topology::Cluster& cluster) {
  const auto width = [&](std::uint32_t l) { return cluster.link(traffic.links[l]).bandwidth.value(); };
  std::vector<bool> between_switches;
  for (const topology::LinkId l : traffic.links) between_switches.push_back(cluster.is_between_switches(l));
  // Which links of nodes the flows over a link between switches come or go through: of each flow the narrowest.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> fed;
  for (const TrafficFlow& f : traffic.flows) {
    const auto links = traffic.links_of(f);
    if (std::ranges::none_of(links, [&](std::uint32_t l) { return between_switches[l]; })) continue;
    std::optional<std::uint32_t> narrowest;
    for (const std::uint32_t l : links)
      if (!between_switches[l] && (!narrowest || width(l) < width(*narrowest))) narrowest = l;
    for (const std::uint32_t l : links)
      if (between_switches[l]) fed.emplace_back(l, *narrowest);
  }
  std::ranges::sort(fed);
  fed.erase(std::unique(fed.begin(), fed.end()), fed.end());
  std::vector<double> most(traffic.links.size(), 0);
  for (const auto& [link, feeder] : fed) most[link] += width(feeder);
  std::vector<bool> slack(traffic.links.size(), false);
  for (std::uint32_t l = 0; l < slack.size(); ++l) slack[l] = between_switches[l] && most[l] <= width(l);
  return slack;
}

}  // namespace sim
