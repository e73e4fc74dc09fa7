#include "sim/folding/traffic.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace sim {
namespace {

using Link = std::uint32_t;

using Feeders = std::vector<std::pair<Link, Link>>;  // links between switches, each with what feeds it

// How much may come over each link; 0 where nothing feeds it.
std::vector<double> most(Feeders feeders, std::span<const double> width) {
  make_ascending(feeders);
  std::vector<double> sum(width.size(), 0);
  for (const auto& [fed, feeder] : feeders) sum[fed] += width[feeder];
  return sum;
}

}  // namespace

// The flows over a link come through the links of nodes before it, and go through those after it: each side bounds them.
std::vector<bool> slack_links(const Traffic& traffic, const topology::Cluster& cluster) {
  std::vector<bool> inner;
  std::vector<double> width;
  for (const topology::LinkId l : traffic.links) {
    inner.push_back(cluster.is_between_switches(l));
    width.push_back(cluster.link(l).bandwidth.value());
  }
  const auto is_inner = [&](Link l) { return inner[l]; };
  Feeders before, after;
  for (const TrafficFlow& f : traffic.flows) {
    const std::span<const Link> links = traffic.links_of(f);
    const auto first = std::ranges::find_if(links, is_inner);
    if (first == links.end()) continue;
    const auto end = std::find_if_not(first, links.end(), is_inner);
    const auto narrower = [&](Link a, Link b) { return width[a] < width[b]; };
    const Link in = *std::min_element(links.begin(), first, narrower), out = *std::min_element(end, links.end(), narrower);
    for (auto l = first; l != end; ++l) {
      before.emplace_back(*l, in);
      after.emplace_back(*l, out);
    }
  }
  const std::vector<double> in = most(std::move(before), width), out = most(std::move(after), width);
  std::vector<bool> slack(inner.size(), false);
  for (Link l = 0; l < slack.size(); ++l) slack[l] = inner[l] && std::min(in[l], out[l]) <= width[l];
  return slack;
}

}  // namespace sim
