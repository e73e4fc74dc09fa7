#include "search/solve/operators/operator_catalog.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <set>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "sim/effort.hpp"

namespace search {
namespace {

constexpr double kUnit = 1 << 30;  // bytes of the tensor of a curve
// A device that sends more messages than this in a round sends to each other one by itself: no program moves tensors so, and nor do we. An
// all-to-all is one transfer.
constexpr int kMostLaunches = 16;
constexpr double kInfeasible = 1e6;         // seconds
constexpr double kRoundingOfSizes = 1e-12;  // of a share of a tensor

double in_common(const MovementCosts::Box& a, const MovementCosts::Box& b) {
  if (a.sum != b.sum) return 0;
  double share = 1;
  for (std::size_t d = 0; d < a.dims && share > 0; ++d)
    share *= std::max(0.0, std::min(a.end[d], b.end[d]) - std::max(a.begin[d], b.begin[d]));
  return share;
}

// The share of whole boxes, which do not overlap. Partial sums count with their share: whoever lacks others has to get one.
double share_lacking(std::span<const MovementCosts::Box> wanted, std::span<const MovementCosts::Box> held, int sums) {
  double lacking = 0;
  for (MovementCosts::Box w : wanted) {
    double has = 0;
    for (const MovementCosts::Box& h : held) {
      w.sum = h.sum;  // who has all summands of a box has the box
      has += in_common(w, h);
    }
    const double all = in_common(w, w);
    lacking += sums == 1 ? std::max(0.0, all - has) : has >= all * sums * (1 - 1e-9) ? 0 : all;
  }
  return lacking;
}

// Of many devices a few: they follow each other by strides.
std::uint64_t hash_of(const sim::Layout& layout) {
  const std::vector<base::DeviceId>& devices = layout.devices;
  base::Hash h(devices.size());
  h(static_cast<std::uint64_t>(layout.shape.sum))(static_cast<std::uint64_t>(layout.shape.copy));
  for (const pcg::ParallelDim& d : layout.shape.dims) h(static_cast<std::uint64_t>(d.degree));
  for (std::size_t d = 1; d < devices.size(); d *= 2) h(devices[d - 1].value)(devices[d].value);
  return h.value();
}

// Degrees and devices are the same.
bool are_cut_alike(const sim::Layout& a, const sim::Layout& b) {
  return a.shape.sum == b.shape.sum && a.shape.copy == b.shape.copy && a.devices == b.devices &&
         std::ranges::equal(a.shape.dims, b.shape.dims, {}, &pcg::ParallelDim::degree, &pcg::ParallelDim::degree);
}

std::uint64_t pair_of(std::uint32_t from, std::uint32_t to) { return (static_cast<std::uint64_t>(from) << 32U) | to; }

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

// Bandwidth into a device: over the last links of the routes to it. Bandwidth into a domain: through each NIC that its devices use.
MovementCosts::MovementCosts(const Problem& problem) : problem_(problem), oracle_(problem.cluster, problem.oracle.config(), 0) {
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
  // Seconds of a message without bytes inside a domain, and between two.
  const auto latency = [&](base::DeviceId from, base::DeviceId to) {
    return oracle_.round({{.kind = sim::CollectiveKind::send, .bytes = base::Bytes(0), .group = {from, to}}}).at().time.value();
  };
  const auto first = cluster.domain_devices(0);
  if (first.size() > 1) latency_inside_ = latency(first[0], first[1]);
  if (cluster.domains() > 1) latency_between_ = latency(first[0], cluster.domain_devices(1).front());
}

LayoutNumber MovementCosts::number(const sim::Layout& layout) {
  std::vector<std::uint32_t>& alike = patterns_[hash_of(layout)];
  auto pattern = std::ranges::find_if(alike, [&](std::uint32_t p) { return are_cut_alike(example_[p], layout); });
  if (pattern == alike.end()) {
    pattern = alike.insert(pattern, static_cast<std::uint32_t>(example_.size()));
    example_.push_back(layout);
    spreads_.push_back(spread_of(layout));
  }
  const double bytes = pcg::bytes_of(layout.shape.whole(), problem_.training.precision).value();
  const auto [at, is_new] = numbers_.try_emplace({*pattern, bytes}, static_cast<LayoutNumber>(layouts_.size()));
  if (is_new) layouts_.push_back({*pattern, bytes});
  return at->second;
}

double MovementCosts::seconds(LayoutNumber from, LayoutNumber to) {
  const Numbered &a = layouts_[from], &b = layouts_[to];
  BASE_CHECK(a.bytes == b.bytes, "a tensor of {} bytes does not become one of {}", a.bytes, b.bytes);
  return a.bytes == 0 ? 0 : curve(a.pattern, b.pattern).at(a.bytes / kUnit);
}

double MovementCosts::Curve::at(double factor) const {
  if (is_infeasible) return kInfeasible;
  double sum = 0;
  for (const Round& r : rounds) sum += std::max(r.cost.at(factor).time.value(), r.launch_s);
  return sum;
}

double MovementCosts::seconds(const sim::Movement& movement) {
  std::vector<sim::Round> rounds = movement.rounds;
  base::Bytes largest;
  for (const sim::Transfer& t : rounds | std::views::join) largest = std::max(largest, t.bytes);
  if (largest.value() == 0) return curve(movement).at(1);
  for (sim::Transfer& t : rounds | std::views::join) t.bytes = base::Bytes(kUnit * (t.bytes / largest));
  const auto [at, is_new] = inside_.try_emplace(std::move(rounds));
  if (is_new) at->second = curve({at->first});
  return at->second.at(largest.value() / kUnit);
}

MovementCosts::Curve MovementCosts::curve(const sim::Movement& movement) const {
  Curve c;
  const base::Seconds before = oracle_.effort();
  for (const sim::Round& r : movement.rounds) {
    const int launches = most_launches(r);
    if (launches > kMostLaunches) return {.rounds = {}, .is_infeasible = true};
    c.rounds.push_back({oracle_.round(r), launch_ * launches});
  }
  problem_.oracle.spend(oracle_.effort() - before);
  return c;
}

double MovementCosts::all_reduce_seconds(LayoutNumber sums, base::Bytes bytes) {
  const std::uint32_t pattern = layouts_[sums].pattern;
  const auto [at, is_new] = sums_.try_emplace(pattern);
  if (is_new) {
    sim::Round round;
    for (std::vector<base::DeviceId>& group : sim::sum_groups(example_[pattern]))
      round.push_back({.kind = sim::CollectiveKind::all_reduce, .bytes = base::Bytes(kUnit), .group = std::move(group)});
    if (!round.empty()) at->second = curve({{std::move(round)}});
  }
  return at->second.at(bytes.value() / kUnit);
}

const MovementCosts::Curve& MovementCosts::curve(std::uint32_t from, std::uint32_t to) {
  const auto [at, is_new] = curves_.try_emplace(pair_of(from, to));
  if (!is_new) return at->second;
  // Sizes that both cuts divide: who sends what share to whom does not depend on them.
  sim::Layout before = example_[from], after = example_[to];
  double elements = 1;
  for (std::size_t d = 0; d < before.shape.dims.size(); ++d) {
    const int both = std::lcm(before.shape.dims[d].degree, after.shape.dims[d].degree);
    before.shape.dims[d].size = after.shape.dims[d].size = both;
    elements *= both;
  }
  const std::optional<sim::Movement> movement =
      sim::reshard_within(before, after, base::Bytes(kUnit / elements), problem_.cluster, kMostLaunches);
  if (!movement) {
    problem_.oracle.spend(sim::kReshardTransfer * static_cast<double>(kMostLaunches * after.devices.size()));
    return at->second = {.rounds = {}, .is_infeasible = true};
  }
  for (const sim::Round& r : movement->rounds) problem_.oracle.spend(sim::kReshardTransfer * static_cast<double>(r.size()));
  return at->second = curve(*movement);
}

MovementCosts::Spread MovementCosts::spread_of(const sim::Layout& layout) const {
  const topology::Cluster& cluster = problem_.cluster;
  std::map<std::uint32_t, std::vector<Box>> on_device;
  std::map<int, std::vector<Box>> in_domain;
  const auto add = [](std::vector<Box>& boxes, const Box& box) {
    if (std::ranges::find(boxes, box) == boxes.end()) boxes.push_back(box);
  };
  for (std::size_t s = 0; s < layout.devices.size(); ++s) {
    const pcg::ShardIndex index = pcg::shard_index(layout.shape, static_cast<int>(s));
    Box box{index.sum, std::min(index.block.size(), kMostDims), {}, {}};
    for (std::size_t d = 0; d < box.dims; ++d) {
      const double degree = layout.shape.dims[d].degree;
      box.begin[d] = static_cast<double>(index.block[d]) / degree;
      box.end[d] = static_cast<double>(index.block[d] + 1) / degree;
    }
    add(on_device[layout.devices[s].value], box);
    add(in_domain[cluster.devices()[layout.devices[s].value].domain], box);
  }
  Spread spread;
  for (auto& [device, boxes] : on_device) spread.on_device.emplace_back(device, std::move(boxes));
  for (auto& [domain, boxes] : in_domain) spread.in_domain.emplace_back(domain, std::move(boxes));
  return spread;
}

double MovementCosts::at_least(LayoutNumber from, LayoutNumber to) {
  const Numbered &a = layouts_[from], &b = layouts_[to];
  if (a.pattern == b.pattern) return 0;
  const auto [at, is_new] = bounds_.try_emplace(pair_of(a.pattern, b.pattern));
  if (is_new) at->second = bound(a.pattern, b.pattern);
  return a.bytes == 0 ? 0 : at->second.latency + at->second.seconds_per_byte * a.bytes;
}

MovementCosts::Bound MovementCosts::bound(std::uint32_t from, std::uint32_t to) const {
  const Spread &held = spreads_[from], &wanted = spreads_[to];
  const int sums = example_[from].shape.sum;
  Bound bound;
  // Both are ascending.
  const auto look = [&](const auto& have, const auto& want, const std::vector<double>& into, double latency) {
    auto h = have.begin();
    for (const auto& [where, boxes] : want) {
      while (h != have.end() && h->first < where) ++h;
      const std::span<const Box> there = h != have.end() && h->first == where ? std::span<const Box>(h->second) : std::span<const Box>();
      const double lacking = share_lacking(boxes, there, sums);
      if (lacking <= kRoundingOfSizes) continue;
      bound.latency = latency;
      bound.seconds_per_byte = std::max(bound.seconds_per_byte, lacking / into[static_cast<std::size_t>(where)]);
    }
  };
  look(held.on_device, wanted.on_device, into_device_, latency_inside_);
  look(held.in_domain, wanted.in_domain, into_domain_, latency_between_);
  return bound;
}

}  // namespace search
