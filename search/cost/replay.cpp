#include "search/cost/replay.hpp"

#include <algorithm>
#include <numeric>

namespace search {
namespace {

RankStreams::Network network_of(sim::StreamKind stream) {
  switch (stream) {
    case sim::StreamKind::gradients: return RankStreams::Network::gradients;
    case sim::StreamKind::replicas: return RankStreams::Network::replicas;
    case sim::StreamKind::experts: return RankStreams::Network::experts;
    case sim::StreamKind::compute:
    case sim::StreamKind::communication:
    case sim::StreamKind::pipeline:
    case sim::StreamKind::host:
    case sim::StreamKind::to_host:
    case sim::StreamKind::from_host:
    case sim::StreamKind::host_update: break;
  }
  return RankStreams::Network::communication;
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
  double run(const sim::Copy& copy, double ready) {
    const auto engine = copy.stream == sim::StreamKind::to_host     ? RankStreams::Engine::to_host
                        : copy.stream == sim::StreamKind::from_host ? RankStreams::Engine::from_host
                                                                    : RankStreams::Engine::host_update;
    return streams_[map_.of(copy.devices)].copy(engine, ready, costs_.seconds(copy));
  }

  double run(const sim::Mark& mark, double ready) { return std::max(ready, streams_[map_.of(mark.devices)].computed()); }

  double run(const sim::Move& move, double ready) {
    const std::span<const std::size_t> concerned = map_.of(move.movement);
    if (hosts_ == Hosts::in_step)
      for (const std::size_t rank : concerned) ready = std::max(ready, streams_[rank].launch(0, costs_.launch_s(move)));
    const std::vector<double>& rounds = costs_.rounds_s(move);
    const double seconds = std::accumulate(rounds.begin(), rounds.end(), 0.0);
    if (move.stream == sim::StreamKind::pipeline) return send(concerned, ready, rounds.empty() ? 0 : rounds.front(), seconds);
    if (!costs_.is_collective(move)) return ready + seconds;
    const RankStreams::Network network = network_of(move.stream);
    // All devices start together.
    for (const std::size_t rank : concerned) ready = std::max(ready, streams_[rank].collective(network, ready, 0));
    for (const std::size_t rank : concerned) streams_[rank].collective(network, ready, seconds);
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
