#include "sim/folding/slack.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace sim {

namespace {

using Link = std::uint32_t;

// How much may come over each link between switches, by what feeds it; 0 where nothing does.
class Feeders {
 public:
  void add(Link fed, Link feeder) { pairs_.emplace_back(fed, feeder); }
  [[nodiscard]] std::vector<double> most(std::span<const double> width) && {
    std::ranges::sort(pairs_);
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
    std::vector<double> sum(width.size(), 0);
    for (const auto& [fed, feeder] : pairs_) sum[fed] += width[feeder];
    return sum;
  }

 private:
  std::vector<std::pair<Link, Link>> pairs_;
};

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
      before.add(*l, in);
      after.add(*l, out);
    }
  }
  const std::vector<double> in = std::move(before).most(width), out = std::move(after).most(width);
  std::vector<bool> slack(inner.size(), false);
  for (Link l = 0; l < slack.size(); ++l) slack[l] = inner[l] && std::min(in[l], out[l]) <= width[l];
  return slack;
}

}  // namespace sim
