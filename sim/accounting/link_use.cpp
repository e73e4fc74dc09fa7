#include "sim/accounting/over_time.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace sim {
namespace {

// Loads that differ by less are equal: sums of doubles.
constexpr double kLoadRounding = 1e-9;

// The types of the links that a plan's traffic uses, by number.
struct LinkTypes {
  std::vector<std::string_view> names;  // ascending
  std::vector<std::uint32_t> of_link;   // per link of the traffic
};

LinkTypes types_of(const Accounts& a) {
  LinkTypes types;
  for (const topology::LinkId l : a.traffic.links) types.names.push_back(a.cluster.link(l).type);
  make_ascending(types.names);
  for (const topology::LinkId l : a.traffic.links)
    types.of_link.push_back(
        static_cast<std::uint32_t>(std::ranges::lower_bound(types.names, a.cluster.link(l).type) - types.names.begin()));
  return types;
}

// The bytes that one phase of a class of transfers puts on the links of each type, and when, as the time after the transfer's begin:
// `delay_s` and a multiple of the transfer's time without delays.
struct PhaseLoad {
  double begin_delay_s = 0, begin_share = 0, end_share = 0;
  std::vector<std::pair<std::uint32_t, double>> bytes;  // by type
};

// Cost: O(links that the flows of the class cross).
std::vector<PhaseLoad> loads_of(const Accounts& a, const LinkTypes& types, const TransferClass& transfer) {
  std::vector<PhaseLoad> loads(transfer.phases.size());
  std::vector<double> alone_s;  // per phase: of the busiest link
  for (const Phase& phase : transfer.phases) {
    std::map<std::uint32_t, double> busy;
    for (const Flow& f : phase.flows)
      for (const WeightedLink& l : a.folded.routes[f.route]) busy[l.link] += l.weight * f.bytes.value() / a.folded.links[l.link].value();
    double& longest = alone_s.emplace_back(0);
    for (const auto& [link, seconds] : busy) longest = std::max(longest, seconds);
  }
  const double all_s = std::accumulate(alone_s.begin(), alone_s.end(), 0.0);
  double delay_s = 0, before_s = 0;
  for (std::size_t p = 0; p < loads.size(); ++p) {
    delay_s += transfer.phases[p].delay.value();
    loads[p].begin_delay_s = delay_s;
    loads[p].begin_share = all_s > 0 ? before_s / all_s : 0;
    before_s += alone_s[p];
    loads[p].end_share = all_s > 0 ? before_s / all_s : 0;
  }
  std::vector<std::map<std::uint32_t, double>> bytes(loads.size());
  for (const TrafficFlow& f : a.traffic.flows_of(a.traffic.transfers[transfer.representative]))
    for (const std::uint32_t l : a.traffic.links_of(f))
      bytes[f.phase][types.of_link[l]] += transfer.count * f.wire_factor * f.bytes.value();
  for (std::size_t p = 0; p < loads.size(); ++p) loads[p].bytes.assign(bytes[p].begin(), bytes[p].end());
  return loads;
}

// Bytes that links of each type have carried by some moments of the simulated iteration.
class Carried {
 public:
  Carried(std::vector<double> moments, std::size_t types) : moments_(std::move(moments)) {
    make_ascending(moments_);
    sums_.assign(types, std::vector<double>(moments_.size(), 0));
  }

  // Spreads bytes of each type evenly from one time to another.
  void add(double begin, double end, std::span<const std::pair<std::uint32_t, double>> bytes) {
    // Entry i holds what is carried between the moments i - 1 and i; what lies outside of all is not asked for.
    auto next = static_cast<std::size_t>(std::ranges::upper_bound(moments_, begin) - moments_.begin());
    for (double from = begin; next < moments_.size(); from = moments_[next++]) {
      const double to = std::min(end, moments_[next]), share = end > begin ? (to - from) / (end - begin) : 1;
      if (next > 0)
        for (const auto& [type, all] : bytes) sums_[type][next] += all * share;
      if (end <= moments_[next]) return;
    }
  }
  void sum_up() {
    for (std::vector<double>& sums : sums_) std::partial_sum(sums.begin(), sums.end(), sums.begin());
  }
  // By one of the moments.
  [[nodiscard]] double by(double moment, std::uint32_t type) const {
    return sums_[type][static_cast<std::size_t>(std::ranges::lower_bound(moments_, moment) - moments_.begin())];
  }

 private:
  std::vector<double> moments_;
  std::vector<std::vector<double>> sums_;  // [type][moment]
};

// Spreads what is above 1 over later intervals, then over earlier ones. Keeps: the sum, which is at most one for each.
void level(std::vector<double>& use) {
  double over = 0;
  const auto take = [&](double& u) { u = std::exchange(over, 0) + u, over = std::max(0.0, u - 1), u -= over; };
  std::ranges::for_each(use, take);
  std::for_each(use.rbegin(), use.rend(), take);
}

// [type][interval]: bytes carried.
std::vector<std::vector<double>> over_time(const Accounts& a, const LinkTypes& types, double whole_s, const Playback& playback) {
  std::vector<Moment> ends;
  for (int i = 0; i <= kUseIntervals; ++i) ends.push_back(moment_of(playback, whole_s * i / kUseIntervals));
  std::vector<double> moments;
  for (const Moment& m : ends) moments.push_back(m.at_s);
  for (const Repeat& r : playback.repeats) moments.insert(moments.end(), {r.at, r.at + r.length});
  Carried carried(std::move(moments), types.names.size());
  std::vector<std::optional<std::vector<PhaseLoad>>> loads(a.folded.transfers.size());
  for_each_task(a, [&](const Entry& e, Interval when, const BlockInstance&) {
    const auto* moved = std::get_if<TransferRun>(&e.work);
    if (moved == nullptr) return;
    const TransferClass& transfer = a.folded.transfers[moved->transfer];
    std::optional<std::vector<PhaseLoad>>& known = loads[moved->transfer];
    if (!known) known = loads_of(a, types, transfer);
    double flowing_s = (when.end - when.begin).value();
    for (const Phase& p : transfer.phases) flowing_s -= p.delay.value();
    for (const PhaseLoad& p : *known) {
      const double begin = when.begin.value() + p.begin_delay_s + p.begin_share * flowing_s;
      carried.add(begin, std::max(begin, begin + (p.end_share - p.begin_share) * flowing_s), p.bytes);
    }
  });
  carried.sum_up();
  std::vector<std::vector<double>> out(types.names.size(), std::vector<double>(kUseIntervals, 0));
  for (std::uint32_t type = 0; type < out.size(); ++type) {
    const auto by = [&](const Moment& m) {
      double bytes = carried.by(m.at_s, type);
      for (std::size_t r = 0; r < m.copies.size(); ++r)
        bytes += m.copies[r] *
                 (carried.by(playback.repeats[r].at + playback.repeats[r].length, type) - carried.by(playback.repeats[r].at, type));
      return bytes;
    };
    for (std::size_t i = 0; i < out[type].size(); ++i) out[type][i] = std::max(0.0, by(ends[i + 1]) - by(ends[i]));
  }
  return out;
}

// Per link of the traffic: bytes that it carries in the iteration. All transfers of a round run equally often.
std::vector<double> link_loads(const Accounts& a, std::span<const double> executed) {
  std::vector<double> carried(a.traffic.links.size(), 0);
  for (std::size_t m = 0; m < a.traffic.of_movement.size(); ++m)
    for (std::size_t r = 0; r < a.traffic.of_movement[m].size(); ++r) {
      const std::vector<std::uint32_t>& classes = a.folded.of_movement[m][r];
      const double times = classes.empty() ? 0 : executed[classes.front()];
      if (times == 0) continue;
      for (const std::uint32_t t : a.traffic.of_movement[m][r])
        for (const TrafficFlow& f : a.traffic.flows_of(a.traffic.transfers[t]))
          for (const std::uint32_t l : a.traffic.links_of(f)) carried[l] += times * f.wire_factor * f.bytes.value();
    }
  return carried;
}

}  // namespace

std::vector<LinkUse> link_use(const Accounts& a, const Account& whole, const Playback& playback) {
  const LinkTypes types = types_of(a);
  const std::vector<double> carried = link_loads(a, whole.executed);
  const double iteration_s = whole.iteration_time.value();
  std::vector<LinkUse> use(types.names.size());
  for (std::size_t l = 0; l < carried.size(); ++l) {
    if (carried[l] <= 0) continue;
    const topology::Link& link = a.cluster.link(a.traffic.links[l]);
    LinkUse& of_type = use[types.of_link[l]];
    ++of_type.count;
    of_type.carried += base::Bytes(carried[l]);
    of_type.bandwidth += link.bandwidth;
    if (const double busy = carried[l] / (link.bandwidth.value() * iteration_s); busy > of_type.busiest * (1 + kLoadRounding)) {
      of_type.busiest = busy;
      of_type.name = link.name;
    }
  }
  std::vector<std::vector<double>> over = over_time(a, types, iteration_s, playback);
  for (std::uint32_t type = 0; type < use.size(); ++type) {
    LinkUse& of_type = use[type];
    if (of_type.count == 0) continue;
    of_type.type = types.names[type];
    of_type.busy = of_type.carried / (of_type.bandwidth * whole.iteration_time);
    // A repeat is a copy but for rounding: the whole is known exactly.
    const double seen = std::accumulate(over[type].begin(), over[type].end(), 0.0);
    for (double& u : over[type]) u *= seen > 0 ? of_type.busy * kUseIntervals / seen : 0;
    level(over[type]);
    of_type.over_time = std::move(over[type]);
  }
  std::erase_if(use, [](const LinkUse& u) { return u.count == 0; });
  std::ranges::stable_sort(use, [](const LinkUse& x, const LinkUse& y) { return x.busiest > y.busiest; });
  return use;
}

}  // namespace sim
