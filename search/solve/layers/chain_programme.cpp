#include "search/solve/layers/chain_programme.hpp"

#include <algorithm>

namespace search {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr double kUsual = 1000;  // of an objective and of a full memory: solvers' tolerances are absolute, 1e-5 to 1e-7

}  // namespace

ChainProgramme::ChainProgramme(const LayerChain& chain, double about)
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
bool ChainProgramme::can_be(std::size_t layer, std::size_t stage) const {
  const std::size_t layers = chain_.kinds.size(), stages = chain_.stages();
  return stage <= layer && stages - stage <= layers - layer && (layer > 0 || stage == 0) && (layer + 1 < layers || stage + 1 == stages);
}

void ChainProgramme::add_choices() {
  for (std::size_t layer = 0; layer < places_.size(); ++layer) {
    ProgrammeRow one{.terms = {}, .least = 1, .most = 1};
    for (std::size_t stage = 0; stage < chain_.stages(); ++stage) {
      std::vector<std::size_t>& chosen = places_[layer][stage].chosen;
      chosen.assign(strategies_, kNone);
      if (!can_be(layer, stage)) continue;
      const LayerCost& own = cost(layer, stage);
      for (std::size_t s = 0; s < strategies_; ++s) {
        if (own.seconds[s] == kImpossible || own.bytes[s] > chain_.memory) continue;
        chosen[s] = programme_.add({.cost = own.seconds[s] * scale_, .is_whole = true, .most = 1});
        one.terms.push_back({chosen[s]});
      }
    }
    programme_.rows.push_back(std::move(one));
  }
}

ChainProgramme::Pairs ChainProgramme::flows(const std::vector<std::size_t>& from, const std::vector<std::size_t>& to,
                                            const StrategyPairs& seconds) {
  Pairs pairs(strategies_, std::vector<std::size_t>(strategies_, kNone));
  for (std::size_t a = 0; a < strategies_; ++a)
    for (std::size_t b = 0; b < strategies_; ++b)
      if (from[a] != kNone && to[b] != kNone && seconds[a][b] < kImpossible)
        pairs[a][b] = programme_.add({.cost = seconds[a][b] * scale_, .most = 1});
  return pairs;
}

void ChainProgramme::add_flows() {
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
void ChainProgramme::keep_flow(std::size_t layer, std::size_t stage) {
  const auto keep = [&](std::size_t chosen, const auto& add_flows_of) {
    if (chosen == kNone) return;
    ProgrammeRow row{.terms = {{chosen, -1}}, .least = 0, .most = 0};
    add_flows_of(row);
    programme_.rows.push_back(std::move(row));
  };
  const auto add = [](ProgrammeRow& row, std::size_t flow) {
    if (flow != kNone) row.terms.push_back({flow});
  };
  const std::vector<Place>& here = places_[layer];
  for (std::size_t s = 0; s < strategies_; ++s) {
    keep(places_[layer - 1][stage].chosen[s], [&](ProgrammeRow& row) {
      for (std::size_t b = 0; b < strategies_; ++b) {
        add(row, here[stage].same[s][b]);
        if (stage + 1 < chain_.stages()) add(row, here[stage + 1].over[s][b]);
      }
    });
    keep(here[stage].chosen[s], [&](ProgrammeRow& row) {
      for (std::size_t a = 0; a < strategies_; ++a) {
        add(row, here[stage].same[a][s]);
        if (stage > 0) add(row, here[stage].over[a][s]);
      }
    });
  }
}

// A tensor is read on a stage in a strategy where some reader is there, unless the layer next to its maker has brought it; what is read
// came from the maker's place.
void ChainProgramme::add_long_edge(std::size_t edge) {
  const LongEdge& e = chain_.long_edges[edge];
  for (std::size_t to = 0; to < chain_.stages(); ++to)
    for (std::uint32_t read = 0; read < strategies_; ++read) {
      const std::size_t reading = programme_.add({.most = 1});
      readings_.emplace(LongArrival{.edge = edge, .to = to, .read = read}, reading);
      const std::size_t next = e.next_reads ? places_[e.from + 1][to].chosen[read] : kNone;
      for (const std::size_t reader : e.readers) {
        const std::size_t own = places_[reader][to].chosen[read];
        if (own == kNone) continue;
        programme_.rows.push_back({.terms = {{reading}, {own, -1}}, .least = 0});
        if (next != kNone) programme_.rows.back().terms.push_back({next});
      }
      ProgrammeRow arrives{.terms = {{reading, -1}}, .least = 0, .most = 0};
      for (std::size_t from = 0; from <= to; ++from)
        for (std::uint32_t made = 0; made < strategies_; ++made) {
          const LongArrival a{edge, from, made, to, read};
          const std::size_t maker = places_[e.from][from].chosen[made];
          if (maker == kNone || seconds_of(chain_, a) == kImpossible) continue;
          const std::size_t column = programme_.add({.cost = seconds_of(chain_, a) * scale_, .most = 1});
          arrivals_.emplace(a, column);
          arrives.terms.push_back({column});
          programme_.rows.push_back({.terms = {{maker}, {column, -1}}, .least = 0});
        }
      programme_.rows.push_back(std::move(arrives));
    }
}

// The slowest is no quicker than any stage or boundary; nor than any layer, which follows, but not where a solver shares out a layer
// among stages.
void ChainProgramme::add_slowest() {
  if (chain_.micro_batches == 1) return;
  slowest_ = programme_.add({.cost = static_cast<double>(chain_.micro_batches - 1)});
  const auto count = [&](ProgrammeRow& row, std::size_t column) {
    if (column != kNone && programme_.columns[column].cost != 0) row.terms.push_back({column, -programme_.columns[column].cost});
  };
  const auto count_pairs = [&](ProgrammeRow& row, const Pairs& pairs) {
    for (const std::vector<std::size_t>& from : pairs)
      for (const std::size_t column : from) count(row, column);
  };
  const ProgrammeRow none{.terms = {{slowest_}}, .least = 0};
  for (std::size_t stage = 0; stage < chain_.stages(); ++stage) {
    ProgrammeRow own = none, over = none;
    for (const std::vector<Place>& layer : places_) {
      for (const std::size_t column : layer[stage].chosen) count(own, column);
      count_pairs(own, layer[stage].same);
      count_pairs(over, layer[stage].over);
    }
    for (const auto& [arrival, column] : arrivals_) {
      if (arrival.from == stage && arrival.to == stage) count(own, column);
      if (arrival.from + 1 == stage && arrival.to > arrival.from) count(over, column);
    }
    programme_.rows.push_back(std::move(own));
    if (stage > 0) programme_.rows.push_back(std::move(over));
  }
  if (chain_.stages() == 1) return;
  for (const std::vector<Place>& layer : places_) {
    ProgrammeRow row = none;
    for (const Place& place : layer)
      for (const std::size_t column : place.chosen) count(row, column);
    programme_.rows.push_back(std::move(row));
  }
}

void ChainProgramme::add_memory() {
  if (chain_.memory == kImpossible || chain_.memory <= 0) return;
  for (std::size_t stage = 0; stage < chain_.stages(); ++stage) {
    ProgrammeRow row{.terms = {}, .most = kUsual};
    for (std::size_t layer = 0; layer < places_.size(); ++layer)
      for (std::size_t s = 0; s < strategies_; ++s)
        if (const std::size_t column = places_[layer][stage].chosen[s]; column != kNone)
          row.terms.push_back({column, cost(layer, stage).bytes[s] / chain_.memory * kUsual});
    programme_.rows.push_back(std::move(row));
  }
}

std::vector<double> ChainProgramme::values(const ChainAnswer& answer) const {
  std::vector<double> values(programme_.columns.size(), 0.0);
  std::vector<double> stages(chain_.stages(), 0.0), boundaries(chain_.stages(), 0.0);
  std::size_t stage = 0;
  for (std::size_t layer = 0; layer < places_.size(); ++layer) {
    const bool is_over = stage + 1 < chain_.stages() && answer.begins[stage + 1] == layer;
    stage += is_over ? 1 : 0;
    const Place& place = places_[layer][stage];
    const std::uint32_t own = answer.strategies[layer];
    const auto take = [&](std::size_t column, double& sum) {
      values[column] = 1;
      sum += programme_.columns[column].cost;
    };
    take(place.chosen[own], stages[stage]);
    if (is_over) take(place.over[answer.strategies[layer - 1]][own], boundaries[stage]);
    else if (layer > 0) take(place.same[answer.strategies[layer - 1]][own], stages[stage]);
  }
  for (const LongArrival& a : long_arrivals(chain_, answer)) {
    values[readings_.at({.edge = a.edge, .to = a.to, .read = a.read})] = 1;
    const std::size_t column = arrivals_.at(a);
    values[column] = 1;
    if (a.from == a.to) stages[a.from] += programme_.columns[column].cost;
    else boundaries[a.from + 1] += programme_.columns[column].cost;
  }
  if (slowest_ != kNone) values[slowest_] = std::max(std::ranges::max(stages), std::ranges::max(boundaries));
  return values;
}

ChainAnswer ChainProgramme::answer(const std::vector<double>& values) const {
  ChainAnswer a;
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

}  // namespace search
