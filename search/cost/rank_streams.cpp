#include "search/cost/replay.hpp"

#include <algorithm>
#include <limits>

namespace search {

RankStreams::RankStreams(double compute, double networks, double host) : compute_(compute), host_(host) {
  // Collectives that are still running when the block begins slow its first kernels, whichever network they are on.
  free_.fill(networks);
  copied_.fill(networks);
  if (networks > compute) busy_.front().push_back({compute, networks});
}

const RankStreams::Interval* RankStreams::at(std::size_t network, double t) {
  const std::vector<Interval>& busy = busy_[network];
  std::size_t& passed = passed_[network];
  // Kernels only go forward in time, so an interval that has ended is never asked for again.
  while (passed < busy.size() && busy[passed].end <= t) ++passed;
  return passed < busy.size() ? &busy[passed] : nullptr;
}

double RankStreams::compute(double ready, double work, double slowdown) {
  double t = std::max(ready, compute_);
  while (work > 0) {
    // Until the next collective begins or ends, kernels go on at one rate.
    bool overlaps = false;
    double change = std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; n < busy_.size(); ++n) {
      const Interval* i = at(n, t);
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

double RankStreams::collective(Network network, double ready, double seconds) {
  const auto n = static_cast<std::size_t>(network);
  const double start = std::max(ready, free_[n]);
  if (seconds > 0) busy_[n].push_back({start, start + seconds});
  if (network == Network::gradients) synchronising_ += seconds;
  return free_[n] = start + seconds;
}

double RankStreams::blocking_message(double ready, double seconds) { return compute_ = std::max(ready, compute_) + seconds; }

double RankStreams::copy(Engine engine, double ready, double seconds) {
  double& copied = copied_[static_cast<std::size_t>(engine)];
  return copied = std::max(ready, copied) + seconds;
}

double RankStreams::launch(double ready, double seconds) { return host_ = std::max(ready, host_) + seconds; }

double RankStreams::drained() const { return std::max({compute_, std::ranges::max(free_), std::ranges::max(copied_)}); }

}  // namespace search
