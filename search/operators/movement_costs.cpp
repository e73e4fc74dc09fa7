#include "search/operators/movement_costs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/check.hpp"

namespace search {
namespace {

constexpr double kUnit = 1 << 30;  // bytes of the tensor whose movement is kept
// A device that sends more messages than this in a round talks to each other one apart: no program moves tensors so, and nor do we. An
// all-to-all is one transfer.
constexpr int kMostLaunches = 16;
constexpr double kHopeless = 1e6;  // seconds
constexpr int kMostPowers = 24;    // of four: 256 TiB

// A part of a tensor: where each dim begins and ends, and which summand it is of.
struct Part {
  int sum = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  auto operator<=>(const Part&) const = default;
};
using Parts = std::set<Part>;

// What each device has of a tensor.
std::map<std::uint32_t, Parts> blocks_of(const sim::Layout& l) {
  std::map<std::uint32_t, Parts> blocks;
  for (std::size_t s = 0; s < l.devices.size(); ++s) {
    const pcg::ShardIndex index = pcg::shard_index(l.shape, static_cast<int>(s));
    Part part{index.sum, {}};
    for (std::size_t d = 0; d < index.block.size(); ++d) {
      const std::int64_t size = l.shape.dims[d].size / l.shape.dims[d].degree;
      part.dims.emplace_back(index.block[d] * size, (index.block[d] + 1) * size);
    }
    blocks[l.devices[s].value].insert(std::move(part));
  }
  return blocks;
}

double elements_in_common(const Part& a, const Part& b) {
  double elements = 1;
  for (std::size_t d = 0; d < a.dims.size(); ++d)
    elements *= static_cast<double>(
        std::max<std::int64_t>(0, std::min(a.dims[d].second, b.dims[d].second) - std::max(a.dims[d].first, b.dims[d].first)));
  return elements;
}

// Of whole parts, which do not overlap. Partial sums are worth their share: whoever lacks others has to get at least one of them.
double elements_lacking(const Parts& wanted, const Parts& held, int sums) {
  double lacking = 0;
  for (const Part& w : wanted) {
    double all = elements_in_common(w, w), has = 0;
    for (const Part& h : held) has += elements_in_common(w, h);
    lacking += sums == 1 ? all - has : has >= all * sums ? 0 : all;
  }
  return lacking;
}

std::uint64_t pair_of(std::uint32_t from, std::uint32_t to) { return (static_cast<std::uint64_t>(from) << 32U) | to; }

sim::Movement scaled(sim::Movement movement, double factor) {
  for (sim::Round& r : movement.rounds)
    for (sim::Transfer& t : r) t.bytes = t.bytes * factor;
  return movement;
}

// Transfers that the busiest host launches: the messages that its device sends and the collectives that it is part of.
int most_launches(const sim::Round& round) {
  std::map<std::uint32_t, int> count;
  int most = 0;
  for (const sim::Transfer& t : round) {
    const bool is_message = t.kind == sim::CollectiveKind::send;
    for (const base::DeviceId d : std::span(t.group).first(is_message ? 1 : t.group.size())) most = std::max(most, ++count[d.value]);
  }
  return most;
}

}  // namespace

// What may enter a device: over the last links of the routes to it. What may enter a domain: through each NIC that its devices use.
MovementCosts::MovementCosts(const Problem& problem)
    : problem_(problem),
      oracle_(problem.cluster, problem.oracle.config(), 0),
      launch_(problem.oracle.framework(problem.training).host.collective.value()) {
  const topology::Cluster& cluster = problem.cluster;
  const auto count = static_cast<std::size_t>(cluster.device_count());
  for (std::size_t d = 0; d < count; ++d) {
    std::set<topology::LinkId> last;
    for (std::size_t from = 0; from < count; ++from) {
      const topology::Route route = cluster.route(base::DeviceId(from), base::DeviceId(d));
      if (!route.links.empty()) last.insert(route.links.back());
    }
    double& sum = into_device_.emplace_back(0);
    for (const topology::LinkId l : last) sum += cluster.link(l).bandwidth.value();
  }
  for (int domain = 0; domain < cluster.domains(); ++domain) {
    std::set<int> nics;
    double& sum = into_domain_.emplace_back(0);
    const base::DeviceId outside = cluster.domain_devices(domain == 0 ? cluster.domains() - 1 : 0).front();
    for (const base::DeviceId d : cluster.domain_devices(domain))
      for (const int nic : cluster.nics_of(d))
        if (cluster.domains() > 1 && nics.insert(nic).second)
          sum += cluster.route_through_nics(outside, d, cluster.nics_of(outside).front(), nic).bandwidth.value();
  }
}

LayoutNumber MovementCosts::number(const sim::Layout& layout) {
  std::vector<std::int64_t> key{layout.shape.sum, layout.shape.copy};
  for (const pcg::ParallelDim& d : layout.shape.dims) key.push_back(d.degree);
  for (const base::DeviceId d : layout.devices) key.push_back(d.value);
  const auto [pattern, is_new_pattern] = patterns_.try_emplace(std::move(key), static_cast<std::uint32_t>(example_.size()));
  if (is_new_pattern) example_.push_back(layout);
  const double bytes =
      static_cast<double>(layout.shape.whole().elements()) * pcg::element_bytes(layout.shape.element, problem_.training.precision).value();
  const auto [at, is_new] = numbers_.try_emplace({pattern->second, bytes}, static_cast<LayoutNumber>(layouts_.size()));
  if (is_new) layouts_.push_back({pattern->second, bytes});
  return at->second;
}

double MovementCosts::seconds(LayoutNumber from, LayoutNumber to) {
  const Numbered &a = layouts_[from], &b = layouts_[to];
  BASE_CHECK(a.bytes == b.bytes, "a tensor of {} bytes does not become one of {}", a.bytes, b.bytes);
  Curve& c = curve(a.pattern, b.pattern);
  if (c.movement.empty() || a.bytes == 0) return 0;
  const int power = std::clamp(static_cast<int>(std::log2(a.bytes) / 2), 0, kMostPowers - 1);
  const double below = std::pow(4.0, power), low = at_power(c, power), high = at_power(c, power + 1);
  return low + (high - low) * (a.bytes - below) / (3 * below);
}

double MovementCosts::seconds(const sim::Movement& movement) const {
  double sum = 0;
  for (const sim::Round& r : movement.rounds) {
    const int launches = most_launches(r);
    if (launches > kMostLaunches) return kHopeless;
    sum += std::max(oracle_.round(r).time.value(), launch_ * launches);
  }
  return sum;
}

double MovementCosts::all_reduce_seconds(base::Bytes bytes, std::span<const std::vector<base::DeviceId>> groups) const {
  return groups.empty() ? 0 : oracle_.collectives(sim::CollectiveKind::all_reduce, bytes, groups).time.value();
}

double MovementCosts::at_power(Curve& curve, int power) const {
  std::optional<double>& known = curve.at[static_cast<std::size_t>(power)];
  if (!known) known = seconds(scaled(curve.movement, std::pow(4.0, power) / kUnit));
  return *known;
}

MovementCosts::Ends MovementCosts::ends(std::uint32_t from, std::uint32_t to) const {
  Ends e{example_[from], example_[to], 1};
  for (std::size_t d = 0; d < e.from.shape.dims.size(); ++d) {
    const int both = std::lcm(e.from.shape.dims[d].degree, e.to.shape.dims[d].degree);
    e.from.shape.dims[d].size = e.to.shape.dims[d].size = both;
    e.elements *= both;
  }
  return e;
}

MovementCosts::Curve& MovementCosts::curve(std::uint32_t from, std::uint32_t to) {
  const auto [at, is_new] = curves_.try_emplace(pair_of(from, to));
  if (!is_new) return at->second;
  const Ends e = ends(from, to);
  at->second.movement = sim::reshard(e.from, e.to, base::Bytes(kUnit / e.elements), problem_.cluster);
  at->second.at.resize(kMostPowers + 1);
  return at->second;
}

double MovementCosts::at_least(LayoutNumber from, LayoutNumber to) {
  const Numbered &a = layouts_[from], &b = layouts_[to];
  const auto [at, is_new] = bounds_.try_emplace(pair_of(a.pattern, b.pattern));
  if (is_new) at->second = seconds_per_byte_at_least(ends(a.pattern, b.pattern));
  return at->second * a.bytes;
}

double MovementCosts::seconds_per_byte_at_least(const Ends& e) const {
  const auto held = blocks_of(e.from), wanted = blocks_of(e.to);
  double longest = 0;
  std::map<int, Parts> domains_hold, domains_want;
  for (const auto& [device, blocks] : wanted) {
    const auto at = held.find(device);
    const double lacking = elements_lacking(blocks, at == held.end() ? Parts{} : at->second, e.from.shape.sum);
    longest = std::max(longest, lacking / into_device_[device]);
    domains_want[problem_.cluster.devices()[device].domain].insert(blocks.begin(), blocks.end());
  }
  for (const auto& [device, blocks] : held) domains_hold[problem_.cluster.devices()[device].domain].insert(blocks.begin(), blocks.end());
  for (const auto& [domain, blocks] : domains_want)
    longest = std::max(longest,
                       elements_lacking(blocks, domains_hold[domain], e.from.shape.sum) / into_domain_[static_cast<std::size_t>(domain)]);
  return longest / e.elements;
}

}  // namespace search
