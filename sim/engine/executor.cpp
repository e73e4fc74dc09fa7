#include "sim/engine/executor.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

#include "base/check.hpp"

namespace sim {
namespace {

void check_links(const TaskGraph& g) {
  for (const std::vector<WeightedLink>& route : g.routes)
    for (const WeightedLink& l : route) {
      BASE_CHECK(l.link < g.links.size(), "route over link {} of {}", l.link, g.links.size());
      BASE_CHECK(l.weight > 0, "weight {} of link {}", l.weight, l.link);
      const double bandwidth = g.links[l.link].value();
      BASE_CHECK(bandwidth > 0 && std::isfinite(bandwidth), "link {} of {} B/s", l.link, bandwidth);
    }
}

void check_indices(const TaskGraph& g) {
  for (const Step& s : g.steps)
    for (const Phase& p : s.phases) {
      BASE_CHECK(p.delay.value() >= 0, "a delay of {} s", p.delay.value());
      for (const Flow& f : p.flows)
        BASE_CHECK(f.route < g.routes.size() && f.bytes.value() >= 0, "flow of {} B on route {} of {}", f.bytes.value(), f.route,
                   g.routes.size());
    }
  for (const Stream& s : g.streams) BASE_CHECK(s.device < g.slowdown.size(), "stream on device {} of {}", s.device, g.slowdown.size());
  for (const double s : g.slowdown) BASE_CHECK(s >= 1, "a slowdown of {}", s);
  for (const Task& t : g.tasks) {
    BASE_CHECK(t.step < g.steps.size(), "step {} of {}", t.step, g.steps.size());
    BASE_CHECK(t.streams_begin <= t.streams_end && t.streams_end <= g.task_streams.size(), "streams {}..{} of {}", t.streams_begin,
               t.streams_end, g.task_streams.size());
    BASE_CHECK(t.dependencies_begin <= t.dependencies_end && t.dependencies_end <= g.task_dependencies.size(), "dependencies {}..{} of {}",
               t.dependencies_begin, t.dependencies_end, g.task_dependencies.size());
  }
  for (const std::uint32_t s : g.task_streams) BASE_CHECK(s < g.streams.size(), "stream {} of {}", s, g.streams.size());
  for (const std::uint32_t d : g.task_dependencies) BASE_CHECK(d < g.tasks.size(), "dependency on task {} of {}", d, g.tasks.size());
}

}  // namespace

Executor::Executor(const TaskGraph& graph, FlowNetwork& network) : graph_(graph), network_(network) {
  check_links(graph);
  check_indices(graph);
  const std::size_t tasks = graph.tasks.size();
  // A task is blocked once for every dependency and every stream that it does not head yet; what it waits for counts down.
  blockers_.resize(tasks);
  progress_.resize(tasks);
  timeline_.start.resize(tasks);
  timeline_.end.resize(tasks);
  alone_.resize(graph.steps.size());
  users_.resize(graph.links.size());
  alone_on_.assign(graph.links.size(), kNone);
  build_streams();
  build_successors();
  // Rates of kernels are kept only where something can slow them: most simulations have no such device.
  slows_ = std::ranges::any_of(graph.slowdown, [](double s) { return s > 1; });
  if (slows_) {
    work_.resize(tasks);
    communicating_.resize(graph.slowdown.size());
    computing_.resize(graph.slowdown.size());
  }
}

std::span<const std::uint32_t> Executor::streams_of(std::uint32_t task) const {
  const Task& t = graph_.tasks[task];
  return std::span(graph_.task_streams).subspan(t.streams_begin, t.streams_end - t.streams_begin);
}

// Streams of a task on one device are listed one after another, so that each device is visited once.
template <class Visit>
void Executor::each_device(std::uint32_t task, Visit visit) const {
  std::optional<std::uint32_t> last;
  for (const std::uint32_t s : streams_of(task)) {
    const std::uint32_t d = graph_.streams[s].device;
    if (last != d) visit(d);
    last = d;
  }
}

void Executor::build_streams() {
  const std::size_t streams = graph_.streams.size();
  queue_begin_.assign(streams + 1, 0);
  // Queues and successors lie end to end in one array each: counted first, filled second, so that a graph takes few allocations.
  for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t)
    for (const std::uint32_t s : streams_of(t)) ++queue_begin_[s + 1];
  std::partial_sum(queue_begin_.begin(), queue_begin_.end(), queue_begin_.begin());
  queue_.resize(queue_begin_.back());
  queue_head_.assign(queue_begin_.begin(), queue_begin_.end() - 1);
  for (std::uint32_t n = 0; n < graph_.tasks.size(); ++n) {
    const std::uint32_t t = graph_.ordered(n);
    for (const std::uint32_t s : streams_of(t)) {
      const std::uint32_t place = queue_head_[s]++;
      BASE_CHECK(place == queue_begin_[s] || queue_[place - 1] != t, "task {} is listed twice on stream {}", t, s);
      queue_[place] = t;
      ++blockers_[t];
    }
  }
  queue_head_.assign(queue_begin_.begin(), queue_begin_.end() - 1);
}

void Executor::build_successors() {
  successors_begin_.assign(graph_.tasks.size() + 1, 0);
  const auto each_edge = [this](auto&& visit) {
    for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t)
      for (std::uint32_t i = graph_.tasks[t].dependencies_begin; i < graph_.tasks[t].dependencies_end; ++i)
        visit(graph_.task_dependencies[i], t);
  };
  each_edge([this](std::uint32_t from, std::uint32_t) { ++successors_begin_[from + 1]; });
  std::partial_sum(successors_begin_.begin(), successors_begin_.end(), successors_begin_.begin());
  successors_.resize(successors_begin_.back());
  std::vector<std::uint32_t> next(successors_begin_.begin(), successors_begin_.end() - 1);
  each_edge([&](std::uint32_t from, std::uint32_t to) {
    successors_[next[from]++] = to;
    ++blockers_[to];
  });
}

void Executor::start() {
  for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t)
    if (blockers_[t] == 0) ready_.push_back(t);
  for (std::size_t s = 0; s < graph_.streams.size(); ++s)
    if (queue_head_[s] < queue_begin_[s + 1]) unblock(queue_[queue_head_[s]]);
  run_ready();
}

void Executor::unblock(std::uint32_t task) {
  if (--blockers_[task] == 0) ready_.push_back(task);
}

// A list, not recursion: a chain of tasks that take no time may be as long as the graph.
void Executor::run_ready() {
  for (std::size_t i = 0; i < ready_.size(); ++i) begin(ready_[i]);
  ready_.clear();
}

void Executor::begin(std::uint32_t task) {
  timeline_.start[task] = base::Seconds(now_s_);
  if (slows(task)) communication_changed(task, +1);
  advance(task);
}

void Executor::advance(std::uint32_t task) {
  const std::vector<Phase>& phases = step_of(task).phases;
  Progress& p = progress_[task];
  if (p.phase > 0 && p.phase % 2 == 0) free_links(task);
  // Each phase is entered twice: for its delay and for its flows.
  while (p.phase / 2 < phases.size()) {
    const Phase& phase = phases[p.phase / 2];
    const bool delay = p.phase % 2 == 0;
    ++p.phase;
    if (delay && phase.delay.value() > 0) return begin_delay(task, phase.delay.value());
    if (!delay) begin_flows(task, (p.phase - 1) / 2);
    if (p.flows > 0 || p.is_alone) return;
  }
  end(task);
}

void Executor::begin_delay(std::uint32_t task, double delay_s) {
  ++timeline_.activities;
  Progress& p = progress_[task];
  if (!is_slowed(task)) {
    wakes_.push({now_s_ + delay_s, task, p.version});
    return;
  }
  const double rate = rate_of(task);
  work_[task] = {delay_s, rate, now_s_};
  each_device(task, [&](std::uint32_t d) { computing_[d].push_back(task); });
  wakes_.push({now_s_ + delay_s / rate, task, p.version});
}

const PhaseAlone& Executor::alone(std::uint32_t task, std::size_t phase) {
  const std::uint32_t step = graph_.tasks[task].step;
  std::vector<PhaseAlone>& known = alone_[step];
  while (known.size() <= phase) known.push_back(phase_alone(graph_, graph_.steps[step].phases[known.size()]));
  return known[phase];
}

void Executor::begin_flows(std::uint32_t task, std::size_t phase) {
  const PhaseAlone& a = alone(task, phase);
  if (a.links.empty()) return;  // nothing moves, or it does not leave its device
  const std::vector<Flow>& flows = step_of(task).phases[phase].flows;
  const auto is_moving = [this](const Flow& f) { return moves(graph_, f); };
  timeline_.activities += static_cast<std::uint64_t>(std::ranges::count_if(flows, is_moving));
  bool is_alone = !a.flow_s.empty();
  for (const std::uint32_t l : a.links) {
    is_alone = is_alone && users_[l] == 0;
    if (alone_on_[l] != kNone) continue_in_simgrid(alone_on_[l]);
  }
  for (const std::uint32_t l : a.links) ++users_[l];
  Progress& p = progress_[task];
  if (!is_alone) {
    for (const Flow& f : flows | std::views::filter(is_moving)) ++p.flows, network_.start(f.route, f.bytes.value(), task);
    return;
  }
  for (const std::uint32_t l : a.links) alone_on_[l] = task;
  p.is_alone = true;
  p.since_s = now_s_;
  wakes_.push({now_s_ + a.seconds, task, p.version});
}

void Executor::continue_in_simgrid(std::uint32_t task) {
  Progress& p = progress_[task];
  const std::size_t phase = (p.phase - 1) / 2;
  const PhaseAlone& a = alone(task, phase);
  for (const std::uint32_t l : a.links) alone_on_[l] = kNone;
  p.is_alone = false;
  ++p.version;  // its wake is stale
  const double passed_s = now_s_ - p.since_s;
  const std::vector<Flow>& flows = step_of(task).phases[phase].flows;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if (passed_s >= a.flow_s[f]) continue;  // moves nothing, or has arrived
    ++p.flows;
    network_.start(flows[f].route, flows[f].bytes.value() * (1 - passed_s / a.flow_s[f]), task);
  }
  if (p.flows == 0) wakes_.push({now_s_, task, p.version});  // all have arrived just now
}

void Executor::free_links(std::uint32_t task) {
  Progress& p = progress_[task];
  const PhaseAlone& a = alone(task, p.phase / 2 - 1);
  for (const std::uint32_t l : a.links) {
    --users_[l];
    if (p.is_alone) alone_on_[l] = kNone;
  }
  p.is_alone = false;
}

void Executor::flow_ended(std::uint32_t task, double now_s) {
  now_s_ = now_s;
  if (--progress_[task].flows > 0) return;
  advance(task);
  run_ready();
}

std::optional<double> Executor::next_wake() {
  // A delay whose rate has changed was queued again under a new version; the old entry stays until it comes up.
  while (!wakes_.empty() && wakes_.top().version != progress_[wakes_.top().task].version) wakes_.pop();
  if (wakes_.empty()) return std::nullopt;
  return wakes_.top().time_s;
}

void Executor::wake(double now_s) {
  now_s_ = now_s;
  for (std::optional<double> next = next_wake(); next && *next <= now_s; next = next_wake()) {
    const std::uint32_t task = wakes_.top().task;
    wakes_.pop();
    ++progress_[task].version;
    if (is_slowed(task)) each_device(task, [&](std::uint32_t d) { std::erase(computing_[d], task); });
    advance(task);
    run_ready();
  }
}

void Executor::end(std::uint32_t task) {
  timeline_.end[task] = base::Seconds(now_s_);
  ++ended_;
  if (slows(task)) communication_changed(task, -1);
  for (std::uint32_t i = successors_begin_[task]; i < successors_begin_[task + 1]; ++i) unblock(successors_[i]);
  for (const std::uint32_t s : streams_of(task))
    if (++queue_head_[s] < queue_begin_[s + 1]) unblock(queue_[queue_head_[s]]);
}

void Executor::communication_changed(std::uint32_t task, int change) {
  each_device(task, [&](std::uint32_t d) {
    communicating_[d] += change;
    const bool changed = communicating_[d] == (change > 0 ? 1 : 0);
    if (changed && graph_.slowdown[d] > 1) set_rates(d);
  });
}

double Executor::rate_of(std::uint32_t task) const {
  double slowdown = 1;
  for (const std::uint32_t s : streams_of(task)) {
    const std::uint32_t d = graph_.streams[s].device;
    if (communicating_[d] > 0) slowdown = std::max(slowdown, graph_.slowdown[d]);
  }
  return 1 / slowdown;
}

void Executor::set_rates(std::uint32_t device) {
  for (const std::uint32_t task : computing_[device]) {
    Work& w = work_[task];
    // Work so far was done at the old rate.
    const double rate = rate_of(task);
    if (rate == w.rate) continue;
    w.remaining_s = std::max(0.0, w.remaining_s - (now_s_ - w.since_s) * w.rate);
    w.rate = rate;
    w.since_s = now_s_;
    wakes_.push({now_s_ + w.remaining_s / rate, task, ++progress_[task].version});
  }
}

Timeline Executor::finish() && {
  // A cycle is a fault of the graph: name a task of it, so that its maker can be found.
  if (ended_ != graph_.tasks.size())
    for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t)
      BASE_CHECK(blockers_[t] == 0, "tasks wait for each other: {} of {} never ended, task {} still waits for {} others",
                 graph_.tasks.size() - ended_, graph_.tasks.size(), t, blockers_[t]);
  BASE_CHECK(ended_ == graph_.tasks.size(), "{} of {} tasks started and never ended", graph_.tasks.size() - ended_, graph_.tasks.size());
  for (const base::Seconds e : timeline_.end) timeline_.makespan = std::max(timeline_.makespan, e);
  return std::move(timeline_);
}

}  // namespace sim
