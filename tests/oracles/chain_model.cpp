#include "tests/oracles/chain_model.hpp"

#include <algorithm>

namespace oracles {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

constexpr double kUsual = 1000;  // of an objective and of a full memory: solvers' tolerances are absolute, 1e-5 to 1e-7

constexpr double kSameSeconds = 1e-7;   // a share: solvers distinguish no more
constexpr double kRoundedBytes = 1e-6;  // a share of the memory that a solution may lack, as a solver's numbers are not exact

}  // namespace

ChainModel::ChainModel(const search::LayerChain& chain, double about)
    : chain_(chain),
      scale_(about > chain.once ? kUsual / (about - chain.once) : 1),
      strategies_(static_cast<std::uint32_t>(chain.tables[0][0].seconds.size())),
      places_(chain.kinds.size(), std::vector<Place>(chain.stages())) {
  add_choices();
  add_flows();
  for (std::size_t e = 0; e < chain.long_edges.size(); ++e) add_long_edge(e);
  add_slowest();
  add_memory();
}

// Every stage has a layer.
bool ChainModel::can_be(std::size_t layer, std::size_t stage) const {
  const std::size_t layers = chain_.kinds.size(), stages = chain_.stages();
  return stage <= layer && stages - stage <= layers - layer && (layer > 0 || stage == 0) && (layer + 1 < layers || stage + 1 == stages);
}

void ChainModel::add_choices() {
  for (std::size_t layer = 0; layer < places_.size(); ++layer) {
    MilpRow one{.terms = {}, .least = 1, .most = 1};
    for (std::size_t stage = 0; stage < chain_.stages(); ++stage) {
      std::vector<std::size_t>& chosen = places_[layer][stage].chosen;
      chosen.assign(strategies_, kNone);
      if (!can_be(layer, stage)) continue;
      const search::LayerCost& own = cost(layer, stage);
      for (std::size_t s = 0; s < strategies_; ++s) {
        if (own.seconds[s] == kImpossible || own.bytes[s] > chain_.memory) continue;
        chosen[s] = model_.add({.cost = own.seconds[s] * scale_, .is_whole = true, .most = 1});
        one.terms.push_back({chosen[s]});
      }
    }
    model_.rows.push_back(std::move(one));
  }
}

ChainModel::Pairs ChainModel::flows(const std::vector<std::size_t>& from, const std::vector<std::size_t>& to,
                                    const search::StrategyPairs& seconds) {
  Pairs pairs(strategies_, std::vector<std::size_t>(strategies_, kNone));
  for (std::size_t a = 0; a < strategies_; ++a)
    for (std::size_t b = 0; b < strategies_; ++b)
      if (from[a] != kNone && to[b] != kNone && seconds[a][b] < kImpossible)
        pairs[a][b] = model_.add({.cost = seconds[a][b] * scale_, .most = 1});
  return pairs;
}

void ChainModel::add_flows() {
  for (std::size_t layer = 1; layer < places_.size(); ++layer) {
    for (std::size_t stage = 0; stage < chain_.stages(); ++stage) {
      Place& own = places_[layer][stage];
      own.same = flows(places_[layer - 1][stage].chosen, own.chosen, cost(layer, stage).from_before);
      if (stage > 0) own.over = flows(places_[layer - 1][stage - 1].chosen, own.chosen, chain_.transfers[stage - 1][chain_.kinds[layer]]);
    }
    for (std::size_t stage = 0; stage < chain_.stages(); ++stage) keep_flow(layer, stage);
  }
}

// What leaves the layer before, chosen there, goes to this layer on the same stage or the next, and nothing else arrives here.
void ChainModel::keep_flow(std::size_t layer, std::size_t stage) {
  const auto keep = [&](std::size_t chosen, const auto& add_flows_of) {
    if (chosen == kNone) return;
    MilpRow row{.terms = {{chosen, -1}}, .least = 0, .most = 0};
    add_flows_of(row);
    model_.rows.push_back(std::move(row));
  };
  const auto add = [](MilpRow& row, std::size_t flow) {
    if (flow != kNone) row.terms.push_back({flow});
  };
  const std::vector<Place>& here = places_[layer];
  for (std::size_t s = 0; s < strategies_; ++s) {
    keep(places_[layer - 1][stage].chosen[s], [&](MilpRow& row) {
      for (std::size_t b = 0; b < strategies_; ++b) {
        add(row, here[stage].same[s][b]);
        if (stage + 1 < chain_.stages()) add(row, here[stage + 1].over[s][b]);
      }
    });
    keep(here[stage].chosen[s], [&](MilpRow& row) {
      for (std::size_t a = 0; a < strategies_; ++a) {
        add(row, here[stage].same[a][s]);
        if (stage > 0) add(row, here[stage].over[a][s]);
      }
    });
  }
}

// A tensor is read on a stage in a strategy where some reader is there, unless the layer next to its maker has brought it; what is read
// came from the maker's place.
void ChainModel::add_long_edge(std::size_t edge) {
  const search::LongEdge& e = chain_.long_edges[edge];
  for (std::size_t to = 0; to < chain_.stages(); ++to)
    for (std::uint32_t read = 0; read < strategies_; ++read) {
      const std::size_t reading = model_.add({.most = 1});
      readings_.emplace(search::LongArrival{.edge = edge, .to = to, .read = read}, reading);
      const std::size_t next = e.next_reads ? places_[e.from + 1][to].chosen[read] : kNone;
      for (const std::size_t reader : e.readers) {
        const std::size_t own = places_[reader][to].chosen[read];
        if (own == kNone) continue;
        model_.rows.push_back({.terms = {{reading}, {own, -1}}, .least = 0});
        if (next != kNone) model_.rows.back().terms.push_back({next});
      }
      MilpRow arrives{.terms = {{reading, -1}}, .least = 0, .most = 0};
      for (std::size_t from = 0; from <= to; ++from)
        for (std::uint32_t made = 0; made < strategies_; ++made) {
          const search::LongArrival a{edge, from, made, to, read};
          const std::size_t maker = places_[e.from][from].chosen[made];
          if (maker == kNone || seconds_of(chain_, a) == kImpossible) continue;
          const std::size_t column = model_.add({.cost = seconds_of(chain_, a) * scale_, .most = 1});
          arrivals_.emplace(a, column);
          arrives.terms.push_back({column});
          model_.rows.push_back({.terms = {{maker}, {column, -1}}, .least = 0});
        }
      model_.rows.push_back(std::move(arrives));
    }
}

// The slowest is no quicker than any stage or boundary; nor than any layer, which follows, but not where a solver shares out a layer
// among stages.
void ChainModel::add_slowest() {
  if (chain_.micro_batches == 1) return;
  slowest_ = model_.add({.cost = static_cast<double>(chain_.micro_batches - 1)});
  const auto count = [&](MilpRow& row, std::size_t column) {
    if (column != kNone && model_.columns[column].cost != 0) row.terms.push_back({column, -model_.columns[column].cost});
  };
  const auto count_pairs = [&](MilpRow& row, const Pairs& pairs) {
    for (const std::vector<std::size_t>& from : pairs)
      for (const std::size_t column : from) count(row, column);
  };
  const MilpRow none{.terms = {{slowest_}}, .least = 0};
  for (std::size_t stage = 0; stage < chain_.stages(); ++stage) {
    MilpRow own = none, over = none;
    for (const std::vector<Place>& layer : places_) {
      for (const std::size_t column : layer[stage].chosen) count(own, column);
      count_pairs(own, layer[stage].same);
      count_pairs(over, layer[stage].over);
    }
    for (const auto& [arrival, column] : arrivals_) {
      if (arrival.from == stage && arrival.to == stage) count(own, column);
      if (arrival.from + 1 == stage && arrival.to > arrival.from) count(over, column);
    }
    model_.rows.push_back(std::move(own));
    if (stage > 0) model_.rows.push_back(std::move(over));
  }
  if (chain_.stages() == 1) return;
  for (const std::vector<Place>& layer : places_) {
    MilpRow row = none;
    for (const Place& place : layer)
      for (const std::size_t column : place.chosen) count(row, column);
    model_.rows.push_back(std::move(row));
  }
}

void ChainModel::add_memory() {
  if (chain_.memory == kImpossible || chain_.memory <= 0) return;
  for (std::size_t stage = 0; stage < chain_.stages(); ++stage) {
    MilpRow row{.terms = {}, .most = kUsual};
    for (std::size_t layer = 0; layer < places_.size(); ++layer)
      for (std::size_t s = 0; s < strategies_; ++s)
        if (const std::size_t column = places_[layer][stage].chosen[s]; column != kNone)
          row.terms.push_back({column, cost(layer, stage).bytes[s] / chain_.memory * kUsual});
    model_.rows.push_back(std::move(row));
  }
}

std::vector<double> ChainModel::values(const search::ChainAnswer& answer) const {
  std::vector<double> values(model_.columns.size(), 0.0);
  std::vector<double> stages(chain_.stages(), 0.0), boundaries(chain_.stages(), 0.0);
  std::size_t stage = 0;
  for (std::size_t layer = 0; layer < places_.size(); ++layer) {
    const bool is_over = stage + 1 < chain_.stages() && answer.begins[stage + 1] == layer;
    stage += is_over ? 1 : 0;
    const Place& place = places_[layer][stage];
    const std::uint32_t own = answer.strategies[layer];
    const auto take = [&](std::size_t column, double& sum) {
      values[column] = 1;
      sum += model_.columns[column].cost;
    };
    take(place.chosen[own], stages[stage]);
    if (is_over) take(place.over[answer.strategies[layer - 1]][own], boundaries[stage]);
    else if (layer > 0) take(place.same[answer.strategies[layer - 1]][own], stages[stage]);
  }
  for (const search::LongArrival& a : long_arrivals(chain_, answer)) {
    values[readings_.at({.edge = a.edge, .to = a.to, .read = a.read})] = 1;
    const std::size_t column = arrivals_.at(a);
    values[column] = 1;
    if (a.from == a.to) stages[a.from] += model_.columns[column].cost;
    else boundaries[a.from + 1] += model_.columns[column].cost;
  }
  if (slowest_ != kNone) values[slowest_] = std::max(std::ranges::max(stages), std::ranges::max(boundaries));
  return values;
}

search::ChainAnswer ChainModel::answer(const std::vector<double>& values) const {
  search::ChainAnswer a;
  for (std::size_t layer = 0; layer < places_.size(); ++layer)
    for (std::size_t stage = 0; stage < chain_.stages(); ++stage)
      for (std::uint32_t s = 0; s < strategies_; ++s) {
        const std::size_t column = places_[layer][stage].chosen[s];
        if (column == kNone || values[column] < 0.5) continue;
        if (a.begins.size() == stage) a.begins.push_back(layer);
        a.strategies.push_back(s);
      }
  a.seconds = chain_seconds(chain_, a);
  return a;
}

MilpChain cheapest_chain_by_milp(const search::LayerChain& chain, double to_beat, const std::optional<search::ChainAnswer>& start,
                                 const MilpLimits& given) {
  if (chain.stages() > chain.kinds.size()) return {.answer = {}, .bound = kImpossible, .is_proved = true};
  const bool has_start = start && start->seconds < to_beat;
  const double least = chain_at_least(chain), about = has_start ? start->seconds : to_beat < kImpossible ? to_beat : 2 * least;
  MilpChain best{.answer = has_start ? start : std::nullopt, .bound = least, .is_proved = false};
  if (least >= to_beat) return {.answer = {}, .bound = kImpossible, .is_proved = true};
  const ChainModel model(chain, about);
  MilpLimits limits = given;
  if (to_beat < kImpossible) limits.cutoff = model.objective(to_beat);
  const MilpAnswer found = solve_by_cbc(model.model(), has_start ? model.values(*start) : std::vector<double>(), limits);
  if (found.status == MilpStatus::infeasible) return {.answer = {}, .bound = kImpossible, .is_proved = true};
  if (found.values.empty()) {
    best.bound = std::max(best.bound, model.seconds(found.bound));
    return best;
  }
  const search::ChainAnswer decoded = model.answer(found.values);
  const double claimed = model.seconds(objective_of(model.model(), found.values));
  best.bound = std::max(best.bound, found.status == MilpStatus::optimal ? claimed : model.seconds(found.bound));
  if (decoded.seconds < to_beat && (!best.answer || decoded.seconds < best.answer->seconds)) best.answer = decoded;
  if (decoded.seconds == kImpossible) {
    // The solver's solution needs a little more than there is: its like in a little less memory.
    search::LayerChain smaller = chain;
    smaller.memory *= 1 - kRoundedBytes;
    const MilpChain fitting = cheapest_chain_by_milp(smaller, to_beat, best.answer, given);
    best.answer = fitting.answer;
  }
  best.is_proved = found.status == MilpStatus::optimal && best.answer && best.answer->seconds <= best.bound * (1 + kSameSeconds);
  if (best.answer) best.bound = std::min(best.bound, best.answer->seconds);
  return best;
}

std::optional<search::ChainAnswer> uniform_chain(const search::LayerChain& chain) {
  const std::size_t stages = chain.stages(), layers = chain.kinds.size();
  if (stages > layers) return std::nullopt;
  std::optional<search::ChainAnswer> best;
  for (std::uint32_t s = 0; s < chain.tables[0][0].seconds.size(); ++s) {
    search::ChainAnswer a{{}, std::vector<std::uint32_t>(layers, s), 0};
    for (std::size_t stage = 0; stage < stages; ++stage) a.begins.push_back(stage * layers / stages);
    a.seconds = chain_seconds(chain, a);
    if (a.seconds < kImpossible && (!best || a.seconds < best->seconds)) best = std::move(a);
  }
  return best;
}

}  // namespace oracles
