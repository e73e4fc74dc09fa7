#include "search/solve/stages/pipelines.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <set>

#include "search/grid/stages.hpp"
#include "search/solve/operators/strategy_plan.hpp"
#include "search/solve/operators/summary.hpp"
#include "search/solve/stages/stage_mapping.hpp"
#include "search/solve/stages/stage_memory.hpp"

namespace search {
namespace {

constexpr std::size_t kMostRuledOut = 12;  // stages that turn out not to fit, one after another
// What memory costs: so many times the seconds of a micro-batch, in the cheapest plan, for the whole memory of a device.
constexpr std::array kDearer = {0.0, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0};
// Logarithm of the number of micro-batches that is looked at first: 16 for each of 16 stages, so that a sixteenth of the time is a bubble.
constexpr double kLikelyGood = 8;
// The bound of stages counts for every operator the longer of its device's and its host's time; hosts that are ahead may make it less.
constexpr double kBoundTooLarge = 1.1;
constexpr double kFarTooLarge = 1.3;  // times the memory: other stages would not help, dearer memory may
// What stages within the memory may cost more than the cheapest ones without a limit, and no others are looked at: as cheapest_stages() is
// exact to.
constexpr double kHardlyDearer = 1.01;

bool same(const Mapping::Part& a, const Mapping::Part& b) {
  const auto same_edge = [](const OperatorEdge& e, const OperatorEdge& f) { return e.from == f.from && e.to == f.to && e.kind == f.kind; };
  return a.tree.kinds == b.tree.kinds && a.first == b.first && a.last == b.last && std::ranges::equal(a.edges, b.edges, same_edge);
}

std::vector<int> stage_sizes(const topology::Cluster& cluster, Submeshes submeshes) {
  const int devices = cluster.device_count(), machine = static_cast<int>(cluster.domain_devices(0).size());
  std::vector<int> sizes;
  for (int size = 1; size <= devices; ++size) {
    const bool is_in_shape = submeshes == Submeshes::all || size % machine == 0 || std::has_single_bit(static_cast<unsigned>(size));
    if (is_in_shape && devices % size == 0 && devices / size <= static_cast<int>(kMostStages) &&
        (machine % size == 0 || size % machine == 0))
      sizes.push_back(size);
  }
  return sizes;
}

// Seconds of so many micro-batches one after another on stages of this size that are equally long, if every operator runs in its quickest
// plain way and nothing moves; with the update once, or without it.
double seconds_of_even_rounds(int rounds, bool with_update, int size, const pcg::Graph& graph, const PipelineSetting& setting,
                              OperatorCatalog& catalog, int devices) {
  double seconds = 0;
  for (const KindNumber k : catalog.kinds_of(graph))
    if (k != kSource)
      seconds += catalog.plain_seconds(k, size,
                                       {.synchronisation = 0,
                                        .per_micro_batch = with_update ? 1.0 / rounds : 0.0,
                                        .recomputes = setting.recompute == pcg::Recompute::full});
  return seconds * rounds * size / devices;
}

// A bound of an iteration: the micro-batches pass through all stages, which the pipeline fills first, and the busiest stage has to run all
// of them and its update; stages that are done early are updated beside the others.
double least_of_stages(int size, const pcg::Graph& graph, const PipelineSetting& setting, OperatorCatalog& catalog, int devices) {
  const int filling = setting.schedule == pcg::ScheduleKind::two_bw ? 0 : devices / size - 1;
  return std::max(seconds_of_even_rounds(setting.micro_batches + filling, false, size, graph, setting, catalog, devices),
                  seconds_of_even_rounds(setting.micro_batches, true, size, graph, setting, catalog, devices));
}

// Stages of ZeRO, and whether whole gradients are added up over the micro-batches.
std::vector<std::pair<int, bool>> updates(const SettingsConfig& config) {
  if (config.zero == 0) return {{0, false}};
  if (config.zero) return {{*config.zero, true}, {*config.zero, false}};
  if (!config.update_sharding) return {{0, false}};
  return {{0, false}, {2, true}};
}

class Pipelines {
 public:
  Pipelines(const Problem& problem, const pcg::Graph& graph, std::vector<Segment> segments, const PipelineSetting& setting,
            std::span<const StageShape> shapes, const PipelineConfig& config, OperatorCatalog& catalog, BranchShapes& branch_shapes,
            const Budget& budget)
      : problem_(problem),
        graph_(graph),
        setting_(setting),
        config_(config),
        catalog_(catalog),
        branch_shapes_(branch_shapes),
        budget_(budget),
        devices_(problem.cluster.device_count()),
        machine_(static_cast<int>(problem.cluster.domain_devices(0).size())),
        kinds_(catalog.kinds_of(graph)),
        segments_(std::move(segments)) {
    find_parts();
    find_sizes(shapes);
    for (const StageShape& shape : shapes) answers_.push_back({shape});
  }

  std::vector<PipelinePlan> run() {
    if (sizes_.empty()) return {};
    const double memory = problem_.oracle.device(base::DeviceId(0)).memory.value();
    for (const double price : kDearer) {
      if (budget_.time_is_up() || std::ranges::all_of(answers_, &Answer::fits)) break;
      Shortlists lists(catalog_, objective(price * cheapest_ / setting_.micro_batches / memory, kept_copies()), config_.most_strategies,
                       config_.most_cut, config_.cuts);
      Mapping mapping(problem_.cluster, lists, branch_shapes_, {config_.side_by_side, config_.remember, sizes_});
      StageMapping stages(mapping, catalog_, parts_, machine_, config_.counts_transfers);
      for (Answer& a : answers_)
        if (!a.fits) look_for(a, mapping, stages, price == 0);
    }
    std::vector<PipelinePlan> plans;
    for (Answer& a : answers_) take_cheaper(a);
    for (Answer& a : answers_)
      if (a.closest) plans.push_back(std::move(*a.closest));
    return plans;
  }

 private:
  // The cheapest plan of a shape that fits, or else came closest.
  struct Answer {
    StageShape shape;
    std::optional<PipelinePlan> closest{};
    std::optional<PipelinePlan> within_memory{};  // of the cheapest stages
    base::Bytes memory{};
    double unlimited = 0;  // seconds of the cheapest stages, whether or not they fit
    bool fits = false;
  };
  // A stage that does not fit, with so many stages behind it.
  struct RuledOut {
    StageRun run;
    int behind = 0;
  };

  // Those that are unlike.
  void find_parts() {
    for (const Segment& s : segments_) {
      Mapping::Part part = part_of(graph_, s, kinds_, catalog_, branch_shapes_);
      const auto known = std::ranges::find_if(unlike_, [&](const Mapping::Part& p) { return same(p, part); });
      if (known == unlike_.end()) unlike_.push_back(std::move(part));
      parts_.push_back(known == unlike_.end() ? &unlike_.back() : &*known);
    }
  }

  // Of blocks that a stage may have, and that could be quick enough.
  void find_sizes(std::span<const StageShape> shapes) {
    for (const int size : stage_sizes(problem_.cluster, config_.submeshes)) {
      const bool is_asked_for = std::ranges::any_of(shapes, [&](const StageShape& s) {
        return size <= s.largest_block && (size < devices_ ? s.most_stages > 1 : s.fewest_stages <= 1);
      });
      if (!is_asked_for) continue;
      if (least_of_stages(size, graph_, setting_, catalog_, devices_) < kBoundTooLarge * setting_.to_beat) sizes_.push_back(size);
    }
  }

  // Outputs of micro-batches that are kept at once: of the first of as many stages as there may be; where forward passes run again, one
  // output of a block.
  [[nodiscard]] double kept_copies() const {
    const auto stages = static_cast<double>(std::min({static_cast<std::size_t>(setting_.micro_batches), kMostStages, segments_.size()}));
    return stages / 2 * kept_share();
  }
  // Of the outputs of a micro-batch.
  [[nodiscard]] double kept_share() const {
    if (setting_.recompute != pcg::Recompute::full) return 1;
    const auto operators = static_cast<double>(std::ranges::count_if(kinds_, [](KindNumber k) { return k != kSource; }));
    return static_cast<double>(graph_.blocks().size()) / operators;
  }

  [[nodiscard]] Objective objective(double seconds_per_byte, double copies) const {
    return {.seconds_per_byte = seconds_per_byte,
            .per_micro_batch = 1.0 / setting_.micro_batches,
            .kept_copies = copies,
            .recomputes = setting_.recompute == pcg::Recompute::full,
            .zero = setting_.zero};
  }

  void look_for(Answer& answer, Mapping& mapping, StageMapping& stages, bool memory_is_free) {
    std::vector<RuledOut> ruled_out;
    StageQuestion question{.parts = parts_.size(),
                           .devices = devices_,
                           .machine = machine_,
                           .sizes = sizes_,
                           .fewest_stages = answer.shape.fewest_stages,
                           .most_stages = answer.shape.most_stages,
                           .given = answer.shape.given,
                           .equally_many = config_.parts.by == Clustering::equal_layers,
                           .micro_batches = setting_.micro_batches,
                           .stays_full = setting_.schedule == pcg::ScheduleKind::two_bw,
                           .seconds = [&](const StageRun& run) { return stages.seconds(run); },
                           .most_behind = [&](const StageRun& run) { return most_behind(run, ruled_out); }};
    std::erase_if(question.sizes, [&](int size) { return size > answer.shape.largest_block; });
    while (ruled_out.size() < kMostRuledOut && !budget_.time_is_up()) {
      const std::optional<StageCuts> cuts = cheapest_stages(question);
      if (!cuts) return;
      std::vector<std::vector<std::vector<Placed>>> placed;
      bool is_new = false;
      for (const StageRun& run : cuts->stages) {
        placed.push_back(stages.place(run));
        is_new = stages.find_out(run, placed.back()) || is_new;
      }
      if (is_new) continue;
      if (cheapest_ == 0) cheapest_ = cuts->seconds;
      if (answer.unlimited == 0) answer.unlimited = cuts->seconds;
      pcg::Plan plan = plan_of(*cuts, strategies_of(*cuts, placed, mapping));
      const sim::MemoryUse memory = problem_.oracle.memory(plan);
      const bool fits = memory.fits();
      PipelinePlan found{std::move(plan), memory_is_free ? std::optional(base::Seconds(cuts->seconds)) : std::nullopt};
      const bool is_first = memory_is_free && ruled_out.empty();
      const bool is_hopeful = config_.within_memory && answer.unlimited < setting_.to_beat;
      if (is_hopeful && (is_first ? !fits && memory.peak <= kFarTooLarge * memory.capacity : !memory_is_free && fits))
        if (std::optional<PipelinePlan> within = within_memory(*cuts, ways_of(*cuts, placed, mapping), answer.unlimited)) {
          if (!fits && *within->expected < kHardlyDearer * base::Seconds(cuts->seconds)) {
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
      if (fits) return take_cheaper(answer);
      if (memory.peak > kFarTooLarge * memory.capacity) return;
      ruled_out.push_back(on_device(*cuts, static_cast<int>(memory.device.value)));
    }
  }

  // Other stages, or the cheapest ones with ways within the memory. What was found at a price of memory has no sum of costs alone, unless
  // its ways were chosen again.
  static void take_cheaper(Answer& answer) {
    if (!answer.within_memory) return;
    if (!answer.fits || !answer.closest->expected || *answer.within_memory->expected < *answer.closest->expected)
      answer.closest = std::move(*answer.within_memory);
    answer.fits = true;
    answer.within_memory.reset();
  }

  // With these stages, the cheapest ways that fit; nullopt: none were found. The iteration is summed up as StageQuestion says.
  std::optional<PipelinePlan> within_memory(const StageCuts& cuts, const std::vector<StageWays>& ways, double unlimited) {
    if (!stage_memory_)
      stage_memory_ = std::make_unique<StageMemory>(problem_.cluster, catalog_, branch_shapes_, parts_,
                                                    StageMemory::Config{.objective = objective(0, kept_share()),
                                                                        .micro_batches = setting_.micro_batches,
                                                                        .most_strategies = config_.most_strategies,
                                                                        .most_cut = config_.most_cut,
                                                                        .cuts = config_.cuts,
                                                                        .counts_transfers = config_.counts_transfers});
    const auto room = [&](const std::vector<StageWays>& chosen) { return room_of(cuts, plan_of(cuts, strategies_of(cuts, chosen))); };
    const std::optional<FittingStages> found = stage_memory_->fit(cuts.stages, ways, room, budget_);
    if (!found) return std::nullopt;
    pcg::Plan plan = plan_of(cuts, strategies_of(cuts, found->ways));
    if (!problem_.oracle.memory(plan).fits()) return std::nullopt;
    const double slowest = *std::ranges::max_element(found->seconds);
    const double seconds =
        setting_.schedule == pcg::ScheduleKind::two_bw
            ? slowest * setting_.micro_batches
            : std::accumulate(found->seconds.begin(), found->seconds.end(), 0.0) + slowest * (setting_.micro_batches - 1);
    return PipelinePlan{std::move(plan), base::Seconds(seconds), PipelinePlan::WithinMemory{found->are_proved, seconds / unlimited - 1}};
  }

  // Bytes that are left on the devices of each stage.
  [[nodiscard]] std::vector<double> room_of(const StageCuts& cuts, const pcg::Plan& plan) const {
    std::vector<double> room(cuts.stages.size(), std::numeric_limits<double>::infinity());
    for (const sim::MemoryUse& use : problem_.oracle.memory_by_device(plan)) {
      const auto device = static_cast<int>(use.device.value);
      const auto at = std::ranges::find_if(cuts.stages, [&](const StageRun& r) { return r.is_on(device); });
      const auto stage = static_cast<std::size_t>(at - cuts.stages.begin());
      room[stage] = std::min(room[stage], use.capacity.value() - use.peak.value());
    }
    return room;
  }

  static RuledOut on_device(const StageCuts& cuts, int device) {
    const auto stage = std::ranges::find_if(cuts.stages, [&](const StageRun& r) { return r.is_on(device); });
    return {*stage, static_cast<int>(cuts.stages.end() - stage) - 1};
  }

  // A stage keeps no less than one that did not fit where it has all of its parts, no more devices and as many stages behind it.
  [[nodiscard]] static int most_behind(const StageRun& run, const std::vector<RuledOut>& ruled_out) {
    int most = static_cast<int>(kMostStages);
    for (const RuledOut& r : ruled_out)
      if (run.begin <= r.run.begin && run.end >= r.run.end && run.block.size <= r.run.block.size) most = std::min(most, r.behind - 1);
    return most;
  }

  // By stage, part and operator of the part.
  using PlacedStages = std::vector<std::vector<std::vector<Placed>>>;
  [[nodiscard]] std::vector<StageWays> ways_of(const StageCuts& cuts, const PlacedStages& placed, Mapping& mapping) const {
    std::vector<StageWays> ways(cuts.stages.size());
    for (std::size_t s = 0; s < cuts.stages.size(); ++s)
      for (std::size_t p = 0; p < placed[s].size(); ++p) {
        const std::vector<KindNumber>& kinds = parts_[cuts.stages[s].begin + p]->tree.kinds;
        std::vector<std::uint32_t>& of_part = ways[s].emplace_back();
        for (std::size_t o = 0; o < kinds.size(); ++o) of_part.push_back(mapping.way(kinds[o], placed[s][p][o]));
      }
    return ways;
  }

  // Calls look(node, stage, part of the stage, operator of the part) for each operator.
  template <class Look>
  void for_each_operator(const StageCuts& cuts, const Look& look) const {
    for (std::size_t s = 0; s < cuts.stages.size(); ++s)
      for (std::size_t p = cuts.stages[s].begin; p < cuts.stages[s].end; ++p)
        for (std::size_t o = 0; o < segments_[p].operators.size(); ++o) look(segments_[p].operators[o], s, p - cuts.stages[s].begin, o);
  }

  // By node.
  std::vector<Strategy> strategies_of(const StageCuts& cuts, const PlacedStages& placed, Mapping& mapping) {
    std::vector<Strategy> strategies(kinds_.size());
    for_each_operator(cuts, [&](std::uint32_t n, std::size_t s, std::size_t p, std::size_t o) {
      const Placed& at = placed[s][p][o];
      strategies[n] = catalog_.strategy(kinds_[n], at.block, mapping.way(kinds_[n], at));
    });
    return strategies;
  }
  std::vector<Strategy> strategies_of(const StageCuts& cuts, const std::vector<StageWays>& ways) {
    std::vector<Strategy> strategies(kinds_.size());
    for_each_operator(cuts, [&](std::uint32_t n, std::size_t s, std::size_t p, std::size_t o) {
      strategies[n] = catalog_.strategy(kinds_[n], cuts.stages[s].block, ways[s][p][o]);
    });
    return strategies;
  }

  pcg::Plan plan_of(const StageCuts& cuts, const std::vector<Strategy>& strategies) {
    std::vector<const Strategy*> choice(kinds_.size(), nullptr);
    std::vector<int> stage_of(kinds_.size(), 0);
    for_each_operator(cuts, [&](std::uint32_t n, std::size_t s, std::size_t, std::size_t) {
      choice[n] = &strategies[n];
      stage_of[n] = static_cast<int>(s);
    });
    pcg::Plan plan = plan_of_strategies(problem_, graph_, choice);
    std::vector<int> stage;
    std::size_t node = 0;
    for (const pcg::PcgNode& n : plan.pcg.nodes()) stage.push_back(n.parallel_operator() != nullptr ? 0 : stage_of[node++]);
    plan.stage = stages_around_operators(plan.pcg, std::move(stage));
    plan.stages = static_cast<int>(cuts.stages.size());
    plan.micro_batches = setting_.micro_batches;
    plan.schedule = plan.stages > 1 ? setting_.schedule : pcg::ScheduleKind::one_f_one_b;
    plan.recompute = setting_.recompute;
    plan.zero = setting_.zero;
    plan.memory = setting_.memory;
    plan.overlap = setting_.overlap;
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

  const Problem& problem_;
  const pcg::Graph& graph_;
  PipelineSetting setting_;
  PipelineConfig config_;
  OperatorCatalog& catalog_;
  BranchShapes& branch_shapes_;
  const Budget& budget_;
  int devices_, machine_;
  std::vector<KindNumber> kinds_;
  std::vector<Segment> segments_;
  std::deque<Mapping::Part> unlike_;
  std::vector<const Mapping::Part*> parts_;  // per segment
  std::vector<int> sizes_;                   // of blocks
  std::vector<Answer> answers_;              // per shape
  double cheapest_ = 0;                      // seconds of the first plan
  std::unique_ptr<StageMemory> stage_memory_;
};

}  // namespace

std::vector<int> micro_batches_worth_a_look(std::int64_t global_batch) {
  constexpr int kMost = 1024;
  std::set<int> found;
  for (int wanted = 2; wanted <= kMost; wanted *= 2) {
    int nearest = 1;
    for (int m = 2; m <= 2 * kMost && m <= global_batch; ++m)
      if (global_batch % m == 0 && std::abs(std::log2(m) - std::log2(wanted)) < std::abs(std::log2(nearest) - std::log2(wanted)))
        nearest = m;
    if (nearest > 1) found.insert(nearest);
  }
  return {found.begin(), found.end()};
}

std::vector<PipelineSetting> settings_worth_a_look(std::int64_t global_batch, const SettingsConfig& config) {
  std::vector<int> counts{config.micro_batches};
  if (config.micro_batches == 0) {
    counts = micro_batches_worth_a_look(global_batch);
    counts.push_back(1);
    std::ranges::stable_sort(counts, {}, [](int m) { return std::abs(std::log2(m) - kLikelyGood); });
  }
  std::vector<PipelineSetting> settings;
  for (const int count : counts)
    for (const pcg::Recompute again : {pcg::Recompute::none, pcg::Recompute::full})
      for (const auto& [zero, accumulates] : updates(config)) {
        if (again == pcg::Recompute::full && !config.recompute) continue;
        PipelineSetting setting{.micro_batches = count, .recompute = again, .zero = zero};
        setting.memory.zero.accumulates = accumulates;
        settings.push_back(std::move(setting));
      }
  return settings;
}

double least_seconds(const Problem& problem, const pcg::Graph& graph, const PipelineSetting& setting, OperatorCatalog& catalog) {
  double least = std::numeric_limits<double>::infinity();
  for (const int size : stage_sizes(problem.cluster, Submeshes::all))
    least =
        std::min(least, seconds_of_even_rounds(setting.micro_batches, true, size, graph, setting, catalog, problem.cluster.device_count()));
  return least;
}

std::vector<PipelinePlan> pipeline_plans(const Problem& problem, const pcg::Graph& graph, const PipelineSetting& setting,
                                         std::span<const StageShape> shapes, const PipelineConfig& config, OperatorCatalog& catalog,
                                         BranchShapes& branch_shapes, const Budget& budget) {
  const auto plans_of = [&](std::vector<Segment> segments, std::span<const StageShape> of) {
    return Pipelines(problem, graph, std::move(segments), setting, of, config, catalog, branch_shapes, budget).run();
  };
  std::vector<Segment> narrow = stage_parts(graph, problem.training.precision, config.parts),
                       wide = stage_parts(graph, problem.training.precision, config.parts, PartEnds::blocks);
  if (narrow == wide) return plans_of(std::move(narrow), shapes);
  std::vector<StageShape> one, several;
  for (const StageShape& s : shapes) {
    if (s.fewest_stages <= 1) one.push_back({1, 1, s.largest_block, s.given});
    if (s.most_stages > 1) several.push_back({std::max<std::size_t>(2, s.fewest_stages), s.most_stages, s.largest_block, s.given});
  }
  std::vector<PipelinePlan> plans = plans_of(std::move(narrow), one);
  std::ranges::move(plans_of(std::move(wide), several), std::back_inserter(plans));
  return plans;
}

}  // namespace search
