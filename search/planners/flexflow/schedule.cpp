#include "search/planners/flexflow/walk.hpp"

#include <algorithm>

namespace search {
namespace {

template <class Segments>
double busy_until(const std::vector<double>& stream, Segments s, double at_least) {
  for (std::size_t i = s.begin; i < s.end; ++i) at_least = std::max(at_least, stream[i]);
  return at_least;
}

template <class Segments>
double keep_busy(std::vector<double>& stream, Segments s, double until) {
  for (std::size_t i = s.begin; i < s.end; ++i) stream[i] = until;
  return until;
}

}  // namespace

Schedule::Schedule(int devices, std::size_t operators, std::vector<Edge> edges)
    : devices_(devices), edges_(std::move(edges)), read_by_(operators), reads_(operators) {
  for (std::uint32_t e = 0; e < edges_.size(); ++e) {
    read_by_[edges_[e].from].push_back(e);
    reads_[edges_[e].to].push_back(e);
  }
}

// Devices between which no block begins or ends run the same.
void Schedule::find_segments(std::span<const ScheduledOperator> operators) {
  const auto begin = [](const ScheduledOperator& o) { return static_cast<std::size_t>(o.start); };
  const auto end = [](const ScheduledOperator& o) { return static_cast<std::size_t>(o.start + o.devices); };
  segment_of_.assign(static_cast<std::size_t>(devices_) + 1, 0);
  for (const ScheduledOperator& o : operators) segment_of_[begin(o)] = segment_of_[end(o)] = 1;
  std::uint32_t segment = 0;
  for (std::size_t d = 0; d < segment_of_.size(); ++d) {
    if (d > 0) segment += segment_of_[d];
    segment_of_[d] = segment;
  }
  segments_ = segment + 1;
  places_.clear();
  for (const ScheduledOperator& o : operators) places_.push_back({segment_of_[begin(o)], segment_of_[end(o)]});
}

// Where gradients are on their way at the same time, each has half of the network until one has ended.
double Schedule::move(std::uint32_t from, std::uint32_t to, double ready, double seconds) {
  if (seconds == 0) return ready;
  const double start = busy_until(movements_, places_[to], busy_until(movements_, places_[from], ready));
  const double until = busy_until(gradients_, places_[to], busy_until(gradients_, places_[from], start));
  const double shared = std::min(seconds, until - start);
  for (const Segments place : {places_[from], places_[to]}) {
    keep_busy(movements_, place, start + seconds + shared);
    if (shared > 0) keep_busy(gradients_, place, until + shared);
  }
  return start + seconds + shared;
}

void Schedule::synchronise(std::uint32_t who, double ready, double seconds) {
  if (seconds == 0) return;
  const double start = busy_until(gradients_, places_[who], ready);
  const double shared = std::min(seconds, busy_until(movements_, places_[who], start) - start);
  keep_busy(gradients_, places_[who], start + seconds + shared);
}

void Schedule::go_forward(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements) {
  ready_.assign(operators.size(), 0);
  for (std::uint32_t o = 0; o < operators.size(); ++o) {
    const double end = keep_busy(kernels_, places_[o], busy_until(kernels_, places_[o], ready_[o]) + operators[o].forward);
    for (const std::uint32_t e : read_by_[o])
      ready_[edges_[e].to] = std::max(ready_[edges_[e].to], move(o, edges_[e].to, end, movements[e].forward));
  }
}

void Schedule::go_backward(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements) {
  ready_.assign(operators.size(), std::ranges::max(kernels_));
  for (auto o = static_cast<std::uint32_t>(operators.size()); o-- > 0;) {
    const double end = keep_busy(kernels_, places_[o], busy_until(kernels_, places_[o], ready_[o]) + operators[o].backward);
    synchronise(o, end, operators[o].synchronisation);
    for (const std::uint32_t e : reads_[o])
      ready_[edges_[e].from] = std::max(ready_[edges_[e].from], move(o, edges_[e].from, end, movements[e].backward));
  }
}

double Schedule::seconds(std::span<const ScheduledOperator> operators, std::span<const MovementTimes> movements) {
  if (operators.empty()) return 0;
  find_segments(operators);
  for (Stream* s : {&kernels_, &movements_, &gradients_, &sums_}) s->assign(segments_, 0);
  go_forward(operators, movements);
  go_backward(operators, movements);
  for (std::size_t o = 0; o < operators.size(); ++o)
    for (std::size_t s = places_[o].begin; s < places_[o].end; ++s) sums_[s] += operators[o].update;
  double last = 0;
  for (std::size_t s = 0; s < segments_; ++s) last = std::max(last, std::max({kernels_[s], movements_[s], gradients_[s]}) + sums_[s]);
  return last;
}

double Schedule::most_on_a_device(std::span<const ScheduledOperator> operators, std::span<const double> amounts) {
  find_segments(operators);
  sums_.assign(segments_, 0);
  for (std::size_t o = 0; o < operators.size(); ++o)
    for (std::size_t s = places_[o].begin; s < places_[o].end; ++s) sums_[s] += amounts[o];
  return std::ranges::max(sums_);
}

}  // namespace search
