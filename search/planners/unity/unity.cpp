#include "search/planners/unity/unity.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/planners/expert_dlrm/expert_dlrm.hpp"
#include "search/planners/unity/variants.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/options.hpp"
#include "search/solve/mapping/segments.hpp"
#include "search/solve/operators/strategies.hpp"
#include "search/solve/stages/pipelines.hpp"

namespace search {
namespace {

constexpr Objective kForEstimates{.synchronisation = 0.5};
constexpr double kShareOfWalk = 0.2;    // of the budget, at most
constexpr double kShareOfGrid = 0.25;   // of the candidates
constexpr double kShareOfBlocks = 0.4;  // of the effort; then branches go on no block that is new: set by hand
constexpr double kShareOfPipelines = 0.3;
constexpr double kShareOfRewriting = 0.25;  // of the candidates: `graphs` limits it, too, and leaves time enough

Cuts cuts_of(const NamedFlags& given) {
  const auto may = [&](const std::string& word) { return !given.contains(word) || given.at(word); };
  return {may("samples"), may("features"), may("reduction"), may("heads")};
}

// The parts of a search that its steps share.
struct UnitySearch {
  const Problem& problem;
  const UnityConfig& config;
  const SearchContext& context;
  Budget budget{context, config.budget};
  Confirmation confirmation{problem, context, "unity", Ties::to_quickest};
  OperatorCatalog catalog{problem, config.most_cut};
  int devices = problem.cluster.device_count();
  pcg::Graph graph = pcg::with_batch(problem.model, problem.training.global_batch);
  BranchShapes shapes{};
  RewrittenModel model{graph, config.segment, config.algebra ? rules_to_ask(config.rules) : std::span<const rules::Rule>(), catalog,
                       shapes};
};

// The plans of experts: replicas, tables on single devices, and the best of Megatron's grid, which also has pipelines, micro-batches and
// recomputation. Returns: the settings of the last.
std::vector<PipelineSetting> confirm_known_plans(UnitySearch& s, SearchResult grid) {
  confirm_data_parallel(s.problem, s.config.known_plans ? Replicas::sharded : Replicas::whole, s.confirmation);
  if (!s.config.known_plans) return {};
  if (const Attempt<pcg::Plan> plan = expert_dlrm_plan(s.problem)) s.confirmation.confirm(*plan);
  s.budget.add_part(grid.counted, grid.termination.limit());
  std::vector<PipelineSetting> settings;
  if (const auto& p = grid.best)
    settings.push_back({p->micro_batches, pcg::ScheduleKind::one_f_one_b, p->recompute, p->zero, p->memory, p->overlap});
  if (grid.best && grid.simulation) s.confirmation.take(std::move(*grid.best), std::move(*grid.simulation));
  return settings;
}

Estimate estimate_of(UnitySearch& s) {
  if (s.config.joint) return [&s](KindNumber k) { return s.catalog.plain_seconds(k, s.devices, kForEstimates); };
  return [&s](KindNumber k) { return s.catalog.alone_seconds(k, s.devices); };
}

using Chain = std::vector<Link>;

// Chains of segments to map: none rewritten, each with any of its variants, and all joined tensors taken apart; or each as it is best for a
// single device.
std::vector<Chain> rewrite(UnitySearch& s) {
  const VariantsConfig config{.threshold = s.config.threshold, .graphs = s.config.graphs};
  Budget part(s.context, s.budget.part(1, kShareOfRewriting));
  s.model.rewrite(config, estimate_of(s), part);
  s.budget.add_part(part.counted(), part.ended_by());
  Chain plain, any, apart, alone;
  const std::vector<std::size_t> best = s.model.quickest();
  for (std::size_t segment = 0; segment < s.model.segments(); ++segment) {
    const std::vector<Variant>& variants = s.model.variants(segment);
    alone.push_back({&variants[best[segment]].part});
    plain.push_back({&variants[0].part});
    const auto taken = std::ranges::find(variants, true, &Variant::is_apart);
    apart.push_back({taken != variants.end() ? &taken->part : &variants[0].part});
    Link& link = any.emplace_back();
    for (const Variant& v : variants) link.push_back(&v.part);
  }
  if (!s.config.joint) return {alone};
  return apart != plain ? std::vector{plain, any, apart} : std::vector{plain, any};
}

// Replicas of the quickest variant of each segment: what rewrites alone gain, whatever the budget leaves to the mapping.
void confirm_rewritten_replicas(UnitySearch& s) {
  const std::vector<std::size_t> variants = s.model.quickest();
  const Joined joined = s.model.with(variants);
  const Attempt<std::vector<Strategy>> replicas = strategies_on_grid(joined.graph, {}, s.devices, s.problem.training.global_batch);
  if (!replicas) return;
  pcg::Plan plan = plan_of_strategies(s.problem, joined.graph, *replicas);
  plan.name = "rewrites";
  plan.summary = summary_of_cuts(plan);
  s.model.add_rewrites(variants, joined.graph, plan);
  s.confirmation.confirm(std::move(plan));
}

// A rewritten graph, and where its operators run, by node.
struct Found {
  Joined joined;
  std::vector<KindNumber> kinds;
  std::vector<Placement> placement;
  std::vector<std::size_t> variant;  // per segment
  base::Seconds time;
};

Found found_of(UnitySearch& s, Mapping& mapping, const PlacedChain& chain, const Chain& links) {
  Found f;
  for (std::size_t segment = 0; segment < s.model.segments(); ++segment) {
    const Mapping::Part* part = links[segment][chain.links[segment].variant];
    const std::vector<Variant>& all = s.model.variants(segment);
    f.variant.push_back(static_cast<std::size_t>(std::ranges::find(all, part, [](const Variant& v) { return &v.part; }) - all.begin()));
  }
  f.joined = s.model.with(f.variant);
  f.kinds = s.catalog.kinds_of(f.joined.graph);
  f.placement.resize(f.joined.graph.nodes().size());
  for (std::size_t segment = 0; segment < s.model.segments(); ++segment) {
    const Variant& v = s.model.variants(segment)[f.variant[segment]];
    for (std::size_t o = 0; o < v.segment.operators.size(); ++o) {
      const Placed& p = chain.links[segment].placed[o];
      const std::uint32_t n = v.segment.operators[o];
      f.placement[f.joined.node[segment][n]] = {p.block, mapping.strategy(v.kinds[n], p)};
    }
  }
  return f;
}

pcg::Plan plan_of(UnitySearch& s, const Found& f) {
  std::vector<Strategy> strategies(f.kinds.size());
  for (std::size_t n = 0; n < f.kinds.size(); ++n)
    if (f.kinds[n] != kSource) strategies[n] = s.catalog.strategy(f.kinds[n], f.placement[n].block, f.placement[n].strategy);
  pcg::Plan plan = plan_of_strategies(s.problem, f.joined.graph, strategies);
  plan.name = "mapping";
  plan.summary = summary_of_cuts(plan);
  s.model.add_rewrites(f.variant, f.joined.graph, plan);
  return plan;
}

// The best mapping that fits, and how many objectives were searched.
struct Mapped {
  std::optional<Found> best;
  double cheapest_plan = 0;  // seconds of the first plan
  std::size_t objectives = 0;
};

// Returns: whether the budget allowed it.
bool map_and_confirm(UnitySearch& s, const std::vector<Chain>& chains, const Objective& objective, int most_cut, Mapped& mapped) {
  Shortlists lists(s.catalog, objective, s.config.most_strategies, most_cut, s.config.cuts);
  Mapping mapping(lists, s.shapes, {.side_by_side = s.config.side_by_side, .remember = s.config.remember, .has_time = [&s] {
                                      return s.budget.gone() < kShareOfBlocks;
                                    }});
  for (const Chain& chain : chains) {
    if (!s.budget.take()) return false;
    const auto placed = place_chain(mapping, chain, {0, s.devices}, s.budget);
    if (!placed || (s.budget.time_is_up() && s.confirmation.has_plan())) return false;
    if (mapped.cheapest_plan == 0) mapped.cheapest_plan = placed->seconds;
    Found f = found_of(s, mapping, *placed, chain);
    const bool memory_is_free = objective.seconds_per_byte == 0;
    const auto time = s.confirmation.confirm(plan_of(s, f), memory_is_free ? std::optional(base::Seconds(placed->seconds)) : std::nullopt);
    if (!time) continue;
    f.time = *time;
    if (!mapped.best || *time < mapped.best->time) mapped.best = std::move(f);
  }
  return true;
}

// The cheapest choices under each objective of gradients, and, where none fits, where memory costs more.
Mapped map(UnitySearch& s, const std::vector<Chain>& chains) {
  Mapped mapped;
  const double memory = s.problem.oracle.device(base::DeviceId(0)).memory.value();
  for (const double multiplier : kMemoryCosts) {
    for (const double share : kSynchronisationShares) {
      // Few cuts and many: overlap is not in these costs, and simpler plans leave less to overlap.
      for (const int most_cut : {1, s.config.most_cut})
        if (!map_and_confirm(s, chains, {share, multiplier * mapped.cheapest_plan / memory}, most_cut, mapped)) return mapped;
      ++mapped.objectives;
    }
    if (mapped.best) return mapped;
  }
  return mapped;
}

// Pipelines of each graph in a setting. Returns: whether some could be better than the best plan.
bool confirm_pipelines(UnitySearch& s, const PipelineSetting& setting, const std::vector<std::vector<std::size_t>>& variants,
                       Budget& budget) {
  bool could_be_better = false;
  for (const std::vector<std::size_t>& variant : variants) {
    const pcg::Graph graph = pcg::with_batch(s.model.with(variant).graph, s.problem.training.global_batch / setting.micro_batches);
    if (least_seconds(s.problem, graph, setting, s.catalog) >= setting.to_beat) continue;
    could_be_better = true;
    const PipelineConfig config{.most_strategies = s.config.most_strategies,
                                .most_cut = s.config.most_cut,
                                .parts = {.fewest = s.config.segment},
                                .side_by_side = s.config.side_by_side,
                                .remember = s.config.remember,
                                .cuts = s.config.cuts};
    if (!budget.take()) break;
    for (PipelinePlan& p : pipeline_plans(s.problem, graph, setting, std::array{StageShape{}}, config, s.catalog, s.shapes, budget)) {
      s.model.add_rewrites(variant, graph, p.plan);
      s.confirmation.confirm(std::move(p.plan), p.expected);
    }
  }
  return could_be_better;
}

// Stages of micro-batches: of the graph as it is, and as it was rewritten for the best plan so far, or for one device. First in the
// settings of known plans; then without saving memory, with other numbers of micro-batches. Returns: how many settings were searched.
std::size_t pipeline(UnitySearch& s, std::vector<PipelineSetting> settings, const std::optional<Found>& best_mapped) {
  if (!s.config.pipelines) return 0;
  const std::size_t known = settings.size();
  Budget budget(s.context, s.budget.part(kShareOfPipelines));
  for (const int m : candidate_micro_batches(s.problem.training.global_batch)) settings.push_back({.micro_batches = m});
  std::vector<std::vector<std::size_t>> variants{std::vector<std::size_t>(s.model.segments(), 0)};
  std::vector<std::size_t> rewritten = best_mapped ? best_mapped->variant : s.model.quickest();
  if (rewritten != variants.front()) variants.push_back(std::move(rewritten));
  std::size_t searched = 0;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    PipelineSetting& setting = settings[i];
    setting.schedule = s.config.schedule;
    if (const auto best = s.confirmation.best_time()) setting.to_beat = best->value();
    if (setting.micro_batches < 2) continue;
    if (budget.ended_by()) break;
    ++searched;
    if (!confirm_pipelines(s, setting, variants, budget) && i >= known) break;  // nor could more micro-batches
  }
  s.budget.add_part(budget.counted(), budget.ended_by());
  return searched;
}

void walk(UnitySearch& s, const pcg::Graph& graph, std::vector<Placement> from, const std::vector<std::size_t>& variant) {
  if (s.budget.is_spent()) return;
  const FlexFlowConfig config{.budget = s.budget.part(kShareOfWalk), .proposals = s.config.steps};
  SearchResult r = flexflow_search(s.problem, graph, config, s.context, s.catalog, std::move(from));
  s.budget.add_part(r.counted, r.termination.limit());
  if (r.best && r.simulation) {
    s.model.add_rewrites(variant, graph, *r.best);
    s.confirmation.take(std::move(*r.best), std::move(*r.simulation));
  } else if (r.closest) {
    s.model.add_rewrites(variant, graph, *r.closest);
    s.confirmation.confirm(std::move(*r.closest));
  }
}

// Sums and maxima of single costs do not see overlap: walks that are judged by a schedule do. From the best plan first; then from data
// parallelism, with the graph as it is and as one device would have it, so that the plan of sequential optimisation is not missed.
void refine_by_walks(UnitySearch& s, const std::optional<Found>& best) {
  if (s.config.steps == 0 || !s.config.cuts.all()) return;  // walks cut along anything
  if (best) {
    std::vector<Placement> from;
    for (std::size_t n = 0; n < best->kinds.size(); ++n)
      if (best->kinds[n] != kSource) from.push_back(best->placement[n]);
    walk(s, best->joined.graph, std::move(from), best->variant);
  }
  if (!s.config.joint) return;
  const std::vector<std::size_t> as_it_is(s.model.segments(), 0);
  walk(s, s.graph, {}, as_it_is);
  const std::vector<std::size_t> alone = s.model.quickest([&](const Variant& v) {
    double sum = 0;
    for (const std::uint32_t n : v.segment.operators) sum += s.catalog.alone_seconds(v.kinds[n], s.devices);
    return sum;
  });
  if (alone != as_it_is) walk(s, s.model.with(alone).graph, {}, alone);
}

// Of the grid, and of all the rest. Where the file says what both may take, half of it at most goes to the grid, else as much as
// `megatron: search` has.
std::pair<SearchLimits, SearchLimits> budgets_of(const OptionValues& o, int gpus) {
  SearchLimits rest = limits_of(o, gpus);
  SearchLimits grid = MegatronSearchConfig::kEffort.on(gpus);
  const bool is_counted = rest.candidates != SearchLimits::kUncounted;
  if (o.given("budget")) {
    grid.seconds = is_counted ? rest.seconds / 2 : std::min(grid.seconds, rest.seconds / 2);
    rest.seconds = rest.seconds - grid.seconds;
  }
  if (is_counted)
    grid.candidates = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kShareOfGrid * static_cast<double>(rest.candidates)));
  return {grid, rest};
}

std::optional<OptionProblem> unity_contradiction(const OptionValues& o) {
  if (o.flag("algebra") || !o.given("rules")) return beyond_paper(o, {"grid", "pipelines", "schedule", "steps"});
  return OptionProblem{"rules", "rules are given to a search that applies none", "remove rules, or algebra: false"};
}

}  // namespace

SearchResult unity_search(const Problem& problem, const UnityConfig& config, const SearchContext& context) {
  SearchResult grid{.termination = Termination::nothing_found(Limit::options)};
  if (config.grid) grid = megatron_search(problem, {.budget = config.grid_budget}, context);
  UnitySearch s{problem, config, context};
  std::vector<PipelineSetting> settings = confirm_known_plans(s, std::move(grid));
  const std::vector<Chain> chains = rewrite(s);
  confirm_rewritten_replicas(s);
  const Mapped mapped = map(s, chains);
  const std::size_t pipelines = pipeline(s, std::move(settings), mapped.best);
  refine_by_walks(s, mapped.best);
  SearchResult r = std::move(s.confirmation).result(s.budget);
  r.notes.emplace_back("segments-mapped", s.model.segments(), s.model.unlike_segments(), s.model.evaluated(), mapped.objectives, pipelines);
  if (config.rules.of_file) r.notes.push_back(rules_asked(config.rules));
  return r;
}

Planner unity_planner() {
  const UnityConfig defaults;
  const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {
      .kind = "unity",
      .about = "Algebraic rewrites, cuts of every operator and machine mapping chosen together (Unity).",
      .searches = true,
      .options = with_limits(
          UnityConfig::kEffort, "rules applied, mappings, choices of micro-batches, steps of walks, and what the grid counts,",
          {{"strategies", WholeNumber{.least = 1, .most = 10000, .by_default = whole(defaults.most_strategies)},
            "strategies of an operator that are chosen among, at most: those that cost least by themselves"},
           {"loops", WholeNumber{.least = 1, .most = 4, .by_default = defaults.most_cut},
            "loops of an operator (samples, rows, columns, heads, ...) that are cut at once, at most"},
           {"segment", WholeNumber{.least = 0, .most = 1000000, .by_default = whole(defaults.segment)},
            "operators of a segment, at least, where the graph is split; 0: it is not split"},
           {"side_by_side", Flag{defaults.side_by_side}, "independent branches may run side by side, on GPUs of their own"},
           {"cache", Flag{defaults.remember}, "costs of equal sub-problems are worked out once"},
           {"algebra", Flag{defaults.algebra}, "graphs are rewritten by proved substitutions"},
           {"rules", RulesOfFile{}, "its rules are asked in place of those that ship; each is proved before", "those that ship"},
           {"joint", Flag{defaults.joint}, "rewrites and parallelism are chosen together; else rewrites first, as one GPU would have them"},
           {"grid", Flag{defaults.grid}, "the plan of `megatron: search`, within a budget of its own, is among the candidates"},
           {"cut", Flags{.words = {"samples", "features", "reduction", "heads"}},
            "dimensions along which the mapping cuts operators; where one is left out, there are no walks", "all"},
           {"pipelines", Flag{defaults.pipelines}, "stages of micro-batches are cut together with the mapping inside them"},
           {"schedule", Choice{.words = {"1f1b", "2bw"}},
            "of these pipelines: emptied after each iteration, or kept full with two versions of the weights, which trains on gradients "
            "that are one update old"},
           {"threshold", RealNumber{.least = 1, .by_default = defaults.threshold},
            "a graph that costs more than this times the best is not rewritten further"},
           {"graphs", WholeNumber{.least = 1, .most = 1000000, .by_default = whole(defaults.graphs)},
            "rewritten ones of a segment that are evaluated, at most"},
           {"steps", WholeNumber{.least = 0, .most = 100000000, .by_default = whole(defaults.steps)},
            "changes of one operator that each of up to three searches by walks tries, judged by a schedule, from the best plan and from "
            "data parallelism"},
           space_option()}),
      .contradiction = unity_contradiction,
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
        const auto size = [&](std::string_view key) { return static_cast<std::size_t>(o.whole_number(key)); };
        const auto [grid, rest] = budgets_of(o, p.cluster.device_count());
        const bool has_all = !is_of_paper(o);
        return unity_search(p,
                            {.budget = rest,
                             .grid_budget = grid,
                             .most_strategies = size("strategies"),
                             .most_cut = static_cast<int>(o.whole_number("loops")),
                             .segment = size("segment"),
                             .side_by_side = o.flag("side_by_side"),
                             .remember = o.flag("cache"),
                             .algebra = o.flag("algebra"),
                             .rules = o.rules("rules"),
                             .joint = o.flag("joint"),
                             .known_plans = has_all,
                             .grid = has_all && o.flag("grid"),
                             .cuts = cuts_of(o.flags("cut")),
                             .pipelines = has_all && o.flag("pipelines"),
                             .schedule = o.choice("schedule") == 0 ? pcg::ScheduleKind::one_f_one_b : pcg::ScheduleKind::two_bw,
                             .threshold = o.real_number("threshold"),
                             .graphs = size("graphs"),
                             .steps = has_all ? size("steps") : 0},
                            c);
      }};
}

}  // namespace search
