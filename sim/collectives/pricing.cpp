#include "sim/collectives/pricing.hpp"

#include <algorithm>
#include <set>

namespace sim {
namespace {

using profiles::NetworkProfile;
using profiles::Protocol;

// Sends of a rank's part that follow each other; a rank's own copy of its part counts against them. 0: none is kept at home.
double rounds_of(CollectiveKind kind, Algorithm a, int ranks) {
  if (a != Algorithm::ring && a != Algorithm::pairwise) return 0;
  switch (kind) {
    case CollectiveKind::all_reduce: return 2.0 * (ranks - 1);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all: return ranks - 1.0;
    case CollectiveKind::broadcast:
    case CollectiveKind::send: return 0;
  }
  return 0;
}

bool knows_any(const Shape& s, const NetworkProfile& profile) {
  for (std::size_t w = 0; w < s.ways.size(); ++w)
    if (s.used[w] && std::ranges::any_of(s.ways[w].narrowest, [&](const auto& l) { return profile.knows(l.first); })) return true;
  return false;
}

// A message over the way: nullopt where the library does not use the algorithm with this protocol.
struct WayPrice {
  base::Seconds latency;
  double cost = 1;
};
std::optional<WayPrice> price_way(const Way& w, Algorithm a, const NetworkProfile& profile, Protocol p) {
  base::Seconds overhead;
  double least = 1e300, reached = 1e300;
  for (const auto& [type, bandwidth] : w.narrowest) {
    const profiles::NetworkHop* hop = profile.find(type, a, p);
    if (hop == nullptr && profile.knows(type)) return std::nullopt;
    if (hop != nullptr) overhead = std::max(overhead, hop->latency);
    least = std::min(least, bandwidth.value());
    reached = std::min(reached, bandwidth.value() * (hop != nullptr ? hop->efficiency : 1));
  }
  return WayPrice{w.latency + overhead, w.narrowest.empty() ? 1 : least / reached};
}

// Adds up latencies and the busiest links' seconds. `hop`: seconds of a message, per way.
void sum_up(Price& price, const Shape& s, std::span<const base::Seconds> hop, base::Seconds call) {
  for (const PhaseShape& phase : s.phases) {
    base::Seconds latency = price.latency.empty() ? call : base::Seconds(0);
    for (const Hops& h : phase.chain) latency += hop[h.way] * h.count;
    double busiest = 0;
    for (const std::vector<double>& load : phase.loads) {
      double seconds = 0;
      for (std::size_t w = 0; w < load.size(); ++w) seconds += load[w] * price.cost[w];
      busiest = std::max(busiest, seconds);
    }
    price.latency.push_back(latency);
    price.latency_sum += latency;
    price.transfer += base::Seconds(busiest);
  }
}

// Leaves out links that another is busier than on every way.
void keep_busiest(std::vector<std::vector<double>>& loads) {
  std::ranges::sort(loads, std::greater<>());
  std::vector<std::vector<double>> kept;
  for (std::vector<double>& load : loads) {
    const auto covers = [&](const std::vector<double>& k) { return std::ranges::equal(k, load, std::greater_equal<>()); };
    if (std::ranges::none_of(kept, covers)) kept.push_back(std::move(load));
  }
  loads = std::move(kept);
}

}  // namespace

Price price(const Shape& s) {
  Price out;
  std::vector<base::Seconds> hop;
  for (const Way& w : s.ways) hop.push_back(w.latency);
  out.cost.assign(s.ways.size(), 1);
  sum_up(out, s, hop, base::Seconds(0));
  return out;
}

std::optional<Price> price(const Shape& s, const NetworkProfile& profile, Protocol protocol) {
  if (!knows_any(s, profile)) return protocol == Protocol::simple ? std::optional(price(s)) : std::nullopt;
  Price out;
  base::Seconds call;
  double copy = 1;
  if (const auto at = profile.calls.find(s.kind); at != profile.calls.end()) {
    if (const auto base = at->second.base.find(protocol); base != at->second.base.end()) call = base->second;
    if (const double rounds = rounds_of(s.kind, s.algorithm, s.ranks); rounds > 0) copy += at->second.local / rounds;
  }
  std::vector<base::Seconds> hop;
  for (std::size_t w = 0; w < s.ways.size(); ++w) {
    const std::optional<WayPrice> way = s.used[w] ? price_way(s.ways[w], s.algorithm, profile, protocol) : WayPrice{};
    if (!way) return std::nullopt;
    hop.push_back(way->latency);
    out.cost.push_back(way->cost * copy);
  }
  sum_up(out, s, hop, call);
  out.basis = profiles::Basis::fitted;
  return out;
}

Shape ShapeFinder::find(CollectiveKind kind, int ranks, const Collective& plan, std::span<const Way> ways) {
  const std::size_t width = ways.size();
  Shape s{kind, plan.algorithm, ranks, {ways.begin(), ways.end()}, std::vector<bool>(width, false), {}};
  if (const std::size_t needed = cluster_.links().size() * width; seconds_.size() < needed) seconds_.resize(needed, 0);
  for (const CollectivePhase& p : plan.phases) {
    PhaseShape& shape = s.phases.emplace_back(PhaseShape{p.chain, {}});
    for (const Hops& h : p.chain) s.used[h.way] = true;
    for (const CollectiveFlow& f : p.flows) {
      s.used[f.way] = true;
      for (const topology::LinkId l : f.links) seconds_[l.value * width + f.way] += (f.bytes / cluster_.link(l).bandwidth).value();
    }
    std::set<std::vector<double>> distinct;
    for (const CollectiveFlow& f : p.flows)
      for (const topology::LinkId l : f.links) {
        double* const load = seconds_.data() + l.value * width;
        if (std::all_of(load, load + width, [](double x) { return x == 0; })) continue;  // seen
        distinct.emplace(load, load + width);
        std::fill(load, load + width, 0);
      }
    shape.loads.assign(distinct.begin(), distinct.end());
    keep_busiest(shape.loads);
  }
  return s;
}

}  // namespace sim
