#include "search/planners/alpa/alpa.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>

#include "base/divisors.hpp"
#include "search/cost/estimate.hpp"
#include "search/cost/margins.hpp"
#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/problem/options.hpp"

namespace search {
namespace {

constexpr std::size_t kFirstStrategies = 6;  // strategies of an operator in the first pass, and plain ones
constexpr std::int64_t kMostLayers = 1000;
constexpr double kShareOfFirstPass = 0.5;  // of the budget, at most
// Settings, the most promising ones, that are searched with cuts by samples alone first: this takes little effort, and finds stages where
// the search over all cuts ends before it has any.
constexpr std::size_t kBySamples = 2;

const char* word(AlpaSpace space) { return std::array{"alpa", "inter-op", "pp-dp", "intra-op"}[static_cast<std::size_t>(space)]; }

// The next divisors of the batch below and above one of them.
std::vector<int> divisors_around(std::int64_t batch, int of) {
  const std::vector<std::int64_t> all = base::divisors(batch);
  const auto at = std::ranges::find(all, of);
  std::vector<int> around;
  if (at != all.begin()) around.push_back(static_cast<int>(*std::prev(at)));
  if (at != all.end() && std::next(at) != all.end()) around.push_back(static_cast<int>(*std::next(at)));
  return around;
}

// The pipelines of a space. Alpa's has those of its parts, so that it is not worse where the sum of costs and the simulation disagree.
std::vector<StageShape> shapes_of(AlpaSpace space, const AlpaConfig& config) {
  StageShape all;
  if (config.stages > 0) all.fewest_stages = all.most_stages = static_cast<std::size_t>(config.stages);
  all.given = config.given;
  StageShape alone = all, one = all;
  alone.largest_block = 1;
  one.fewest_stages = one.most_stages = 1;
  switch (space) {
    case AlpaSpace::all:
      if (config.stages == 0) return {all, alone, one};
      return config.given.devices.empty() ? std::vector{all, alone} : std::vector{all};
    case AlpaSpace::stages_alone: return {alone};
    case AlpaSpace::samples: return {all};
    case AlpaSpace::one_stage: return {one};
  }
  return {};
}

bool cuts_in_every_way(AlpaSpace space, const AlpaConfig& config) {
  return (space == AlpaSpace::all || space == AlpaSpace::one_stage) && config.intra_op == IntraOp::ilp;
}

bool may_be_one_stage(const AlpaConfig& config) { return config.stages <= 1 && config.settings.micro_batches == 0; }

// Micro-batches that are asked for, and do not divide the batch; or stages, and they do not have all GPUs, or all layers, between them.
std::optional<Refusal> unlike_the_question(const Problem& problem, const AlpaConfig& config) {
  const auto sum = [](const std::vector<int>& of) { return std::accumulate(of.begin(), of.end(), std::int64_t{0}); };
  const GivenStages& given = config.given;
  if (const int m = config.settings.micro_batches; m > 0 && problem.training.global_batch % m != 0)
    return not_dividing(m, problem.training.global_batch);
  if (const int devices = problem.cluster.device_count(); !given.devices.empty() && sum(given.devices) != devices)
    return refuse(Constraint::devices, "gpus_per_stage adds up to {} GPUs, there are {}", sum(given.devices), devices);
  if (given.parts.empty()) return std::nullopt;
  const std::size_t layers = stage_parts(problem.model, problem.training.precision, config.parts, PartEnds::blocks).size();
  if (sum(given.parts) == static_cast<std::int64_t>(layers)) return std::nullopt;
  return refuse(Constraint::layers, "layers_per_stage adds up to {} layers, {} is clustered into {}", sum(given.parts),
                problem.model.name(), layers);
}

// The same question in Alpa's own space.
AlpaConfig as_published(AlpaConfig config, AlpaSpace space, const Problem& problem) {
  if (space == AlpaSpace::samples) {
    config.settings.update_sharding = false;
    return config;
  }
  config.replicas = false;
  config.transfers = false;
  config.parts.by = Clustering::layers;
  config.submeshes = Submeshes::powers_of_two;
  if (space == AlpaSpace::stages_alone)
    config.parts.layers = std::max(config.parts.layers, static_cast<std::size_t>(problem.cluster.device_count()));
  return config;
}

SettingsConfig settings_of(const AlpaConfig& config) {
  SettingsConfig settings = config.settings;
  if (config.intra_op == IntraOp::data) settings.zero = 0;
  if (config.intra_op == IntraOp::zero_2) settings.zero = 2;
  if (config.intra_op == IntraOp::zero_3) settings.zero = 3;
  return settings;
}

PipelineConfig pipelines_of(AlpaSpace space, const AlpaConfig& config) {
  PipelineConfig pipelines{.most_strategies = config.most_strategies,
                           .most_cut = config.most_cut,
                           .parts = config.parts,
                           .submeshes = config.submeshes,
                           .side_by_side = false,
                           .counts_transfers = config.transfers && config.between_stages != pcg::BetweenStages::signal,
                           .within_memory = true};
  if (config.intra_op == IntraOp::largest_dimension) pipelines.cuts.only_largest = true;
  else if (space == AlpaSpace::samples || (space == AlpaSpace::all && config.intra_op != IntraOp::ilp))
    pipelines.cuts = {.features = false, .reduction = false, .heads = false};
  return pipelines;
}

// The best plan so far of those that were made here.
struct Best {
  base::Seconds simulated;
  std::optional<PipelinePlan::WithinMemory> within_memory;
};

class AlpaSearch {
 public:
  AlpaSearch(const Problem& problem, AlpaSpace space, const AlpaConfig& config, const SearchContext& context)
      : problem_(problem), space_(space), config_(config), context_(context) {}

  SearchResult run() {
    const bool shards = config_.settings.update_sharding;
    const bool has_replicas = space_ == AlpaSpace::samples || cuts_in_every_way(space_, config_);
    if (may_be_one_stage(config_) && (has_replicas || config_.intra_op == IntraOp::data))
      confirm_data_parallel(problem_, shards ? Replicas::sharded : Replicas::whole, confirmation_);
    if (may_be_one_stage(config_) && has_replicas && shards && config_.replicas)
      confirm_sharded(problem_, context_, budget_, confirmation_);
    const std::vector<PipelineSetting> settings =
        most_promising_first(candidate_settings(problem_.training.global_batch, settings_of(config_)));
    if (space_ == AlpaSpace::all && cuts_in_every_way(space_, config_) && config_.has_published)
      for (const PipelineSetting& setting : std::span(settings).first(std::min(settings.size(), kBySamples)))
        confirm(plans(setting, shapes_, pipelines_of(AlpaSpace::samples, config_)));
    for (const PipelineSetting& setting : settings)
      if (!confirm_pipelines(setting)) break;
    std::vector<base::Fact> notes;
    if (may_be_one_stage(config_) && cuts_in_every_way(space_, config_))
      notes = confirm_one_stage(problem_, config_.most_strategies, catalog_, budget_, confirmation_);
    refine_between();
    SearchResult r = std::move(confirmation_).result(budget_);
    if (best_ && best_->within_memory && r.objective == best_->simulated)
      notes.emplace_back("memory-limit-binds", best_->within_memory->is_proved, best_->within_memory->above_unlimited);
    if (r.candidates == 0 && !budget_.ended_by())
      r.termination = Termination::infeasible(refuse(Constraint::layers,
                                                     "every GPU has work, and {} cannot be cut into such stages, at most {}, for {} GPUs",
                                                     problem_.model.name(), config_.parts.most_stages(), problem_.cluster.device_count()));
    r.notes.insert(r.notes.end(), notes.begin(), notes.end());
    if (space_ != AlpaSpace::one_stage) r.notes.emplace_back("stages-mapped", settings_, catalog_.size());
    return r;
  }

 private:
  // Returns: whether the budget allowed it.
  bool confirm_pipelines(const PipelineSetting& setting) {
    if (!budget_.take()) return false;
    ++settings_;
    confirm(plans(setting, shapes_, pipelines_));
    // The published sums prefer other stages; which are better, simulations say.
    if (config_.has_published && confirmation_.has_plan() && confirmation_.best_plan()->micro_batches == setting.micro_batches)
      confirm(plans(setting, shapes_, pipelines_of(space_, as_published(config_, space_, problem_))));
    return true;
  }

  void confirm(std::vector<PipelinePlan> found) {
    for (PipelinePlan& p : found) confirm(std::move(p));
  }
  void confirm(PipelinePlan p) {
    const std::optional<base::Seconds> before = confirmation_.best_time();
    if (before && estimate(p.plan, problem_.oracle) >= kReplaysOfCutsErr * *before) return;
    confirmation_.confirm(std::move(p.plan), p.expected);
    if (const auto now = confirmation_.best_time(); now && (!before || *now < *before)) best_ = {*now, p.within_memory};
  }

  // Other numbers of micro-batches than those near powers of two: the next divisors of the batch to either side of the best, for as long as
  // these are better.
  void refine_between() {
    if (config_.settings.micro_batches > 0) return;
    const std::vector<int> at_first = candidate_micro_batches(problem_.training.global_batch);
    std::set<int> tried(at_first.begin(), at_first.end());
    tried.insert(1);
    for (bool is_better = confirmation_.has_plan(); is_better;) {
      const std::optional<base::Seconds> before = confirmation_.best_time();
      for (const int m : divisors_around(problem_.training.global_batch, confirmation_.best_plan()->micro_batches)) {
        if (!tried.insert(m).second) continue;
        SettingsConfig of = settings_of(config_);
        of.micro_batches = m;
        for (const PipelineSetting& setting : candidate_settings(problem_.training.global_batch, of))
          if (!confirm_pipelines(setting)) return;
      }
      is_better = confirmation_.best_time() < before;
    }
  }

  // Plans that could be quicker than the best so far.
  std::vector<PipelinePlan> plans(PipelineSetting setting, std::span<const StageShape> shapes, const PipelineConfig& config) {
    if (const auto best = confirmation_.best_time()) setting.to_beat = std::min(setting.to_beat, best->value());
    const pcg::Graph graph = pcg::with_batch(problem_.model, problem_.training.global_batch / setting.micro_batches);
    std::vector<PipelinePlan> found = pipeline_plans(problem_, graph, setting, shapes, config, catalog_, branch_shapes_, budget_);
    for (PipelinePlan& p : found)
      if (p.plan.stages > 1) p.plan.between_stages = config_.between_stages;
    return found;
  }

  // A first pass, over few strategies of each operator and stages of few layers, says which settings are likely to be good: these come
  // first, so that others soon prove worse, and the best so far is good whenever the time is up.
  std::vector<PipelineSetting> most_promising_first(std::vector<PipelineSetting> settings) {
    if (settings.size() < 2) return settings;
    PipelineConfig first_pass = pipelines_;
    first_pass.within_memory = false;
    first_pass.most_strategies = std::min(first_pass.most_strategies, kFirstStrategies);
    if (first_pass.parts.by == Clustering::segments) first_pass.parts.by = Clustering::layers;
    struct Estimated {
      PipelineSetting setting;
      double seconds = std::numeric_limits<double>::infinity();
      std::optional<pcg::Plan> plan{};
    };
    std::vector<Estimated> estimated;
    double best = std::numeric_limits<double>::infinity();
    Budget first(context_, budget_.part(kShareOfFirstPass));
    for (const PipelineSetting& s : settings) {
      Estimated& e = estimated.emplace_back(Estimated{s});
      if (!first.take()) continue;
      e.setting.to_beat = best;
      for (PipelinePlan& p : plans(e.setting, std::span(shapes_).first(1), first_pass)) {
        if (!problem_.oracle.memory(p.plan).fits()) continue;
        e.seconds = estimate(p.plan, problem_.oracle).value();
        e.plan = std::move(p.plan);
      }
      best = std::min(best, e.seconds);
      e.setting.to_beat = s.to_beat;
    }
    budget_.count(first.counted());
    std::ranges::stable_sort(estimated, {}, &Estimated::seconds);
    if (estimated.front().plan) confirmation_.confirm(*estimated.front().plan);
    settings.clear();
    for (Estimated& e : estimated) settings.push_back(std::move(e.setting));
    return settings;
  }

  const Problem& problem_;
  AlpaSpace space_;
  AlpaConfig config_;
  const SearchContext& context_;
  std::vector<StageShape> shapes_ = shapes_of(space_, config_);
  PipelineConfig pipelines_ = pipelines_of(space_, config_);
  std::size_t settings_ = 0;  // whose pipelines were searched
  Budget budget_{context_, config_.budget};
  std::optional<Best> best_;
  Confirmation confirmation_{problem_, context_, word(space_)};
  OperatorCatalog catalog_{problem_, config_.most_cut};
  BranchShapes branch_shapes_;
};

std::vector<Option> options_of_alpa_alone() {
  const AlpaConfig defaults;
  return {
      {"strategies", WholeNumber{.least = 1, .most = 10000, .by_default = static_cast<std::int64_t>(defaults.most_strategies)},
       "strategies of an operator that are chosen among, at most: those that cost least by themselves"},
      {"loops", WholeNumber{.least = 1, .most = 4, .by_default = defaults.most_cut},
       "loops of an operator (samples, rows, columns, heads, ...) that are cut at once, at most"},
      {"clustering", Choice{{"none", "dp", "equal-operator", "equal-layer"}},
       "what stages are made of: segments as cuts come, layers by Alpa's dynamic program, layers of equally many operators, or layers by "
       "that program and equally many in each stage"},
      {"layers", WholeNumber{.least = 1, .most = kMostLayers, .by_default = static_cast<std::int64_t>(defaults.parts.layers)},
       "that operators are clustered into"},
      {"submeshes", Choice{{"all", "power-of-two"}},
       "blocks of GPUs of a stage: of every size that divides the GPUs, or inside a machine powers of two alone"},
      {"gpus_per_stage", WholeNumbers{.least = 1, .most = std::numeric_limits<std::int32_t>::max()},
       "of each stage, in order, as of a plan that is known", "as many as are best"},
      {"layers_per_stage", WholeNumbers{.least = 1, .most = std::numeric_limits<std::int32_t>::max()},
       "of each stage, in order, of those that operators are clustered into", "as many as are best"},
      {"intra_op", Choice{{"ilp", "data", "zero-2", "zero-3", "largest-dimension"}},
       "inside a stage every operator is cut in its own way, or all by samples (with a stage of ZeRO), or each along its largest loop"},
      {"between_stages", Choice{pcg::names<pcg::BetweenStages>()},
       "how tensors go from stage to stage in the plan (`plan.between_stages`); the search itself counts inter-stage transfers with the "
       "local all-gather, and with signal none"}};
}

std::vector<int> numbers(const OptionValues& o, std::string_view key) {
  const std::vector<std::int64_t>& given = o.whole_numbers(key).numbers;
  return {given.begin(), given.end()};
}

std::optional<OptionProblem> contradiction_of(const OptionValues& o) {
  if (auto beyond = beyond_paper(o, {"transfers", "clustering", "submeshes"})) return beyond;
  const bool is_clustered = o.choice("clustering") != 0 || is_of_paper(o);
  if (!is_clustered && o.given("layers"))
    return OptionProblem{"layers", "operators are not clustered into layers", "add clustering: dp, or remove layers"};
  const std::size_t gpus = o.whole_numbers("gpus_per_stage").numbers.size(), layers = o.whole_numbers("layers_per_stage").numbers.size();
  const auto stages = static_cast<std::size_t>(o.whole_number("stages"));
  if (layers > 0 && !is_clustered)
    return OptionProblem{"layers_per_stage", "operators are not clustered into layers", "add clustering: dp"};
  const std::size_t most = is_clustered ? static_cast<std::size_t>(o.whole_number("layers")) : kMostStages;
  const char* key = gpus > most ? "gpus_per_stage" : stages > most ? "stages" : "layers_per_stage";
  if (std::max({gpus, layers, stages}) > most)
    return OptionProblem{key, fmt::format("there are more stages than {}", is_clustered ? "layers" : "are made of segments"),
                         fmt::format("{} at most{}", most, is_clustered ? ", or more layers" : ", or add clustering: dp and layers")};
  if (gpus > 0 && layers > 0 && gpus != layers)
    return OptionProblem{"layers_per_stage", fmt::format("{} stages are listed, gpus_per_stage lists {}", layers, gpus),
                         "list one number for each stage"};
  if (const std::size_t listed = std::max(gpus, layers); o.given("stages") && listed > 0 && listed != stages)
    return OptionProblem{"stages", fmt::format("there are {}, but {} are listed", stages, listed), "remove stages"};
  if (static_cast<pcg::BetweenStages>(o.choice("between_stages")) == pcg::BetweenStages::signal && o.given("transfers") &&
      o.flag("transfers"))
    return OptionProblem{"transfers", "signals between stages take no time", "remove transfers, or choose another between_stages"};
  return std::nullopt;
}

Planner planner_of(AlpaSpace space, std::string about) {
  const AlpaConfig defaults;
  Planner p{.kind = word(space),
            .about = std::move(about),
            .searches = true,
            .options = with_limits(
                AlpaConfig::kEffort, "choices of micro-batches, recomputation and shared updates, and objectives of gradients,",
                {{"stages", WholeNumber{.least = 1, .most = kMostLayers, .by_default = 0}, "of the pipeline", "as many as are best"},
                 {"micro_batches", WholeNumber{.by_default = 0}, "of an iteration", "as many as are best"},
                 {"transfers", Flag{defaults.transfers}, "inter-stage transfers take time; not in Alpa's own dynamic program"},
                 {"recompute", Flag{defaults.settings.recompute}, "layers may be computed again from their inputs in the backward pass"},
                 {"update_sharding", Flag{defaults.settings.update_sharding},
                  "gradients and optimizer state may be shared out among replicas (ZeRO 2)"},
                 space_option()}),
            .plan = {}};
  if (space == AlpaSpace::all)
    for (Option& o : options_of_alpa_alone()) p.options.push_back(std::move(o));
  if (space == AlpaSpace::all) p.contradiction = contradiction_of;
  if (space == AlpaSpace::samples) p.contradiction = [](const OptionValues& o) { return beyond_paper(o, {"update_sharding"}); };
  p.plan = [space](const Problem& problem, const OptionValues& o, const SearchContext& c) {
    AlpaConfig config{.budget = limits_of(o, problem.cluster.device_count()),
                      .stages = static_cast<int>(o.whole_number("stages")),
                      .settings = {.micro_batches = static_cast<int>(o.whole_number("micro_batches")),
                                   .recompute = o.flag("recompute"),
                                   .update_sharding = o.flag("update_sharding")},
                      .transfers = o.flag("transfers")};
    if (space == AlpaSpace::all) {
      config.most_strategies = static_cast<std::size_t>(o.whole_number("strategies"));
      config.most_cut = static_cast<int>(o.whole_number("loops"));
      config.parts.by = static_cast<Clustering>(o.choice("clustering"));
      config.parts.layers = static_cast<std::size_t>(o.whole_number("layers"));
      config.given = {numbers(o, "gpus_per_stage"), numbers(o, "layers_per_stage")};
      if (config.given.count() > 0) config.stages = static_cast<int>(config.given.count());
      config.submeshes = static_cast<Submeshes>(o.choice("submeshes"));
      config.intra_op = static_cast<IntraOp>(o.choice("intra_op"));
      config.between_stages = static_cast<pcg::BetweenStages>(o.choice("between_stages"));
    }
    if (is_of_paper(o)) config = as_published(config, space, problem);
    else config.has_published = space != AlpaSpace::samples && !o.given("transfers") && !o.given("clustering") && !o.given("submeshes");
    return alpa_search(problem, space, config, c);
  };
  return p;
}

}  // namespace

SearchResult alpa_search(const Problem& problem, AlpaSpace space, const AlpaConfig& config, const SearchContext& context) {
  if (const auto refusal = unlike_the_question(problem, config)) return result_of_rule(*refusal);
  return AlpaSearch(problem, space, config, context).run();
}

Planner alpa_planner() {
  return planner_of(AlpaSpace::all,
                    "Stages of a pipeline, and every operator cut in its own way inside its stage, chosen together (Alpa).");
}

Planner intra_op_planner() {
  std::vector<Option> options = options_of_alpa_alone();
  options.erase(options.begin() + 2, options.end());  // strategies and loops
  options.push_back(space_option());
  return {
      .kind = word(AlpaSpace::one_stage),
      .about =
          "Every operator cut in its own way over all GPUs, without a pipeline; the cheapest choices together of those that are compared.",
      .searches = true,
      .options =
          with_limits(AlpaConfig::kEffort, "objectives of gradients, and choices of micro-batches, recomputation and shared updates,",
                      std::move(options)),
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
        const AlpaConfig config{.budget = limits_of(o, p.cluster.device_count()),
                                .most_strategies = static_cast<std::size_t>(o.whole_number("strategies")),
                                .most_cut = static_cast<int>(o.whole_number("loops")),
                                .replicas = !is_of_paper(o)};
        return alpa_search(p, AlpaSpace::one_stage, config, c);
      }};
}

Planner inter_op_planner() {
  return planner_of(AlpaSpace::stages_alone,
                    "A pipeline of single GPUs, cut where it is the quickest (Alpa without intra-operator parallelism).");
}

Planner pp_dp_planner() {
  return planner_of(AlpaSpace::samples, "A pipeline whose stages are replicas of any number (PipeDream's space).");
}

}  // namespace search
