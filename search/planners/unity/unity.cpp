#include "search/planners/unity/unity.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "search/planners/data_parallel/data_parallel.hpp"
#include "search/planners/expert_dlrm/expert_dlrm.hpp"
#include "search/planners/flexflow/flexflow.hpp"
#include "search/planners/megatron/megatron_search.hpp"
#include "search/planners/unity/rewritten_model.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/limit_options.hpp"
#include "search/solve/mapping/chain.hpp"
#include "search/solve/operators/strategy_plan.hpp"
#include "search/solve/operators/summary.hpp"
#include "search/solve/stages/pipelines.hpp"

namespace search {
namespace {

constexpr Objective kForEstimates{.synchronisation = 0.5};
constexpr double kWalkAlpha = 10;      // FlexFlowConfig::alpha
constexpr double kShareOfWalk = 0.2;   // of the budget, at most
constexpr double kShareOfGrid = 0.25;  // of the budget, at most
constexpr double kShareOfPipelines = 0.3;
constexpr double kShareOfRewriting = 0.25;  // of the candidates: `graphs` limits it, too, and leaves time enough

std::span<const rules::Rule> rules_of(const UnityConfig& config) {
  if (!config.algebra) return {};
  return rules_to_ask(config.rules);
}

Cuts cuts_of(const NamedFlags& given) {
  const auto may = [&](std::string_view word) {
    const auto at = given.find(std::string(word));
    return at == given.end() || at->second;
  };
  return {may("samples"), may("features"), may("reduction"), may("heads")};
}

class UnitySearch {
 public:
  UnitySearch(const Problem& problem, const UnityConfig& config, const SearchContext& context)
      : problem_(problem),
        config_(config),
        context_(context),
        budget_(context, config.budget),
        confirmation_(problem, context, "unity"),
        catalog_(problem, config.most_cut),
        devices_(problem.cluster.device_count()),
        graph_(pcg::with_batch(problem.model, problem.training.global_batch)),
        model_(graph_, config.segment, rules_of(config), catalog_, shapes_) {}

  SearchResult run() {
    confirm_known_plans();
    rewrite();
    choose();
    pipeline();
    refine();
    return result();
  }

 private:
  // What experts would try: replicas, tables on single devices, and the best of Megatron's grid, which has pipelines, micro-batches and
  // recomputation besides.
  void confirm_known_plans() {
    if (const Attempt<pcg::Plan> plan = data_parallel_plan(problem_, {})) confirmation_.confirm(*plan);
    if (const Attempt<pcg::Plan> plan = expert_dlrm_plan(problem_)) confirmation_.confirm(*plan);
    if (!config_.grid) return;
    SearchResult grid = megatron_search(problem_, {.budget = budget_.part(kShareOfGrid)}, context_);
    budget_.add_part(grid.counted, grid.termination.limit());
    if (grid.best) settings_.push_back(setting_of(*grid.best));
    if (grid.best && grid.simulation) confirmation_.take(std::move(*grid.best), std::move(*grid.simulation));
  }

  void rewrite() {
    const VariantsConfig config{.threshold = config_.threshold, .graphs = config_.graphs};
    Budget part(context_, budget_.part(1, kShareOfRewriting));
    model_.rewrite(config, estimate(), part);
    budget_.add_part(part.counted(), part.ended_by());
    for (std::size_t s = 0; s < model_.segments(); ++s) {
      const std::vector<Variant>& variants = model_.variants(s);
      plain_.push_back({{&variants[0].part}});
      const auto apart = std::ranges::find(variants, true, &Variant::is_apart);
      has_apart_ = has_apart_ || apart != variants.end();
      apart_.push_back({{apart != variants.end() ? &apart->part : &variants[0].part}});
      Link& link = links_.emplace_back();
      // In sequence: what is best for one device, whatever that means for many.
      if (!config_.joint) link.variants = {&variants[quickest(variants)].part};
      else
        for (const Variant& v : variants) link.variants.push_back(&v.part);
    }
  }

  [[nodiscard]] Estimate estimate() {
    if (config_.joint) return [this](KindNumber k) { return catalog_.plain_seconds(k, devices_, kForEstimates); };
    return [this](KindNumber k) { return catalog_.alone_seconds(k, devices_); };
  }

  // The cheapest choices under each objective of gradients, and, where none fits, under dearer memory.
  void choose() {
    const double memory = problem_.oracle.device(base::DeviceId(0)).memory.value();
    for (const double price : kMemoryPrices) {
      for (const double share : kSynchronisationShares) {
        // Few cuts besides many: what overlaps is not in these costs, and simpler plans leave less to overlap.
        for (const int most_cut : {1, config_.most_cut})
          if (!map_and_confirm({share, price * cheapest_plan_ / memory}, most_cut)) return;
        ++objectives_;
      }
      if (best_) return;
    }
  }

  // Returns: whether the budget allowed it.
  bool map_and_confirm(const Objective& objective, int most_cut) {
    Shortlists lists(catalog_, objective, config_.most_strategies, most_cut, config_.cuts);
    Mapping mapping(problem_.cluster, lists, shapes_, {config_.side_by_side, config_.remember});
    for (const std::vector<Link>* links : {&plain_, &links_, &apart_}) {
      if ((links == &plain_ && !config_.joint) || (links == &apart_ && !(config_.joint && has_apart_))) continue;
      if (!budget_.take()) return false;
      const auto placed = place_chain(mapping, *links, {0, devices_}, budget_);
      if (!placed || (budget_.time_is_up() && confirmation_.has_plan())) return false;
      if (cheapest_plan_ == 0) cheapest_plan_ = placed->seconds;
      evaluate(mapping, *placed, *links, objective.seconds_per_byte == 0);
    }
    return true;
  }

  // A rewritten graph, and where its operators run, by node.
  struct Found {
    Joined joined;
    std::vector<KindNumber> kinds;
    std::vector<Placement> placement;
    std::vector<std::size_t> variant;  // per segment
    base::Seconds time;
  };

  void evaluate(Mapping& mapping, const PlacedChain& chain, const std::vector<Link>& links, bool memory_is_free) {
    Found f;
    std::vector<std::size_t>& variant = f.variant;
    for (std::size_t s = 0; s < model_.segments(); ++s) {
      const Mapping::Part* part = links[s].variants[chain.links[s].variant];
      const std::vector<Variant>& all = model_.variants(s);
      variant.push_back(static_cast<std::size_t>(std::ranges::find(all, part, [](const Variant& v) { return &v.part; }) - all.begin()));
    }
    f.joined = model_.with(variant);
    f.kinds = catalog_.kinds_of(f.joined.graph);
    f.placement.resize(f.joined.graph.nodes().size());
    for (std::size_t s = 0; s < model_.segments(); ++s) {
      const Variant& v = model_.variants(s)[variant[s]];
      for (std::size_t o = 0; o < v.segment.operators.size(); ++o) {
        const Placed& p = chain.links[s].placed[o];
        const std::uint32_t n = v.segment.operators[o];
        f.placement[f.joined.node[s][n]] = {p.block, mapping.way(v.kinds[n], p)};
      }
    }
    keep(std::move(f), memory_is_free ? std::optional(base::Seconds(chain.seconds)) : std::nullopt);
  }

  void keep(Found f, std::optional<base::Seconds> expected) {
    const std::optional<base::Seconds> time = confirmation_.confirm(plan_of(f), expected);
    if (!time) return;
    f.time = *time;
    if (!best_ || *time < best_->time) best_ = std::move(f);
  }

  [[nodiscard]] pcg::Plan plan_of(const Found& f) {
    std::vector<Strategy> strategies(f.kinds.size());
    std::vector<const Strategy*> choice(f.kinds.size(), nullptr);
    for (std::size_t n = 0; n < f.kinds.size(); ++n) {
      if (f.kinds[n] == kSource) continue;
      strategies[n] = catalog_.strategy(f.kinds[n], f.placement[n].block, f.placement[n].way);
      choice[n] = &strategies[n];
    }
    pcg::Plan plan = plan_of_strategies(problem_, f.joined.graph, choice);
    plan.summary = summary_of_cuts(plan);
    model_.add_rewrites(f.variant, f.joined.graph, plan);
    return plan;
  }

  [[nodiscard]] static PipelineSetting setting_of(const pcg::Plan& p) {
    return {p.micro_batches, pcg::ScheduleKind::one_f_one_b, p.recompute, p.zero, p.memory, p.overlap};
  }

  // Stages of micro-batches: of the graph as it is, and as it was rewritten for the best plan so far, or for one device. With as many
  // micro-batches, and as much saving of memory, as the best of Megatron's grid; and without saving, with other numbers of them.
  void pipeline() {
    if (!config_.pipelines) return;
    Budget budget(context_, budget_.part(kShareOfPipelines));
    std::vector<PipelineSetting> settings = settings_;
    for (const int m : micro_batches_worth_a_look(problem_.training.global_batch)) settings.push_back({.micro_batches = m});
    std::vector<std::vector<std::size_t>> variants{std::vector<std::size_t>(model_.segments(), 0)};
    std::vector<std::size_t> rewritten_graph;
    for (std::size_t seg = 0; seg < model_.segments(); ++seg)
      rewritten_graph.push_back(best_ ? best_->variant[seg] : quickest(model_.variants(seg)));
    if (rewritten_graph != variants.front()) variants.push_back(std::move(rewritten_graph));
    for (PipelineSetting& setting : settings) {
      setting.schedule = config_.schedule;
      if (const auto best = confirmation_.best_time()) setting.to_beat = best->value();
      if (setting.micro_batches < 2 || is_too_slow(setting)) continue;
      bool is_hopeless = true;  // and so are more micro-batches
      for (const std::vector<std::size_t>& variant : variants) {
        const pcg::Graph graph = pcg::with_batch(model_.with(variant).graph, problem_.training.global_batch / setting.micro_batches);
        if (least_seconds(problem_, graph, setting, catalog_) >= setting.to_beat) continue;
        is_hopeless = false;
        const PipelineConfig config{.most_strategies = config_.most_strategies,
                                    .most_cut = config_.most_cut,
                                    .parts = {.fewest = config_.segment},
                                    .side_by_side = config_.side_by_side,
                                    .remember = config_.remember,
                                    .cuts = config_.cuts};
        if (!budget.take()) break;
        for (PipelinePlan& p : pipeline_plans(problem_, graph, setting, std::array{StageShape{}}, config, catalog_, shapes_, budget)) {
          model_.add_rewrites(variant, graph, p.plan);
          confirmation_.confirm(std::move(p.plan), p.expected);
        }
      }
      if (budget.ended_by()) break;
      ++pipelines_;
      if (is_hopeless && &setting >= settings.data() + settings_.size()) break;
    }
    budget_.add_part(budget.counted(), budget.ended_by());
  }

  // Two stages or more take longer than the best plan even if they are equally long, nothing moves, and kernels of a micro-batch are as
  // efficient as those of the batch.
  bool is_too_slow(const PipelineSetting& setting) {
    const std::optional<base::Seconds> best = confirmation_.best_time();
    if (!best) return false;
    double least = 0;
    for (std::size_t s = 0; s < model_.segments(); ++s) {
      double of_segment = std::numeric_limits<double>::infinity();
      for (const Variant& v : model_.variants(s)) {
        double sum = 0;
        for (const std::uint32_t n : v.segment.operators) sum += catalog_.plain_seconds(v.kinds[n], devices_, {.synchronisation = 0});
        of_segment = std::min(of_segment, sum);
      }
      least += of_segment;
    }
    const double rounds = setting.micro_batches + (setting.schedule == pcg::ScheduleKind::two_bw ? 0.0 : 1.0);
    return least * rounds / setting.micro_batches >= best->value();
  }

  // Sums and maxima of single costs do not see what overlaps: walks that are judged by a schedule do. From the best plan first; then from
  // data parallelism, with the graph as it is and as one device would have it, so that what sequential optimisation finds is not missed.
  void refine() {
    if (config_.steps == 0 || !config_.cuts.all()) return;  // walks cut along anything
    if (best_) {
      std::vector<Placement> from;
      for (std::size_t n = 0; n < best_->kinds.size(); ++n)
        if (best_->kinds[n] != kSource) from.push_back(best_->placement[n]);
      walk(catalog_, best_->joined.graph, std::move(from), best_->variant);
    }
    if (!config_.joint) return;
    const std::vector<std::size_t> as_it_is(model_.segments(), 0);
    walk(catalog_, graph_, {}, as_it_is);
    std::vector<std::size_t> alone;
    for (std::size_t s = 0; s < model_.segments(); ++s) {
      const std::vector<Variant>& all = model_.variants(s);
      const auto seconds = [&](const Variant& v) {
        double sum = 0;
        for (const std::uint32_t n : v.segment.operators) sum += catalog_.alone_seconds(v.kinds[n], devices_);
        return sum;
      };
      const auto at = std::ranges::min_element(all, {}, seconds);
      alone.push_back(static_cast<std::size_t>(at - all.begin()));
    }
    const Joined for_one_device = model_.with(alone);
    if (alone != as_it_is) walk(catalog_, for_one_device.graph, {}, alone);
    // Where few loops are cut a walk gets farther.
    OperatorCatalog simple(problem_, 1);
    walk(simple, for_one_device.graph, {}, alone);
  }

  void walk(OperatorCatalog& catalog, const pcg::Graph& graph, std::vector<Placement> from, const std::vector<std::size_t>& variant) {
    if (budget_.is_spent()) return;
    const FlexFlowConfig config{.budget = budget_.part(kShareOfWalk), .proposals = config_.steps, .alpha = kWalkAlpha};
    SearchResult r = flexflow_search(problem_, graph, config, context_, catalog, std::move(from));
    budget_.add_part(r.counted, r.termination.limit());
    if (r.best && r.simulation) {
      model_.add_rewrites(variant, graph, *r.best);
      confirmation_.take(std::move(*r.best), std::move(*r.simulation));
    } else if (r.closest) {
      model_.add_rewrites(variant, graph, *r.closest);
      confirmation_.confirm(std::move(*r.closest));
    }
  }

  SearchResult result() {
    SearchResult r = std::move(confirmation_).result(budget_);
    r.notes.push_back(
        fmt::format("{} segments, {} of them unlike; {} rewritten graphs looked at; mapped under {} objectives of gradients and memory; "
                    "stages cut for {} numbers of micro-batches",
                    model_.segments(), model_.unlike_segments(), model_.looked_at(), objectives_, pipelines_));
    if (config_.rules.of_file) r.notes.push_back(asked_text(config_.rules));
    return r;
  }

  const Problem& problem_;
  UnityConfig config_;
  const SearchContext& context_;
  Budget budget_;
  Confirmation confirmation_;
  OperatorCatalog catalog_;
  int devices_;
  BranchShapes shapes_;
  pcg::Graph graph_;
  RewrittenModel model_;
  std::vector<Link> plain_, links_, apart_;  // segments as they are, with their variants, and without joined tensors where they can be
  bool has_apart_ = false;
  std::optional<Found> best_;
  double cheapest_plan_ = 0;  // seconds of the first mapping
  std::size_t objectives_ = 0;
  std::vector<PipelineSetting> settings_;  // of plans from elsewhere
  std::size_t pipelines_ = 0;              // settings that stages were cut for
};

std::optional<OptionProblem> unity_contradiction(const OptionValues& o) {
  if (o.flag("algebra") || !o.given("rules")) return std::nullopt;
  return OptionProblem{"rules", "rules are given to a search that applies none", "remove rules, or algebra: false"};
}

}  // namespace

SearchResult unity_search(const Problem& problem, const UnityConfig& config, const SearchContext& context) {
  return UnitySearch(problem, config, context).run();
}

Planner unity_planner() {
  const UnityConfig defaults;
  const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {
      .kind = "unity",
      .about = "Algebraic rewrites, cuts of every operator and machine mapping chosen together (Unity).",
      .searches = true,
      .options = with_limits(
          defaults.budget.seconds, "rules applied, mappings, choices of micro-batches, steps of walks, and what the grid counts,",
          {{"strategies", WholeNumber{.least = 1, .most = 10000, .by_default = whole(defaults.most_strategies)},
            "ways to run an operator that are chosen among, at most: those that cost least by themselves"},
           {"loops", WholeNumber{.least = 1, .most = 4, .by_default = defaults.most_cut},
            "loops of an operator (samples, rows, columns, heads, ...) that are cut at once, at most"},
           {"segment", WholeNumber{.least = 0, .most = 1000000, .by_default = whole(defaults.segment)},
            "operators of a segment, at least, where the graph is split; 0: it is not split"},
           {"side_by_side", Flag{defaults.side_by_side}, "independent branches may run beside each other, on GPUs of their own"},
           {"cache", Flag{defaults.remember}, "costs of equal sub-problems are worked out once"},
           {"algebra", Flag{defaults.algebra}, "graphs are rewritten by proved substitutions"},
           {"rules", RulesOfFile{}, "its rules are asked in place of those that ship; each is proved before", "those that ship"},
           {"joint", Flag{defaults.joint}, "rewrites and parallelism are chosen together; else rewrites first, as one GPU would have them"},
           {"grid", Flag{defaults.grid}, "the best plan of Megatron's grid, with pipelines and recomputation, is among the candidates"},
           {"cut", Flags{.words = {"samples", "features", "reduction", "heads"}},
            "dimensions along which the mapping cuts operators; where one is left out, there are no walks", "all"},
           {"pipelines", Flag{defaults.pipelines}, "stages of micro-batches are cut together with the mapping inside them"},
           {"schedule", Choice{.words = {"1f1b", "2bw"}},
            "of these pipelines: emptied after each iteration, or kept full with two versions of the weights, which trains on gradients "
            "that "
            "are one update old"},
           {"threshold", RealNumber{.least = 1, .by_default = defaults.threshold},
            "a graph that costs more than so many times the best is not rewritten further"},
           {"graphs", WholeNumber{.least = 1, .most = 1000000, .by_default = whole(defaults.graphs)},
            "rewritten ones of a segment that are looked at, at most"},
           {"steps", WholeNumber{.least = 0, .most = 100000000, .by_default = whole(defaults.steps)},
            "changes of one operator that each of up to four searches by walks looks at, judged by a schedule, from the best plan and from "
            "data parallelism"}}),
      .contradiction = unity_contradiction,
      .plan = [](const Problem& p, const OptionValues& o, const SearchContext& c) {
        const auto size = [&](std::string_view key) { return static_cast<std::size_t>(o.whole_number(key)); };
        return unity_search(p,
                            {.budget = limits_of(o),
                             .most_strategies = size("strategies"),
                             .most_cut = static_cast<int>(o.whole_number("loops")),
                             .segment = size("segment"),
                             .side_by_side = o.flag("side_by_side"),
                             .remember = o.flag("cache"),
                             .algebra = o.flag("algebra"),
                             .rules = o.rules("rules"),
                             .joint = o.flag("joint"),
                             .grid = o.flag("grid"),
                             .cuts = cuts_of(o.flags("cut")),
                             .pipelines = o.flag("pipelines"),
                             .schedule = o.choice("schedule") == 0 ? pcg::ScheduleKind::one_f_one_b : pcg::ScheduleKind::two_bw,
                             .threshold = o.real_number("threshold"),
                             .graphs = size("graphs"),
                             .steps = size("steps")},
                            c);
      }};
}

}  // namespace search
