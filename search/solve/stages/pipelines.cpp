#include "search/solve/stages/pipelines.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

#include "search/cost/margins.hpp"
#include "search/grid/stages.hpp"
#include "search/solve/operators/strategies.hpp"
#include "search/solve/stages/stage_mapping.hpp"
#include "search/solve/stages/stage_memory.hpp"

namespace search {
namespace {

constexpr std::size_t kMostRuledOut = 12;  // stages that turn out not to fit, one after another
// Costs of memory: these times the seconds of a micro-batch, in the cheapest plan, for the whole memory of a device.
constexpr std::array kMemoryMultipliers = {0.0, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0};

bool same(const Mapping::Part& a, const Mapping::Part& b) {
  return a.tree.kinds == b.tree.kinds && a.first == b.first && a.last == b.last && a.edges == b.edges;
}

// The inputs of pipeline_plans(), and what all its shapes share.
struct PipelineSearch {
  const Problem& problem;
  const pcg::Graph& graph;
  const PipelineSetting& setting;
  const PipelineConfig& config;
  OperatorCatalog& catalog;
  BranchShapes& branch_shapes;
  const Budget& budget;
};

// By stage, part and operator of the part.
using PlacedStages = std::vector<std::vector<std::vector<Placed>>>;

// A graph as parts in a row, and its plans once stages and strategies are chosen.
class StagedGraph {
 public:
  StagedGraph(const PipelineSearch& search, std::vector<Segment> segments) : s_(search), segments_(std::move(segments)) {
    for (const Segment& segment : segments_) {
      Mapping::Part part = part_of(s_.graph, segment, kinds_, s_.catalog, s_.branch_shapes);
      const auto known = std::ranges::find_if(unlike_, [&](const Mapping::Part& p) { return same(p, part); });
      if (known == unlike_.end()) unlike_.push_back(std::move(part));
      parts_.push_back(known == unlike_.end() ? &unlike_.back() : &*known);
    }
  }
  StagedGraph(const StagedGraph&) = delete;
  StagedGraph& operator=(const StagedGraph&) = delete;

  // Equal ones are one object.
  [[nodiscard]] const std::vector<const Mapping::Part*>& parts() const { return parts_; }
  // The share of a micro-batch's outputs that is kept: where forward passes run again, one output of a block.
  [[nodiscard]] double kept_share() const {
    if (s_.setting.recompute != pcg::Recompute::full) return 1;
    const auto operators = std::ranges::count_if(kinds_, [](KindNumber k) { return k != kSource; });
    return static_cast<double>(s_.graph.blocks().size()) / static_cast<double>(operators);
  }
  // Outputs of micro-batches that are kept at once: of the first of as many stages as there may be.
  [[nodiscard]] double kept_copies() const {
    const auto most =
        static_cast<double>(std::min({s_.config.parts.most_stages(), parts_.size(), static_cast<std::size_t>(s_.catalog.devices())}));
    return std::min<double>(s_.setting.micro_batches, most) / 2 * kept_share();
  }
  [[nodiscard]] std::vector<StageStrategies> numbers_of(const StageCuts& cuts, const PlacedStages& placed, Mapping& mapping) const {
    std::vector<StageStrategies> numbers(cuts.stages.size());
    for (std::size_t s = 0; s < cuts.stages.size(); ++s)
      for (std::size_t p = 0; p < placed[s].size(); ++p) {
        const std::vector<KindNumber>& kinds = parts_[cuts.stages[s].begin + p]->tree.kinds;
        std::vector<std::uint32_t>& of_part = numbers[s].emplace_back();
        for (std::size_t o = 0; o < kinds.size(); ++o) of_part.push_back(mapping.strategy(kinds[o], placed[s][p][o]));
      }
    return numbers;
  }
  pcg::Plan plan_of(const StageCuts& cuts, const PlacedStages& placed, Mapping& mapping) {
    return plan_of(cuts, [&](KindNumber k, std::size_t s, std::size_t p, std::size_t o) {
      const Placed& at = placed[s][p][o];
      return s_.catalog.strategy(k, at.block, mapping.strategy(k, at));
    });
  }
  pcg::Plan plan_of(const StageCuts& cuts, const std::vector<StageStrategies>& numbers) {
    return plan_of(cuts, [&](KindNumber k, std::size_t s, std::size_t p, std::size_t o) {
      return s_.catalog.strategy(k, cuts.stages[s].block, numbers[s][p][o]);
    });
  }

 private:
  // `strategy`: of an operator by its kind, its stage, the part of the stage and the operator of the part.
  template <class StrategyOf>
  pcg::Plan plan_of(const StageCuts& cuts, const StrategyOf& strategy) {
    std::vector<Strategy> strategies(kinds_.size());  // by node
    std::vector<int> stage_of(kinds_.size(), 0);
    for (std::size_t s = 0; s < cuts.stages.size(); ++s)
      for (std::size_t p = cuts.stages[s].begin; p < cuts.stages[s].end; ++p)
        for (std::size_t o = 0; o < segments_[p].operators.size(); ++o) {
          const std::uint32_t n = segments_[p].operators[o];
          strategies[n] = strategy(kinds_[n], s, p - cuts.stages[s].begin, o);
          stage_of[n] = static_cast<int>(s);
        }
    pcg::Plan plan = plan_of_strategies(s_.problem, s_.graph, strategies);
    plan.name = "stages";
    plan.stage = stages_around_operators(plan.pcg, stage_of);
    plan.stages = static_cast<int>(cuts.stages.size());
    plan.micro_batches = s_.setting.micro_batches;
    plan.schedule = plan.stages > 1 ? s_.setting.schedule : pcg::ScheduleKind::one_f_one_b;
    plan.recompute = s_.setting.recompute;
    plan.zero = s_.setting.zero;
    plan.memory = s_.setting.memory;
    plan.overlap = s_.setting.overlap;
    plan.summary = summary_of(plan, cuts);
    return plan;
  }

  [[nodiscard]] std::string summary_of(const pcg::Plan& plan, const StageCuts& cuts) const {
    std::vector<int> sizes;
    for (const StageRun& r : cuts.stages) sizes.push_back(r.block.size);
    std::string text = fmt::format("{} micro-batch{}", plan.micro_batches, plan.micro_batches == 1 ? "" : "es");
    if (plan.stages > 1) {
      const bool is_even = std::ranges::count(sizes, sizes[0]) == plan.stages;
      text = fmt::format("{} stages of {} GPU{}, {}, {}", plan.stages,
                         is_even ? fmt::format("{}", sizes[0]) : fmt::format("{}", fmt::join(sizes, " + ")),
                         is_even && sizes[0] == 1 ? "" : "s", text, pcg::name_of(plan.schedule));
    }
    if (plan.recompute != pcg::Recompute::none) text += fmt::format(", recompute {}", pcg::name_of(plan.recompute));
    if (plan.zero > 0) text += fmt::format(", zero {}", plan.zero);
    return fmt::format("{}; {}", text, summary_of_cuts(plan));
  }

  const PipelineSearch& s_;
  std::vector<KindNumber> kinds_ = s_.catalog.kinds_of(s_.graph);
  std::vector<Segment> segments_;
  std::deque<Mapping::Part> unlike_;
  std::vector<const Mapping::Part*> parts_;  // per segment
};

// A stage that does not fit, with a number of stages after it.
struct RuledOut {
  StageRun run;
  int after = 0;
};

std::size_t stage_on(const StageCuts& cuts, base::DeviceId device) {
  const auto is_on = [d = static_cast<int>(device.value)](DeviceBlock b) { return d >= b.start && d < b.start + b.size; };
  return static_cast<std::size_t>(std::ranges::find_if(cuts.stages, is_on, &StageRun::block) - cuts.stages.begin());
}

// A stage keeps no less than one that did not fit where it has all of its parts, no more devices and as many stages after it.
int most_after(const StageRun& run, const std::vector<RuledOut>& ruled_out, std::size_t parts) {
  auto most = static_cast<int>(parts);
  for (const RuledOut& r : ruled_out)
    if (run.begin <= r.run.begin && run.end >= r.run.end && run.block.size <= r.run.block.size) most = std::min(most, r.after - 1);
  return most;
}

// Bytes that are left on the devices of each stage.
std::vector<double> room_of(const sim::Oracle& oracle, const StageCuts& cuts, const pcg::Plan& plan) {
  std::vector<double> room(cuts.stages.size(), std::numeric_limits<double>::infinity());
  for (const sim::MemoryUse& use : oracle.memory_by_device(plan)) {
    double& least = room[stage_on(cuts, use.device)];
    least = std::min(least, use.capacity.value() - use.peak.value());
  }
  return room;
}

Objective objective_of(const PipelineSetting& setting, double seconds_per_byte, double copies) {
  return {.seconds_per_byte = seconds_per_byte,
          .per_micro_batch = 1.0 / setting.micro_batches,
          .kept_copies = copies,
          .recomputes = setting.recompute == pcg::Recompute::full,
          .zero = setting.zero};
}

// Sizes of blocks that a stage may have, and that could be quick enough.
std::vector<int> sizes_of(const PipelineSearch& s, std::span<const StageShape> shapes) {
  std::vector<int> sizes;
  for (const int size : stage_sizes(s.problem.cluster, s.config.submeshes, s.config.parts.most_stages())) {
    const bool is_asked_for = std::ranges::any_of(shapes, [&](const StageShape& shape) {
      return size <= shape.largest_block && (size < s.catalog.devices() ? shape.most_stages > 1 : shape.fewest_stages <= 1);
    });
    if (is_asked_for && least_of_stages(size, s.graph, s.setting, s.catalog) < kBoundsOfStagesErr * s.setting.to_beat)
      sizes.push_back(size);
  }
  return sizes;
}

// State that the shapes of one division into parts share.
struct PartsSearch {
  const PipelineSearch& s;
  StagedGraph staged;
  std::vector<int> sizes;                  // of blocks
  std::optional<StageMemory> memory = {};  // once it was needed
  double cheapest = 0;                     // seconds of the first plan
};

// With given stages, the cheapest strategies that fit; nullopt: none were found. The iteration is summed up as StageQuestion says.
// `unlimited`: seconds of the cheapest, without a limit.
std::optional<PipelinePlan> plan_within_memory(PartsSearch& parts, const StageCuts& cuts, std::vector<StageStrategies> strategies,
                                               double unlimited) {
  const PipelineSearch& s = parts.s;
  StagedGraph& staged = parts.staged;
  const int micro_batches = s.setting.micro_batches;
  if (!parts.memory)
    parts.memory.emplace(s.catalog, s.branch_shapes, staged.parts(), s.config, objective_of(s.setting, 0, staged.kept_share()),
                         micro_batches);
  const auto room = [&](const std::vector<StageStrategies>& chosen) {
    return room_of(s.problem.oracle, cuts, staged.plan_of(cuts, chosen));
  };
  const std::optional<FittingStages> found = parts.memory->fit(cuts.stages, std::move(strategies), room, s.budget);
  if (!found) return std::nullopt;
  pcg::Plan plan = staged.plan_of(cuts, found->strategies);
  if (!s.problem.oracle.memory(plan).fits()) return std::nullopt;
  const double slowest = *std::ranges::max_element(found->seconds);
  const double seconds = s.setting.schedule == pcg::ScheduleKind::two_bw
                             ? slowest * micro_batches
                             : std::accumulate(found->seconds.begin(), found->seconds.end(), 0.0) + slowest * (micro_batches - 1);
  return PipelinePlan{std::move(plan), base::Seconds(seconds), PipelinePlan::WithinMemory{found->are_proved, seconds / unlimited - 1}};
}

// The cheapest plan of a shape that fits, or else came closest.
struct ShapeAnswer {
  StageShape shape;
  std::optional<PipelinePlan> closest{};
  std::optional<PipelinePlan> within_memory{};  // of the cheapest stages
  base::Bytes memory{};
  double unlimited = 0;  // seconds of the cheapest stages, whether or not they fit
  bool fits = false;
};

void search_shape(PartsSearch& parts, Mapping& mapping, StageMapping& stages, bool memory_is_free, ShapeAnswer& answer) {
  const PipelineSearch& s = parts.s;
  StagedGraph& staged = parts.staged;
  std::vector<RuledOut> ruled_out;
  const bool stays_full = s.setting.schedule == pcg::ScheduleKind::two_bw;
  // A pipeline that stays full has a micro-batch for each stage.
  const std::size_t filled = stays_full ? static_cast<std::size_t>(s.setting.micro_batches) : answer.shape.most_stages;
  StageQuestion question{.parts = staged.parts().size(),
                         .devices = s.catalog.devices(),
                         .machine = s.catalog.machine_size(),
                         .sizes = parts.sizes,
                         .fewest_stages = answer.shape.fewest_stages,
                         .most_stages = std::min({answer.shape.most_stages, s.config.parts.most_stages(), filled}),
                         .given = answer.shape.given,
                         .equally_many = s.config.parts.by == Clustering::equal_layers,
                         .micro_batches = s.setting.micro_batches,
                         .stays_full = stays_full,
                         .seconds = [&](const StageRun& run) { return stages.seconds(run); },
                         .most_after = [&](const StageRun& run) { return most_after(run, ruled_out, staged.parts().size()); }};
  std::erase_if(question.sizes, [&](int size) { return size > answer.shape.largest_block; });
  while (ruled_out.size() < kMostRuledOut && !s.budget.time_is_up()) {
    const std::optional<StageCuts> cuts = cheapest_stages(question, s.budget);
    if (!cuts) return;
    PlacedStages placed;
    bool is_new = false;
    for (const StageRun& run : cuts->stages) {
      placed.push_back(stages.place(run));
      is_new = stages.resolve(run, placed.back()) || is_new;
    }
    if (is_new) continue;
    if (parts.cheapest == 0) parts.cheapest = cuts->seconds;
    if (answer.unlimited == 0) answer.unlimited = cuts->seconds;
    pcg::Plan plan = staged.plan_of(*cuts, placed, mapping);
    const sim::MemoryUse memory = s.problem.oracle.memory(plan);
    const bool fits = memory.fits();
    PipelinePlan found{std::move(plan), memory_is_free ? std::optional(base::Seconds(cuts->seconds)) : std::nullopt};
    const bool is_first = memory_is_free && ruled_out.empty();
    const bool may_improve = s.config.within_memory && answer.unlimited < s.setting.to_beat;
    if (may_improve && (is_first ? !fits && memory.peak <= kFarTooLarge * memory.capacity : !memory_is_free && fits))
      if (std::optional<PipelinePlan> within =
              plan_within_memory(parts, *cuts, staged.numbers_of(*cuts, placed, mapping), answer.unlimited)) {
        if (!fits && *within->expected < kNextSlowest * base::Seconds(cuts->seconds)) {
          answer.closest = std::move(within);
          answer.fits = true;
          return;
        }
        if (fits) found = std::move(*within);
        else answer.within_memory = std::move(within);
      }
    answer.fits = fits;
    if (fits || !answer.closest || memory.peak < answer.memory) {  // where devices differ, what fits may need more
      answer.closest = std::move(found);
      answer.memory = memory.peak;
    }
    if (fits || memory.peak > kFarTooLarge * memory.capacity) return;
    const std::size_t stage = stage_on(*cuts, memory.device);
    ruled_out.push_back({cuts->stages[stage], static_cast<int>(cuts->stages.size() - stage) - 1});
  }
}

std::vector<PipelinePlan> plans_of_parts(const PipelineSearch& s, std::vector<Segment> segments, std::span<const StageShape> shapes) {
  PartsSearch parts{s, StagedGraph(s, std::move(segments)), sizes_of(s, shapes)};
  if (parts.sizes.empty()) return {};
  std::vector<ShapeAnswer> answers;
  for (const StageShape& shape : shapes) answers.push_back({shape});
  const double memory = s.problem.oracle.device(base::DeviceId(0)).memory.value();
  for (const double multiplier : kMemoryMultipliers) {
    if (s.budget.time_is_up() || std::ranges::all_of(answers, &ShapeAnswer::fits)) break;
    const double seconds_per_byte = multiplier * parts.cheapest / s.setting.micro_batches / memory;
    Shortlists lists(s.catalog, objective_of(s.setting, seconds_per_byte, parts.staged.kept_copies()), s.config.most_strategies,
                     s.config.most_cut, s.config.cuts);
    Mapping mapping(lists, s.branch_shapes, {s.config.side_by_side, s.config.remember, parts.sizes});
    StageMapping stages(mapping, s.catalog, parts.staged.parts(), s.config.counts_transfers);
    for (ShapeAnswer& a : answers)
      if (!a.fits) search_shape(parts, mapping, stages, multiplier == 0, a);
  }
  std::vector<PipelinePlan> plans;
  for (ShapeAnswer& a : answers) {
    // Other stages, or the cheapest ones with strategies within the memory. What was found at a multiplier of memory has no sum of costs
    // alone, unless its strategies were chosen again.
    if (a.within_memory && (!a.fits || !a.closest->expected || *a.within_memory->expected < *a.closest->expected))
      a.closest = std::move(a.within_memory);
    if (a.closest) plans.push_back(std::move(*a.closest));
  }
  return plans;
}

}  // namespace

std::vector<PipelinePlan> pipeline_plans(const Problem& problem, const pcg::Graph& graph, const PipelineSetting& setting,
                                         std::span<const StageShape> shapes, const PipelineConfig& config, OperatorCatalog& catalog,
                                         BranchShapes& branch_shapes, const Budget& budget) {
  const PipelineSearch search{problem, graph, setting, config, catalog, branch_shapes, budget};
  std::vector<Segment> narrow = stage_parts(graph, problem.training.precision, config.parts),
                       wide = stage_parts(graph, problem.training.precision, config.parts, PartEnds::blocks);
  if (narrow == wide) return plans_of_parts(search, std::move(narrow), shapes);
  std::vector<StageShape> one, several;
  for (const StageShape& s : shapes) {
    if (s.fewest_stages <= 1) one.push_back({1, 1, s.largest_block, s.given});
    if (s.most_stages > 1) several.push_back({std::max<std::size_t>(2, s.fewest_stages), s.most_stages, s.largest_block, s.given});
  }
  std::vector<PipelinePlan> plans = plans_of_parts(search, std::move(narrow), one);
  std::ranges::move(plans_of_parts(search, std::move(wide), several), std::back_inserter(plans));
  return plans;
}

}  // namespace search
