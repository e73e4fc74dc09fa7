#include "search/solve/layers/layer_chain.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/effort.hpp"

namespace search {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

// Seconds of a stage, in any run of layers that it may have, by the strategies at its ends.
class StageRuns {
 public:
  StageRuns(const LayerChain& chain, double most_seconds, const Budget& budget)
      : chain_(chain), budget_(budget), layers_(chain.kinds.size()), most_seconds_(most_seconds) {
    strategies_ = static_cast<std::uint32_t>(chain.tables[0][0].seconds.size());
    const std::size_t stages = chain.stages(), longest = layers_ - stages + 1;
    const std::vector<double> any(strategies_, 0.0);
    first_.emplace(chain, table(0), 0, MemoryFronts::Direction::forwards, longest, any, most_seconds, budget);
    if (stages > 1)
      last_.emplace(chain, table(stages - 1), layers_ - 1, MemoryFronts::Direction::backwards, longest, any, most_seconds, budget);
    for (std::size_t begin = 0; begin < layers_; ++begin) duplicates_.push_back(duplicate_of(begin));
  }

  [[nodiscard]] std::uint32_t strategies() const { return strategies_; }
  // The first stage, by its last strategy; the last one of several, by its first; and a stage between, by its last.
  [[nodiscard]] const MemoryFronts& first() const { return *first_; }
  [[nodiscard]] const MemoryFronts& last() const { return *last_; }
  const MemoryFronts& between(std::size_t stage, std::size_t begin, std::uint32_t first) {
    const std::size_t duplicate = duplicates_[begin];
    const std::tuple key(chain_.table_of_stage[stage], duplicate, first);
    const auto at = between_.find(key);
    if (at != between_.end()) return at->second;
    std::vector<double> arrival(strategies_, kNoTime);
    arrival[first] = 0;
    return between_
        .try_emplace(key, chain_, table(stage), duplicate, MemoryFronts::Direction::forwards, layers_ - 1 - duplicate, arrival,
                     most_seconds_, budget_)
        .first->second;
  }

 private:
  [[nodiscard]] const std::vector<LayerCost>& table(std::size_t stage) const { return chain_.tables[chain_.table_of_stage[stage]]; }

  // The first layer from which the same kinds follow as from this one, up to the last layer but one: stages between do not take the last.
  [[nodiscard]] std::size_t duplicate_of(std::size_t begin) const {
    const auto follows = [&](std::size_t other) {
      return std::equal(chain_.kinds.begin() + static_cast<std::ptrdiff_t>(begin), chain_.kinds.end() - 1,
                        chain_.kinds.begin() + static_cast<std::ptrdiff_t>(other));
    };
    std::size_t duplicate = 0;
    while (duplicate < begin && !follows(duplicate)) ++duplicate;
    return duplicate;
  }

  const LayerChain& chain_;
  const Budget& budget_;
  std::size_t layers_;
  double most_seconds_;
  std::uint32_t strategies_ = 0;
  std::optional<MemoryFronts> first_, last_;
  std::vector<std::size_t> duplicates_;                                                  // per layer
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, MemoryFronts> between_;  // by table, first layer and its strategy
};

// The cheapest stages up to the first layer of one, or to its end.
struct StageStep {
  double sum = kNoTime, slowest = 0;
  std::size_t begin = 0;                // of the stage
  std::uint32_t first = 0, before = 0;  // strategies of its first layer, and of the layer before
};

// Stages by dynamic programming over where they end.
class LayerShares {
 public:
  LayerShares(const LayerChain& chain, StageRuns& runs, const Budget& budget)
      : chain_(chain), budget_(budget), layers_(chain.kinds.size()), runs_(runs), states_((layers_ + 1) * runs_.strategies()) {}

  // The least sum of stages and boundaries of which each takes less than the limit. Returns: the steps to the stages but the first, from
  // the last one, the first of which is to its end; where there is one stage, the step to its end as if another one began there.
  [[nodiscard]] std::optional<std::vector<StageStep>> below(double limit) {
    const std::size_t stages = chain_.stages();
    std::vector<std::vector<StageStep>> all{std::vector<StageStep>(states_)};
    for (std::size_t end = 1; end + stages <= layers_ + 1; ++end)
      for (std::uint32_t last = 0; last < runs_.strategies(); ++last)
        if (const double seconds = runs_.first().seconds(end, last); seconds < limit)
          all[0][state(end, last)] = {seconds, seconds, 0, 0, 0};
    StageStep best;
    if (stages == 1) {
      for (std::uint32_t last = 0; last < runs_.strategies(); ++last)
        if (const StageStep& step = all[0][state(layers_, last)]; step.sum < best.sum) best = {step.sum, step.slowest, layers_, 0, last};
      return best.sum == kNoTime ? std::nullopt : std::optional(std::vector{best});
    }
    for (std::size_t stage = 1; stage + 1 < stages; ++stage) {
      all.push_back(ended(crossed(all.back(), stage - 1, limit), stage, limit));
      if (budget_.time_is_up()) return std::nullopt;
    }
    const std::vector<StageStep> begun = crossed(all.back(), stages - 2, limit);
    for (std::size_t begin = stages - 1; begin < layers_; ++begin)
      for (std::uint32_t first = 0; first < runs_.strategies(); ++first) {
        const StageStep& from = begun[state(begin, first)];
        const double seconds = from.sum == kNoTime ? kNoTime : runs_.last().seconds(layers_ - begin, first);
        if (seconds < limit && from.sum + seconds < best.sum)
          best = {from.sum + seconds, std::max(from.slowest, seconds), begin, first, from.before};
      }
    if (best.sum == kNoTime) return std::nullopt;
    std::vector<StageStep> steps{best};
    for (std::size_t stage = stages - 2; stage > 0; --stage) steps.push_back(all[stage][state(steps.back().begin, steps.back().before)]);
    return steps;
  }

 private:
  [[nodiscard]] std::size_t state(std::size_t end, std::uint32_t last) const { return end * runs_.strategies() + last; }

  // Stages after a boundary begin with a layer in some strategy, for the least sum up to there.
  [[nodiscard]] std::vector<StageStep> crossed(const std::vector<StageStep>& ended, std::size_t boundary, double limit) const {
    std::vector<StageStep> begun(states_);
    for (std::size_t begin = boundary + 1; begin < layers_; ++begin) {
      const StrategyPairs& over = chain_.transfers[boundary][chain_.kinds[begin]];
      budget_.spend(sim::kStageTried * static_cast<double>(runs_.strategies() * runs_.strategies()));
      for (std::uint32_t before = 0; before < runs_.strategies(); ++before) {
        const StageStep& from = ended[state(begin, before)];
        if (from.sum == kNoTime) continue;
        for (std::uint32_t first = 0; first < runs_.strategies(); ++first) {
          const double seconds = over[before][first];
          StageStep& to = begun[state(begin, first)];
          if (seconds < limit && from.sum + seconds < to.sum)
            to = {from.sum + seconds, std::max(from.slowest, seconds), begin, first, before};
        }
      }
    }
    return begun;
  }

  [[nodiscard]] std::vector<StageStep> ended(const std::vector<StageStep>& begun, std::size_t stage, double limit) {
    std::vector<StageStep> steps(states_);
    const std::size_t stages_after = chain_.stages() - stage - 1;
    for (std::size_t begin = stage; begin < layers_; ++begin)
      for (std::uint32_t first = 0; first < runs_.strategies(); ++first) {
        const StageStep& from = begun[state(begin, first)];
        if (from.sum == kNoTime) continue;
        const MemoryFronts& runs = runs_.between(stage, begin, first);
        budget_.spend(sim::kStageTried * static_cast<double>((layers_ - stages_after - begin) * runs_.strategies()));
        for (std::size_t end = begin + 1; end + stages_after <= layers_; ++end)
          for (std::uint32_t last = 0; last < runs_.strategies(); ++last) {
            const double seconds = runs.seconds(end - begin, last);
            StageStep& to = steps[state(end, last)];
            if (seconds < limit && from.sum + seconds < to.sum)
              to = {from.sum + seconds, std::max(from.slowest, seconds), begin, first, from.before};
          }
      }
    return steps;
  }

  const LayerChain& chain_;
  const Budget& budget_;
  std::size_t layers_;
  StageRuns& runs_;
  std::size_t states_;
};

double seconds_of(const LayerChain& chain, double sum, double slowest) { return chain.once + sum + (chain.micro_batches - 1) * slowest; }

double quickest_layer(const LayerChain& chain, std::size_t kind) {
  double least = kNoTime;
  for (const std::vector<LayerCost>& table : chain.tables) least = std::min(least, std::ranges::min(table[kind].seconds));
  return least;
}

double least_sum(const LayerChain& chain) {
  double sum = 0;
  for (const std::size_t kind : chain.kinds) sum += quickest_layer(chain, kind);
  return sum;
}

double least_slowest(const LayerChain& chain) {
  double longest = least_sum(chain) / static_cast<double>(chain.stages());
  for (const std::size_t kind : chain.kinds) longest = std::max(longest, quickest_layer(chain, kind));
  return longest;
}

// `steps`: as LayerShares::below() gives them.
ChainAnswer answer_of(const LayerChain& chain, StageRuns& runs, const std::vector<StageStep>& steps) {
  ChainAnswer a{
      {0}, runs.first().strategies(steps.back().begin, steps.back().before), seconds_of(chain, steps.front().sum, steps.front().slowest)};
  const auto append = [&](const std::vector<std::uint32_t>& of_stage) {
    a.strategies.insert(a.strategies.end(), of_stage.begin(), of_stage.end());
  };
  for (std::size_t stage = 1; stage < chain.stages(); ++stage) {
    const StageStep& step = steps[steps.size() - stage];
    a.begins.push_back(step.begin);
    if (stage + 1 == chain.stages()) {
      append(runs.last().strategies(chain.kinds.size() - step.begin, step.first));
    } else {
      const StageStep& next = steps[steps.size() - stage - 1];
      append(runs.between(stage, step.begin, step.first).strategies(next.begin - step.begin, next.before));
    }
  }
  return a;
}

}  // namespace

std::vector<LongArrival> long_arrivals(const LayerChain& chain, const ChainAnswer& answer) {
  const auto stage_of = [&](std::size_t layer) {
    return static_cast<std::size_t>(std::ranges::upper_bound(answer.begins, layer) - answer.begins.begin()) - 1;
  };
  std::vector<LongArrival> arrivals;
  for (std::size_t e = 0; e < chain.long_edges.size(); ++e) {
    const LongEdge& edge = chain.long_edges[e];
    const auto arrival_at = [&](std::size_t layer) {
      return LongArrival{e, stage_of(edge.from), answer.strategies[edge.from], stage_of(layer), answer.strategies[layer]};
    };
    std::set<LongArrival> arrived;
    if (edge.next_reads) arrived.insert(arrival_at(edge.from + 1));
    for (const std::size_t reader : edge.readers)
      if (const LongArrival a = arrival_at(reader); arrived.insert(a).second) arrivals.push_back(a);
  }
  return arrivals;
}

double chain_seconds(const LayerChain& chain, const ChainAnswer& answer) {
  std::vector<double> own(chain.stages(), 0.0), over(chain.stages(), 0.0);  // by long edges; over the boundary after the stage
  for (const LongArrival& a : long_arrivals(chain, answer)) (a.from == a.to ? own : over)[a.from] += seconds_of(chain, a);
  double sum = 0, slowest = 0;
  const auto add = [&](double seconds) {
    sum += seconds;
    slowest = std::max(slowest, seconds);
  };
  for (std::size_t stage = 0; stage < chain.stages(); ++stage) {
    const std::vector<LayerCost>& table = chain.tables[chain.table_of_stage[stage]];
    const std::size_t begin = answer.begins[stage], end = stage + 1 < chain.stages() ? answer.begins[stage + 1] : chain.kinds.size();
    double seconds = own[stage], bytes = 0;
    for (std::size_t l = begin; l < end; ++l) {
      const LayerCost& cost = table[chain.kinds[l]];
      const std::uint32_t s = answer.strategies[l];
      seconds += cost.seconds[s] + (l > begin ? cost.from_before[answer.strategies[l - 1]][s] : 0);
      bytes += cost.bytes[s];
    }
    if (stage > 0)
      add(over[stage - 1] + chain.transfers[stage - 1][chain.kinds[begin]][answer.strategies[begin - 1]][answer.strategies[begin]]);
    if (bytes > chain.memory) return kNoTime;
    add(seconds);
  }
  return seconds_of(chain, sum, slowest);
}

double chain_at_least(const LayerChain& chain) { return seconds_of(chain, least_sum(chain), least_slowest(chain)); }

// The answer of least sum whose stages and boundaries are all quicker than a limit is the best for its own slowest one. So limits are
// lowered from one answer to the next, until the sum, with a bound of the slowest stage, is no better than the best.
std::optional<ChainAnswer> cheapest_chain(const LayerChain& chain, double to_beat, const Budget& budget) {
  if (chain.stages() > chain.kinds.size()) return std::nullopt;
  StageRuns runs(chain, (to_beat - chain.once) / chain.micro_batches, budget);
  LayerShares program(chain, runs, budget);
  std::optional<ChainAnswer> best;
  const double slowest_at_least = least_slowest(chain);
  for (double limit = kNoTime; !budget.time_is_up();) {
    const std::optional<std::vector<StageStep>> steps = program.below(limit);
    if (!steps) break;
    const StageStep& end = steps->front();
    const double seconds = seconds_of(chain, end.sum, end.slowest);
    if (seconds < to_beat) {
      to_beat = seconds;
      best = answer_of(chain, runs, *steps);
    }
    if (seconds_of(chain, end.sum, slowest_at_least) >= to_beat) return best;
    limit = end.slowest;
  }
  return budget.time_is_up() ? std::nullopt : best;
}

std::optional<ChainAnswer> even_chain(const LayerChain& chain, const Budget& budget) {
  const std::size_t stages = chain.stages(), layers = chain.kinds.size(), each = layers / stages;
  if (each == 0) return std::nullopt;
  ChainAnswer a;
  std::vector<double> arrival(chain.tables[0][0].seconds.size(), 0.0);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::size_t begin = stage * each, count = stage + 1 < stages ? each : layers - begin;
    if (stage > 0) arrival = chain.transfers[stage - 1][chain.kinds[begin]][a.strategies.back()];
    const MemoryFronts fronts(chain, chain.tables[chain.table_of_stage[stage]], begin, MemoryFronts::Direction::forwards, count, arrival,
                              kNoTime, budget);
    std::uint32_t best = 0;
    for (std::uint32_t s = 1; s < arrival.size(); ++s)
      if (fronts.seconds(count, s) < fronts.seconds(count, best)) best = s;
    if (fronts.seconds(count, best) == kNoTime) return std::nullopt;
    a.begins.push_back(begin);
    const std::vector<std::uint32_t> own = fronts.strategies(count, best);
    a.strategies.insert(a.strategies.end(), own.begin(), own.end());
  }
  a.seconds = chain_seconds(chain, a);
  return a;
}

}  // namespace search
