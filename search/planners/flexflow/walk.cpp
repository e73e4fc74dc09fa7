#include "search/planners/flexflow/walk.hpp"

#include <algorithm>
#include <cmath>

#include "sim/effort.hpp"

namespace search {
namespace {

double busy_until(const std::vector<double>& stream, Schedule::Segments s, double at_least) {
  for (std::size_t i = s.begin; i < s.end; ++i) at_least = std::max(at_least, stream[i]);
  return at_least;
}

double keep_busy(std::vector<double>& stream, Schedule::Segments s, double until) {
  for (std::size_t i = s.begin; i < s.end; ++i) stream[i] = until;
  return until;
}

// `seconds`: of an edge, with its gradient if it has one.
template <class Seconds>
MovementTimes times_of(EdgeKind edge, const Seconds& seconds) {
  const double both = seconds(edge);
  edge.has_gradient = false;
  const double forward = seconds(edge);
  return {forward, both - forward};
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

Placements::Placements(const topology::Cluster& cluster, OperatorCatalog& catalog)
    : catalog_(catalog), devices_(cluster.device_count()), machine_(catalog.machine_size()) {}

const Placements::Costed& Placements::costed(KindNumber kind, DeviceBlock block) {
  const auto [at, is_new] = costed_.try_emplace({kind, block});
  if (is_new) {
    at->second = {&catalog_.table(kind, block), next_};
    next_ += static_cast<std::uint32_t>(at->second.table->strategies.size());
  }
  return at->second;
}

const StrategyCost& Placements::cost(KindNumber kind, const Placement& p) {
  return costed(kind, catalog_.alike(p.block)).table->costs[p.strategy];
}

int Placements::devices(KindNumber kind, const Placement& p) {
  return costed(kind, catalog_.alike(p.block)).table->strategies[p.strategy].sharding.points();
}

std::vector<DeviceBlock> Placements::blocks_of(int size) const {
  std::vector<DeviceBlock> blocks;
  if (size >= machine_) {
    for (int start = 0; start + size <= devices_; start += size) blocks.push_back({start, size});
    return blocks;
  }
  for (int first = 0; first + machine_ <= devices_; first += machine_) {
    for (int start = 0; start + size <= machine_; start += size) blocks.push_back({first + start, size});
    if (machine_ % size != 0) blocks.push_back({first + machine_ - size, size});
  }
  return blocks;
}

const std::vector<std::vector<DeviceBlock>>& Placements::blocks(KindNumber kind) {
  const auto [at, is_new] = blocks_.try_emplace(kind);
  if (!is_new) return at->second;
  at->second.push_back({{0, devices_}});
  for (int size = devices_ - 1; size >= 1; --size)
    if ((size < machine_ || (size % machine_ == 0 && devices_ % size == 0)) && catalog_.can_use(kind, size))
      at->second.push_back(blocks_of(size));
  return at->second;
}

Placement Placements::any(KindNumber kind, base::Random& random) {
  const std::vector<std::vector<DeviceBlock>>& by_size = blocks(kind);
  const bool is_small = by_size.size() > 1 && random.below(2) == 1;
  const std::vector<DeviceBlock>& of_size = by_size[is_small ? 1 + random.below(by_size.size() - 1) : 0];
  const DeviceBlock block = of_size[random.below(of_size.size())];
  return {block, static_cast<std::uint32_t>(random.below(costed(kind, catalog_.alike(block)).table->strategies.size()))};
}

// The larger block goes into the first machines, and the other one to where it begins or, where they have no device in common, to the
// last machines. Both stay where they are in their machines.
std::pair<DeviceBlock, DeviceBlock> Placements::standing_for(DeviceBlock a, DeviceBlock b) const {
  if (!catalog_.machines_are_alike()) return {a, b};
  if (a.size < b.size) {
    const auto [second, first] = standing_for(b, a);
    return {first, second};
  }
  const DeviceBlock first = catalog_.alike(a);
  DeviceBlock second = catalog_.alike(b);
  const bool is_apart = a.start >= b.start + b.size || b.start >= a.start + a.size;
  if (is_apart && a.start / machine_ != b.start / machine_) second.start += devices_ - (b.size + machine_ - 1) / machine_ * machine_;
  return {first, second};
}

Placements::Movement Placements::movement(const EdgeKind& edge, const Placement& from, const Placement& to) {
  const auto [a, b] = standing_for(from.block, to.block);
  const Costed &first = costed(edge.from, a), &second = costed(edge.to, b);
  const std::uint64_t key = (static_cast<std::uint64_t>(first.first + from.strategy) << 32U) | (second.first + to.strategy);
  const auto [at, is_new] = movements_[edge].try_emplace(key);
  return {&first.table->layouts[from.strategy], &second.table->layouts[to.strategy], &at->second, is_new};
}

const KnownMovement& Placements::between(const EdgeKind& edge, const Placement& from, const Placement& to) {
  const Movement m = movement(edge, from, to);
  if (m.is_new) m.known->times = times_of(edge, [&](const EdgeKind& e) { return catalog_.movement_at_least(e, *m.from, *m.to); });
  return *m.known;
}

const KnownMovement& Placements::resolve(const EdgeKind& edge, const Placement& from, const Placement& to) {
  const Movement m = movement(edge, from, to);
  if (m.known->is_exact) return *m.known;
  const MovementTimes exact = times_of(edge, [&](const EdgeKind& e) { return catalog_.movement(e, *m.from, *m.to); });
  MovementTimes& times = m.known->times;
  times = {std::max(times.forward, exact.forward), std::max(times.backward, exact.backward)};
  m.known->is_exact = true;
  ++found_out_;
  return *m.known;
}

constexpr double kSecondsPerByte = 1e-9;  // 1 ms a megabyte, as FlexFlow's simulator has it

OperatorGraph operator_graph(const pcg::Graph& graph, const std::vector<KindNumber>& kinds, const OperatorCatalog& catalog) {
  OperatorGraph g;
  std::map<std::uint32_t, std::uint32_t> number;  // by node
  for (std::uint32_t n = 0; n < kinds.size(); ++n) {
    if (kinds[n] == kSource) continue;
    number[n] = static_cast<std::uint32_t>(g.nodes.size());
    g.nodes.push_back(n);
    g.kinds.push_back(kinds[n]);
    for (std::uint32_t i = 0; i < graph.nodes()[n].inputs.size(); ++i) {
      const auto edge = catalog.edge_at(graph, kinds, n, i);
      if (!edge) continue;
      g.edges.push_back({number.at(graph.nodes()[n].inputs[i].node.value), number.at(n)});
      g.edge_kinds.push_back(*edge);
    }
  }
  return g;
}

Walk::Walk(const OperatorGraph& graph, Placements& placements, int devices, Budget& budget)
    : graph_(graph),
      placements_(placements),
      budget_(budget),
      devices_(devices),
      schedule_(devices, graph.nodes.size(), graph.edges),
      edges_of_(graph.nodes.size()),
      operators_(graph.nodes.size()),
      movements_(graph.edges.size()),
      bytes_(graph.nodes.size(), 0),
      is_exact_(graph.edges.size(), false) {
  for (std::uint32_t e = 0; e < graph.edges.size(); ++e) {
    edges_of_[graph.edges[e].from].push_back(e);
    if (graph.edges[e].to != graph.edges[e].from) edges_of_[graph.edges[e].to].push_back(e);
  }
}

void Walk::put(std::uint32_t who, const Placement& where) {
  now_.at[who] = where;
  const StrategyCost& cost = placements_.cost(graph_.kinds[who], where);
  const int devices = placements_.devices(graph_.kinds[who], where);
  operators_[who] = {where.block.start,    devices,    cost.forward, cost.kernels + cost.inside - cost.forward,
                     cost.synchronisation, cost.update};
  bytes_[who] = cost.state_bytes[0] + cost.kept_bytes;
  for (const std::uint32_t e : edges_of_[who]) {
    const KnownMovement& known = placements_.between(graph_.edge_kinds[e], now_.at[graph_.edges[e].from], now_.at[graph_.edges[e].to]);
    movements_[e] = known.times;
    is_exact_[e] = known.is_exact;
  }
}

// `most_bytes` of the position is set as well.
double Walk::seconds() {
  now_.most_bytes = schedule_.most_on_a_device(operators_, bytes_);
  return schedule_.seconds(operators_, movements_) + kSecondsPerByte * std::max(0.0, now_.most_bytes - room_);
}

void Walk::start_at(const Position& p) {
  now_ = p;
  for (std::uint32_t o = 0; o < p.at.size(); ++o) put(o, p.at[o]);
  for (std::uint32_t e = 0; e < movements_.size(); ++e) {
    movements_[e] = placements_.resolve(graph_.edge_kinds[e], now_.at[graph_.edges[e].from], now_.at[graph_.edges[e].to]).times;
    is_exact_[e] = true;
  }
  now_.seconds = seconds();
}

Position Walk::position(std::vector<Placement> at) {
  start_at({std::move(at)});
  return now_;
}

// As many proposals move one operator as two that an edge joins.
void Walk::propose(base::Random& random) {
  const auto who = static_cast<std::uint32_t>(random.below(graph_.nodes.size()));
  std::vector<std::uint32_t> all{who};
  if (random.below(2) == 1 && !edges_of_[who].empty()) {
    const Schedule::Edge edge = graph_.edges[edges_of_[who][random.below(edges_of_[who].size())]];
    if (edge.from != edge.to) all.push_back(edge.from == who ? edge.to : edge.from);
  }
  moved_.clear();
  for (const std::uint32_t o : all) {
    const Placement to = placements_.any(graph_.kinds[o], random);
    if (to == now_.at[o]) continue;
    moved_.emplace_back(o, now_.at[o]);
    put(o, to);
  }
}

// Each movement that is found out makes the schedule longer, if it changes it, so that the others may not have to be.
bool Walk::is_accepted(double limit) {
  double now = seconds();
  for (const auto& [who, before] : moved_)
    for (const std::uint32_t e : edges_of_[who]) {
      if (now > limit) return false;
      if (is_exact_[e]) continue;
      movements_[e] = placements_.resolve(graph_.edge_kinds[e], now_.at[graph_.edges[e].from], now_.at[graph_.edges[e].to]).times;
      is_exact_[e] = true;
      now = seconds();
    }
  if (now > limit) return false;
  now_.seconds = now;
  return true;
}

Position Walk::run(const Position& start, std::size_t proposals, double share, double alpha, base::Random& random) {
  start_at(start);
  Position best = now_;
  const double gone = budget_.gone();
  for (std::size_t i = 0; i < proposals && budget_.take(); ++i) {
    const double progress = std::max(static_cast<double>(i) / static_cast<double>(proposals), (budget_.gone() - gone) / share);
    if (progress > 1) break;
    ++proposals_;
    budget_.spend(sim::kWalkStep * static_cast<double>(graph_.nodes.size()) * devices_);
    const double bytes = now_.most_bytes;
    propose(random);
    // Drawn in any case, so that what is found out does not decide what comes next.
    const double longer = -std::log(1 - random.uniform()) / (std::pow(alpha, progress) * static_cast<double>(graph_.nodes.size()));
    if (moved_.empty()) continue;
    if (is_accepted(now_.seconds * (1 + longer))) {
      ++accepted_;
      if (now_.seconds < best.seconds) best = now_;
    } else {
      for (const auto& [who, before] : moved_) put(who, before);
      now_.most_bytes = bytes;
    }
  }
  return best;
}

}  // namespace search
