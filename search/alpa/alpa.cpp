#include "search/alpa/alpa.hpp"

#include <fmt/core.h>

#include "search/data_parallel/data_parallel.hpp"
#include "search/intra_op/intra_op.hpp"
#include "search/problem/confirmation.hpp"

namespace search {
namespace {

const char* word(AlpaSpace space) {
  switch (space) {
    case AlpaSpace::all: return "alpa";
    case AlpaSpace::stages_alone: return "inter-op";
    case AlpaSpace::samples: return "pp-dp";
  }
  return "";
}

// The pipelines of a space. Alpa's has those of its parts, so that it is not worse where the sum of costs and the simulation disagree.
std::vector<StageShape> shapes_of(AlpaSpace space, const AlpaConfig& config) {
  StageShape all;
  if (config.stages > 0) all.fewest_stages = all.most_stages = static_cast<std::size_t>(config.stages);
  StageShape alone = all;
  alone.largest_block = 1;
  switch (space) {
    case AlpaSpace::all: return {all, alone};
    case AlpaSpace::stages_alone: return {alone};
    case AlpaSpace::samples: return {all};
  }
  return {};
}

class AlpaSearch {
 public:
  AlpaSearch(const Problem& problem, AlpaSpace space, const AlpaConfig& config, const SearchContext& context)
      : problem_(problem),
        space_(space),
        config_(config),
        deadline_(context, config.budget),
        confirmation_(problem, context, word(space)),
        catalog_(problem, config.most_cut) {}

  SearchResult run() {
    if (const int m = config_.settings.micro_batches; m > 0 && problem_.training.global_batch % m != 0)
      return result_of_rule(Refusal{Constraint::batch,
                                    fmt::format("{} micro-batches do not divide a global batch of {}", m, problem_.training.global_batch)});
    const bool may_be_one_stage = config_.stages <= 1 && config_.settings.micro_batches == 0;
    std::vector<std::string> notes;
    if (space_ == AlpaSpace::all && may_be_one_stage)
      notes.push_back(confirm_intra_op(problem_, {.most_strategies = config_.most_strategies, .most_cut = config_.most_cut}, catalog_,
                                       deadline_, confirmation_));
    if (space_ == AlpaSpace::samples && may_be_one_stage)
      if (const Attempt<pcg::Plan> plan = data_parallel_plan(problem_, {})) confirmation_.confirm(*plan);
    const std::vector<StageShape> shapes = shapes_of(space_, config_);
    const PipelineConfig pipelines{
        .most_strategies = config_.most_strategies,
        .most_cut = config_.most_cut,
        .side_by_side = false,
        .cuts = space_ == AlpaSpace::samples ? Cuts{.features = false, .reduction = false, .heads = false} : Cuts{},
        .hand_overs_count = config_.transfers};
    std::size_t settings = 0;
    bool cut_off = false;
    for (PipelineSetting setting : settings_worth_a_look(problem_.training.global_batch, config_.settings)) {
      if (deadline_.has_passed()) {
        cut_off = true;
        break;
      }
      if (const auto best = confirmation_.best_time()) setting.to_beat = best->value();
      const pcg::Graph graph = pcg::with_batch(problem_.model, problem_.training.global_batch / setting.micro_batches);
      for (PipelinePlan& p : pipeline_plans(problem_, graph, setting, shapes, pipelines, catalog_, branch_shapes_, deadline_))
        confirmation_.confirm(std::move(p.plan), p.expected);
      ++settings;
    }
    SearchResult r = std::move(confirmation_).result(cut_off);
    if (r.candidates == 0 && !cut_off)
      r.termination = Termination::infeasible(
          Refusal{Constraint::layers, fmt::format("every GPU has work, and {} cannot be cut into such stages for {} GPUs",
                                                  problem_.model.name(), problem_.cluster.device_count())});
    r.notes.insert(r.notes.end(), notes.begin(), notes.end());
    r.notes.push_back(
        fmt::format("stages cut and mapped for {} choices of micro-batches, recomputation and shared updates; {} kinds of operators",
                    settings, catalog_.size()));
    return r;
  }

 private:
  const Problem& problem_;
  AlpaSpace space_;
  AlpaConfig config_;
  Deadline deadline_;
  Confirmation confirmation_;
  OperatorCatalog catalog_;
  BranchShapes branch_shapes_;
};

Planner planner_of(AlpaSpace space, std::string about) {
  const AlpaConfig defaults;
  Planner p{
      .kind = word(space),
      .about = std::move(about),
      .searches = true,
      .options = {{"budget", Duration{defaults.budget}, "the time that the search may take"},
                  {"stages", WholeNumber{.least = 1, .most = static_cast<std::int64_t>(kMostStages), .by_default = 0}, "of the pipeline",
                   "as many as are best"},
                  {"micro_batches", WholeNumber{.by_default = 0}, "of an iteration", "as many as are best"},
                  {"transfers", Flag{defaults.transfers}, "what stages hand on takes time; not in Alpa's own programme"},
                  {"recompute", Flag{defaults.settings.recompute}, "layers may be computed again from their inputs in the backward pass"},
                  {"update_sharding", Flag{defaults.settings.update_sharding},
                   "gradients and optimizer state may be shared out among replicas (ZeRO 2)"}},
      .plan = {}};
  if (space == AlpaSpace::all) {
    p.options.push_back({"strategies",
                         WholeNumber{.least = 1, .most = 10000, .by_default = static_cast<std::int64_t>(defaults.most_strategies)},
                         "ways to run an operator that are chosen among, at most: those that cost least by themselves"});
    p.options.push_back(
        {"loops", WholeNumber{.least = 1, .most = 4, .by_default = defaults.most_cut},
         "loops of an operator (samples, rows, columns, heads, ...) that are cut at once, at most: the axes of a logical mesh"});
  }
  p.plan = [space](const Problem& problem, const OptionValues& o, const SearchContext& c) {
    AlpaConfig config{.budget = o.duration("budget"),
                      .stages = static_cast<int>(o.whole_number("stages")),
                      .settings = {.micro_batches = static_cast<int>(o.whole_number("micro_batches")),
                                   .recompute = o.flag("recompute"),
                                   .update_sharding = o.flag("update_sharding")},
                      .transfers = o.flag("transfers")};
    if (space == AlpaSpace::all) {
      config.most_strategies = static_cast<std::size_t>(o.whole_number("strategies"));
      config.most_cut = static_cast<int>(o.whole_number("loops"));
    }
    return alpa_search(problem, space, config, c);
  };
  return p;
}

}  // namespace

SearchResult alpa_search(const Problem& problem, AlpaSpace space, const AlpaConfig& config, const SearchContext& context) {
  return AlpaSearch(problem, space, config, context).run();
}

Planner alpa_planner() {
  return planner_of(AlpaSpace::all,
                    "Stages of a pipeline, and every operator cut in its own way inside its stage, chosen together (Alpa).");
}

Planner inter_op_planner() {
  return planner_of(AlpaSpace::stages_alone,
                    "A pipeline of single GPUs, cut where it is the quickest (Alpa without intra-operator parallelism).");
}

Planner pp_dp_planner() {
  return planner_of(AlpaSpace::samples, "A pipeline whose stages are replicas of any number (PipeDream's space).");
}

}  // namespace search
