#include "search/solve/layers/chain_search.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/divisors.hpp"
#include "search/cost/estimate.hpp"
#include "search/cost/margins.hpp"
#include "search/grid/balance.hpp"
#include "search/grid/grid_plan.hpp"
#include "search/grid/stages.hpp"

namespace search {
namespace {

constexpr int kMostAttempts = 6;
constexpr double kMoreThanLacking = 1.05;
constexpr double kLeastStep = 0.01;  // a share of the memory: an answer may leave some of it, so that it is the same with a little less
constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr double kMostForEstimates = 0.3;  // of the budget that is left
constexpr int kAllCuts = 2;                // of the catalog: layers are cut for samples and by tensor parallelism

// Tensors that are read after the layer next to the one that makes them: an encoder's result, by every layer of a decoder.
std::size_t count_of_skips(const pcg::Graph& graph) {
  const LayerSplit split = split_into_layers(graph.blocks());
  const auto layer_of = [&](const pcg::GraphNode& n) { return split.of_block[static_cast<std::size_t>(n.block)]; };
  std::size_t skips = 0;
  for (const pcg::GraphNode& n : graph.nodes())
    for (const pcg::GraphTensorRef t : n.inputs)
      if (!is_source(graph.node(t.node)) && layer_of(graph.node(t.node)) + 1 < layer_of(n)) ++skips;
  return skips;
}

// The same chain with bytes in the place of seconds, so that the fullest stage is the slowest.
LayerChain by_bytes(LayerChain chain) {
  constexpr int kMany = 1 << 20;
  for (std::vector<LayerCost>& table : chain.tables)
    for (LayerCost& cost : table) {
      for (std::size_t s = 0; s < cost.seconds.size(); ++s)
        if (cost.seconds[s] < kUnlimited) cost.seconds[s] = cost.bytes[s];
      for (std::vector<double>& row : cost.from_before) std::ranges::fill(row, 0.0);
    }
  for (std::vector<StrategyPairs>& over : chain.transfers)
    for (StrategyPairs& pairs : over)
      for (std::vector<double>& row : pairs) std::ranges::fill(row, 0.0);
  chain.micro_batches = kMany;
  chain.once = 0;
  chain.long_edges.clear();
  chain.memory = kUnlimited;
  return chain;
}

}  // namespace

ChainSearch::ChainSearch(const Problem& problem, const ChainSearchConfig& config, const SearchContext& context, std::string name)
    : problem_(problem),
      config_(config),
      budget_(context, config.budget),
      confirmation_(problem, context, std::move(name)),
      model_(short_model(problem.model)),
      catalog_(problem, kAllCuts),
      keeps_scores_(std::ranges::count(recomputations_of(problem.model), pcg::Recompute::selective) > 0),
      layers_skipped_(count_of_skips(problem.model)) {
  constexpr std::int64_t kMostMicroBatches = 1 << 16;  // that are tried unasked: nothing trains with nearly as many
  const std::int64_t asked = config.micro_batches;
  for (const std::int64_t m : base::divisors(problem.training.global_batch))
    if (asked > 0 ? m == asked : m <= kMostMicroBatches) micro_batches_.push_back(static_cast<int>(m));
  for (const std::int64_t s : base::divisors(problem.cluster.device_count()))
    if (config.stages == 0 || config.stages == s) stages_.push_back(static_cast<int>(s));
}

std::optional<Refusal> ChainSearch::refusal() const {
  if (micro_batches_.empty()) return not_dividing(config_.micro_batches, problem_.training.global_batch);
  if (stages_.empty())
    return Refusal{Constraint::devices,
                   fmt::format("{} GPUs do not divide into {} stages of equally many", problem_.cluster.device_count(), config_.stages)};
  return std::nullopt;
}

// A device by itself has no other to share with.
std::vector<ChainSetting> ChainSearch::settings(int stages) const {
  const ChainSetting published{.stages = stages, .schedule = pcg::ScheduleKind::gpipe, .recomputes = false};
  if (config_.as_published) return {published};
  std::vector<ChainSetting> all;
  if (!config_.schedule) all.push_back(published);
  for (const int zero : {3, 2})
    for (const bool selective : {false, true})
      if ((zero == 3 || stages < problem_.cluster.device_count()) && (!selective || keeps_scores_))
        all.push_back({.stages = stages,
                       .schedule = config_.schedule.value_or(pcg::ScheduleKind::one_f_one_b),
                       .zero = zero,
                       .selective = selective});
  return all;
}

std::optional<ChainCandidate> ChainSearch::candidate(const ChainSetting& setting, int micro_batches) {
  if (static_cast<std::size_t>(setting.stages) > layers()) return std::nullopt;
  std::unique_ptr<ChainCosts>& costs = costs_[micro_batches];
  if (!costs) costs = std::make_unique<ChainCosts>(problem_, model_, catalog_, micro_batches);
  std::optional<LayerChain> chain = costs->chain(setting);
  if (!chain) return std::nullopt;
  has_candidate_ = true;
  has_long_edges_ = has_long_edges_ || !chain->long_edges.empty();
  const double at_least = chain_at_least(*chain);
  return ChainCandidate{setting, std::move(*chain), at_least};
}

pcg::Plan ChainSearch::plan_of(const ChainCandidate& c) const {
  pcg::Plan plan = layered_plan(problem_, c.setting, c.chain.micro_batches, *c.answer);
  plan.name = c.made_by;
  return plan;
}

double ChainSearch::confirm_answer(ChainCandidate& c) {
  pcg::Plan plan = plan_of(c);
  const sim::MemoryUse memory = problem_.oracle.memory(plan);
  // Balanced stages may need more than the chain's memory, which leaves room for what it does not count: no answer to it, then.
  const bool is_of_chain = c.answer->seconds < kUnlimited;
  c.simulated = confirmation_.confirm(std::move(plan), is_of_chain ? std::optional(base::Seconds(c.answer->seconds)) : std::nullopt);
  if (c.simulated && is_of_chain) objectives_.emplace_back(*c.simulated, c.answer->seconds);
  return (memory.peak - memory.capacity).value();
}

std::optional<ChainCandidate> ChainSearch::confirm(ChainCandidate candidate, const Solve& solve) {
  for (int attempt = 0; candidate.answer && attempt < kMostAttempts; ++attempt) {
    const double lacking = confirm_answer(candidate);
    if (lacking <= 0) return candidate;
    candidate.chain.memory -= std::max(kMoreThanLacking * lacking, kLeastStep * candidate.chain.memory);
    candidate.answer = solve(candidate.chain, kUnlimited);
  }
  return std::nullopt;
}

std::vector<const ChainCandidate*> ChainSearch::ordered(const std::vector<ChainCandidate>& candidates) const {
  std::vector<const ChainCandidate*> all;
  for (const ChainCandidate& c : candidates)
    if (c.answer) all.push_back(&c);
  std::ranges::stable_sort(all, {}, [](const ChainCandidate* c) { return c->answer->seconds; });
  if (config_.as_published || all.empty()) return all;
  std::map<const ChainCandidate*, double> estimates;
  const base::Seconds enough = budget_.left() * (1 - kMostForEstimates);
  for (const ChainCandidate* c : all) {
    if (budget_.left() < enough || c->answer->seconds >= kSumsOfLayersErr * all.front()->answer->seconds) break;
    estimates[c] = estimate(plan_of(*c), problem_.oracle).value();
  }
  // The best of the published space first, so that no other plan is worse than it.
  const auto published = std::ranges::find_if(all, [](const ChainCandidate* c) { return !c->setting.recomputes; });
  std::ranges::stable_sort(all, {}, [&, first = published == all.end() ? nullptr : *published](const ChainCandidate* c) {
    const auto at = estimates.find(c);
    return std::pair(c != first, at == estimates.end() ? kUnlimited : at->second);
  });
  return all;
}

std::optional<ChainCandidate> ChainSearch::balanced(const ChainCandidate& c) const {
  const std::span<const pcg::Block> blocks = problem_.model.blocks();
  const auto weighty = static_cast<int>(std::ranges::count_if(blocks, &pcg::Block::weighty));
  const BareEnds bare = may_be_bare(blocks);
  ChainCandidate moved = c;
  const auto take = [&](std::span<const int> layers_per_stage) {
    std::size_t layer = bare.first ? 1 : 0;
    for (std::size_t s = 1; s < layers_per_stage.size(); ++s)
      moved.answer->begins[s] = layer += static_cast<std::size_t>(layers_per_stage[s - 1]);
  };
  const Splits splits{weighty, c.setting.stages, bare, [&](std::span<const int> layers_per_stage) {
                        take(layers_per_stage);
                        return std::optional(plan_of(moved));
                      }};
  if (weighty + (bare.first ? 1 : 0) + (bare.last ? 1 : 0) < c.setting.stages) return std::nullopt;
  take(*balanced_layers(splits, Balance::whole, problem_.oracle));
  if (moved.answer->begins == c.answer->begins) return std::nullopt;
  moved.answer->seconds = chain_seconds(moved.chain, *moved.answer);
  moved.made_by = "balanced stages";
  return moved;
}

bool ChainSearch::confirm_best(const std::vector<ChainCandidate>& candidates, const Solve& solve) {
  const auto is_enough = [&, before = confirmation_.simulated()] { return confirmation_.simulated() >= before + config_.simulated; };
  bool has_plan = false;
  for (const ChainCandidate* c : ordered(candidates)) {
    if (is_enough() || (!budget_.take() && has_plan)) break;
    std::optional<ChainCandidate> fitting = confirm(*c, solve);
    if (!fitting) continue;
    has_plan = true;
    fitting_.push_back(*fitting);
    // GPipe has the same sum and needs more memory, which its own chain counts; where transfers overlap it may take less.
    if (is_enough() || config_.schedule || fitting->setting.stages == 1 || !fitting->setting.recomputes) continue;
    fitting->setting.schedule = pcg::ScheduleKind::gpipe;
    if (estimate(plan_of(*fitting), problem_.oracle) >= kTie * *confirmation_.best_time()) continue;
    if (confirm_answer(*fitting) > 0) {
      fitting->chain = candidate(fitting->setting, fitting->chain.micro_batches)->chain;
      fitting->answer = solve(fitting->chain, kUnlimited);
      fitting = confirm(std::move(*fitting), solve);
    }
    if (fitting) fitting_.push_back(std::move(*fitting));
  }
  return has_plan;
}

void ChainSearch::confirm_balanced() {
  std::ranges::stable_sort(fitting_, {}, &ChainCandidate::simulated);
  for (const ChainCandidate& c : fitting_) {
    if (*c.simulated > kBalancingGains * *fitting_.front().simulated || !budget_.take()) return;
    if (c.setting.stages == 1) continue;
    if (std::optional<ChainCandidate> better = balanced(c)) confirm_answer(*better);
  }
}

void ChainSearch::confirm_minimum_memory(const std::vector<ChainCandidate>& candidates, const Solve& solve) {
  const ChainCandidate* smallest = nullptr;
  std::optional<ChainAnswer> answer;
  for (const ChainCandidate& c : candidates) {
    const std::optional<ChainAnswer> found = solve(by_bytes(c.chain), answer ? answer->seconds : kUnlimited);
    if (!found) continue;
    smallest = &c;
    answer = found;
  }
  if (smallest == nullptr) return;
  ChainCandidate unlimited = *smallest;
  unlimited.chain.memory = kUnlimited;
  unlimited.answer = answer;
  unlimited.answer->seconds = chain_seconds(unlimited.chain, *answer);
  confirm_answer(unlimited);
}

SearchResult ChainSearch::result(std::optional<double> bound) && {
  SearchResult r = std::move(confirmation_).result(budget_);
  if (!has_candidate_ && !budget_.ended_by())
    r.termination = Termination::infeasible(Refusal{
        Constraint::devices,
        fmt::format("whatever the number of stages, some layer of {} cannot be cut for all GPUs of its stage: neither the samples of a "
                    "micro-batch nor what tensor parallelism cuts divides",
                    problem_.model.name())});
  if (r.best) {
    const auto objective = std::ranges::find(objectives_, r.simulation->iteration_time, &std::pair<base::Seconds, double>::first);
    const bool is_of_chain = objective != objectives_.end();  // else of replicas by rule, and the bound is not theirs
    if (is_of_chain) r.objective = base::Seconds(objective->second);
    if (is_of_chain && bound) r.bound = base::Seconds(*bound);
  }
  if (layers_skipped_ > 0) r.notes.emplace_back("long-edges", layers_skipped_, has_long_edges_);
  return r;
}

std::vector<Option> chain_search_options() {
  const ChainSearchConfig defaults;
  return with_limits({defaults.budget.seconds}, "pairs of stages and micro-batches priced, solved or simulated",
                     {{"schedule", Choice{{"best", "1f1b", "gpipe"}},
                       "how micro-batches go through the stages: `gpipe` keeps all of them for their backward passes; `best`: the quicker"},
                      {"simulated", WholeNumber{.least = 1, .most = 1000, .by_default = static_cast<std::int64_t>(defaults.simulated)},
                       "plans of different stages and micro-batches that are simulated whole, at most: the best by the cost model"},
                      {"stages", WholeNumber{.by_default = 0}, "of the pipeline, which share the GPUs out evenly", "as many as are best"},
                      {"micro_batches", WholeNumber{.by_default = 0}, "of an iteration", "as many as are best"},
                      space_option()});
}

ChainSearchConfig chain_search_config(const OptionValues& o) {
  return {.budget = limits_of(o),
          .schedule = o.choice("schedule") == 0   ? std::optional<pcg::ScheduleKind>()
                      : o.choice("schedule") == 1 ? pcg::ScheduleKind::one_f_one_b
                                                  : pcg::ScheduleKind::gpipe,
          .simulated = static_cast<std::size_t>(o.whole_number("simulated")),
          .stages = o.whole_number("stages"),
          .micro_batches = o.whole_number("micro_batches"),
          .as_published = is_of_paper(o)};
}

}  // namespace search
