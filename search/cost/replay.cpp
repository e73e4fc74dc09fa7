#include "search/cost/replay.hpp"

#include <limits>
#include <numeric>
#include <set>

namespace search {
namespace {

constexpr auto kUnused = static_cast<std::size_t>(-1);  // a device without kernels

std::vector<std::size_t> ranks_of_devices(const sim::Program& program, const pcg::Plan& plan) {
  std::vector<std::size_t> rank;
  std::vector<bool> seen(program.device_sets.size(), false);
  for (std::size_t s = 0; s < program.forward.size(); ++s)
    for (const sim::Item& item : program.block(program.forward[s]).items) {
      const auto* kernels = std::get_if<sim::Compute>(&item.work);
      // Hundreds of items of a stage share a set.
      if (kernels == nullptr || seen[kernels->devices.value]) continue;
      seen[kernels->devices.value] = true;
      for (const base::DeviceId d : program.device_sets[kernels->devices.value]) {
        if (d.value >= rank.size()) rank.resize(d.value + 1, kUnused);
        if (rank[d.value] == kUnused) rank[d.value] = static_cast<std::size_t>(pcg::rank_of(plan, static_cast<int>(s)));
      }
    }
  return rank;
}

class Replay {
 public:
  Replay(const sim::Program& program, const ItemCosts& costs, const RankMap& map, Hosts hosts, std::span<RankStreams> streams)
      : program_(program), costs_(costs), map_(map), hosts_(hosts), streams_(streams) {}

  // Returns: the item's end.
  double run(const sim::Item& item, double ready) {
    return std::visit([&](const auto& work) { return run(work, ready); }, item.work);
  }

 private:
  double run(const sim::Compute& kernels, double ready) {
    RankStreams& streams = streams_[map_.of(kernels.devices)];
    if (hosts_ == Hosts::in_step) {
      const double waited = std::max(kernels.host_waits ? ready : 0, kernels.host_drains ? streams.computed() : 0);
      ready = std::max(ready, streams.launch(waited, costs_.launch_s(kernels)));
    }
    return streams.compute(ready, costs_.kernels_s(kernels), costs_.overlap_slowdown());
  }

  // Copies of one kind come one after another, as the items list them.
  double run(const sim::Copy& copy, double ready) { return streams_[map_.of(copy.devices)].copy(copy.stream, ready, costs_.seconds(copy)); }

  double run(const sim::Mark& mark, double ready) { return std::max(ready, streams_[map_.of(mark.devices)].computed()); }

  double run(const sim::Move& move, double ready) {
    const std::span<const std::size_t> concerned = map_.of(move.movement);
    if (hosts_ == Hosts::in_step)
      for (const std::size_t rank : concerned) ready = std::max(ready, streams_[rank].launch(0, costs_.launch_s(move)));
    const std::vector<double>& rounds = costs_.rounds_s(move);
    const double seconds = std::accumulate(rounds.begin(), rounds.end(), 0.0);
    if (move.stream == sim::StreamKind::pipeline) return send(concerned, ready, rounds.empty() ? 0 : rounds.front(), seconds);
    if (!costs_.is_collective(move)) return ready + seconds;
    // All devices start together.
    for (const std::size_t rank : concerned) ready = std::max(ready, streams_[rank].collective(move.stream, ready, 0));
    for (const std::size_t rank : concerned) streams_[rank].collective(move.stream, ready, seconds);
    return ready + seconds;
  }

  // To another stage: the first round leaves this one's devices, what follows is among the receivers.
  double send(std::span<const std::size_t> concerned, double ready, double first, double all) {
    if (program_.overlap_stage_boundary) return ready + all;
    double left = ready;
    for (const std::size_t rank : concerned) left = std::max(left, streams_[rank].blocking_message(ready, first));
    return left + all - first;
  }

  const sim::Program& program_;
  const ItemCosts& costs_;
  const RankMap& map_;
  Hosts hosts_;
  std::span<RankStreams> streams_;
};

}  // namespace

void ItemCosts::extend() {
  for (std::size_t s = types_.size(); s < program_.device_sets.size(); ++s) types_.push_back(types_among(program_.device_sets[s]));
  for (std::size_t m = moved_.size(); m < program_.movements.size(); ++m) {
    Moved& moved = moved_.emplace_back();
    for (const sim::Round& round : program_.movements[m].rounds) {
      moved.launch_s += program_.launch_s(round.front(), pace_);
      moved.is_collective = moved.is_collective || round.front().kind != sim::CollectiveKind::send;
    }
  }
}

std::vector<std::uint32_t> ItemCosts::types_among(const std::vector<base::DeviceId>& devices) const {
  // Most clusters have one type: nothing to look for in their devices.
  if (program_.device_types.size() == 1) return {pace_};
  std::vector<bool> there(program_.device_types.size(), false);
  for (const base::DeviceId d : devices) {
    const auto type = std::ranges::find(program_.device_types, topology::kind_of(cluster_.device(d)));
    there[static_cast<std::size_t>(type - program_.device_types.begin())] = true;
  }
  if (there[pace_]) return {pace_};
  std::vector<std::uint32_t> types;
  for (std::uint32_t t = 0; t < there.size(); ++t)
    if (there[t]) types.push_back(t);
  return types;
}

double ItemCosts::seconds(const sim::Copy& copy) const {
  double most = 0;
  for (const std::uint32_t type : types_[copy.devices.value]) most = std::max(most, program_.seconds[copy.seconds + type]);
  return most;
}

double ItemCosts::at_pace(const std::vector<double>& seconds, const sim::Compute& kernels) const {
  double most = 0;
  for (const std::uint32_t type : types_[kernels.devices.value]) {
    double sum = 0;
    for (const sim::Part& p : kernels.parts) sum += seconds[p.seconds + type];
    most = std::max(most, sum);
  }
  return most;
}

RankMap::RankMap(const sim::Program& program, const pcg::Plan& plan) : program_(&program), of_device_(ranks_of_devices(program, plan)) {}

void RankMap::extend() {
  for (std::size_t s = of_set_.size(); s < program_->device_sets.size(); ++s)
    of_set_.push_back(of_device_[program_->device_sets[s].front().value]);
  for (std::size_t m = of_movement_.size(); m < program_->movements.size(); ++m) {
    std::set<std::size_t> ranks;
    for (const sim::Round& round : program_->movements[m].rounds)
      for (const sim::Transfer& t : round)
        for (const base::DeviceId d : t.group) ranks.insert(of_device_[d.value]);
    of_movement_.emplace_back(ranks.begin(), ranks.end());
  }
}

RankStreams::RankStreams(double compute, double networks, double host) : compute_(compute), host_(host) {
  // Collectives that are still running when the block begins slow its first kernels, whichever network they are on.
  std::ranges::fill(free_, networks);
  if (networks > compute) busy_[sim::StreamKind::communication].intervals.push_back({compute, networks});
}

const RankStreams::Interval* RankStreams::at(Busy& busy, double t) {
  // Kernels only go forward in time, so an interval that has ended is never asked for again.
  while (busy.passed < busy.intervals.size() && busy.intervals[busy.passed].end <= t) ++busy.passed;
  return busy.passed < busy.intervals.size() ? &busy.intervals[busy.passed] : nullptr;
}

double RankStreams::compute(double ready, double work, double slowdown) {
  double t = std::max(ready, compute_);
  while (work > 0) {
    // Until the next collective begins or ends, kernels go on at one rate.
    bool overlaps = false;
    double change = std::numeric_limits<double>::infinity();
    for (Busy& busy : busy_) {
      const Interval* i = at(busy, t);
      if (i == nullptr) continue;
      overlaps = overlaps || i->start <= t;
      change = std::min(change, i->start <= t ? i->end : i->start);
    }
    const double pace = overlaps ? slowdown : 1;
    if (t + work * pace <= change) {
      t += work * pace;
      break;
    }
    work -= (change - t) / pace;
    t = change;
  }
  return compute_ = t;
}

double RankStreams::collective(sim::StreamKind stream, double ready, double seconds) {
  const double start = std::max(ready, free_[stream]);
  if (seconds > 0) busy_[stream].intervals.push_back({start, start + seconds});
  if (stream == sim::StreamKind::gradients) synchronising_ += seconds;
  return free_[stream] = start + seconds;
}

bool synchronises(const sim::Item& item) {
  const auto* move = std::get_if<sim::Move>(&item.work);
  return move != nullptr && move->stream == sim::StreamKind::gradients;
}

std::vector<Signal> replay(const sim::Block& block, const sim::Program& program, const ItemCosts& costs, const RankMap& map, Hosts hosts,
                           const std::function<double(sim::EventId)>& arrival, std::span<RankStreams> streams) {
  Replay items(program, costs, map, hosts, streams);
  std::vector<double> ends;
  std::vector<Signal> signals;
  // Items are listed in an order in which every device can run them: what an item waits for has been run.
  ends.reserve(block.items.size());
  for (const sim::Item& item : block.items) {
    double ready = 0;
    for (const std::uint32_t i : item.after) ready = std::max(ready, ends[i]);
    for (const sim::EventId e : item.waits_on) ready = std::max(ready, arrival(e));
    ends.push_back(items.run(item, ready));
    for (const sim::EventId e : item.signals) signals.push_back({e, ends.back(), synchronises(item)});
  }
  return signals;
}

}  // namespace search
