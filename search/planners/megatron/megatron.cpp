#include "search/planners/megatron/megatron.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "search/grid/grid_options.hpp"
#include "sim/schedules/schedule.hpp"

namespace search {
namespace {

using pcg::ScheduleKind;

std::vector<Option> options() {
  const GridConfig c;
  std::vector<Option> options = {
      degree_option("tensor", c.tensor, "devices that share each layer"),
      degree_option("pipeline", c.pipeline, "stages"),
      degree_option("data", c.data, "replicas", "what is left of the GPUs"),
      degree_option("context", c.context, "devices that share the positions of a sequence"),
      {"context_kind", Choice{.words = {"ring", "gather", "ulysses"}, .by_default = static_cast<std::size_t>(c.context_kind)},
       "how they come by the keys and values of the others: block by block, overlapped with the kernels; gathered before them; all-to-alls "
       "give each rank all positions of some heads"},
      degree_option("context_all_to_all", c.context_all_to_all,
                    "number of neighbours among the ranks of `context` that exchange heads as `ulysses` does; the others ring or gather",
                    "1; with `ulysses`, all of them"),
      degree_option("expert", c.expert, "devices that share the experts, out of those of data and context"),
      degree_option("expert_tensor", c.tensor,
                    "tensor ranks that share each expert; others share the experts out or have tokens of their own", "as `tensor`"),
      {"dispatch", Choice{.words = pcg::names<pcg::Dispatch>(), .by_default = static_cast<std::size_t>(c.dispatch)},
       "what brings tokens to their experts: `nccl` a copy for each expert, `deepep` and `hybridep` one for each NVLink domain over the "
       "network and from there one for each rank, `allgather` all tokens to all ranks that share experts out"},
      micro_batch_option("1 with a pipeline, else all of a replica's samples"),
      {"schedule", Choice{.words = pcg::names<pcg::ScheduleKind>(), .by_default = static_cast<std::size_t>(c.schedule)},
       "the order in which a stage runs its micro-batches", "`1f1b`; `interleaved` if `chunks` is above 1"},
      degree_option("chunks", c.chunks, "virtual stages per device, of `interleaved`, `flexible` and `breadth-first`"),
      degree_option("micro_batch_group", 1, "micro-batches in a row that go through a chunk, `flexible` only", "as many as stages"),
      {"warm_up", Choice{.words = {"full", "lean"}},
       "of `interleaved` and `flexible`: `lean` runs fewer forward passes before the first backward pass, so each rank keeps fewer "
       "activations, and waits for messages",
       "`lean` where `full` does not fit into memory and the framework is `generic`"},
      {"layers_per_stage", WholeNumbers{.least = 0, .most = kLargestDegree, .words = {"balanced"}},
       "layers of each virtual stage, in the order of the layers; `balanced`: those with which an iteration is estimated to take least",
       "equal where they divide, else `balanced`"},
      {"sequence_parallel", Flag{c.sequence_parallel}, "norms and dropouts are cut along the sequence among tensor ranks"}};
  std::ranges::move(memory_options(), std::back_inserter(options));
  options.push_back({"zero", WholeNumber{.least = 0, .most = 3, .by_default = c.zero},
                     "what the replicas share out: optimizer state (1), and gradients (2), and weights (3)"});
  options.push_back(shard_option());
  options.push_back(overlap_option({"gradients", "parameters", "tensor", "experts"}));
  return options;
}

GridConfig grid_config_of(const OptionValues& o) {
  const auto degree_of = [&](std::string_view key) { return static_cast<int>(o.whole_number(key)); };
  GridConfig c;
  c.tensor = degree_of("tensor");
  c.pipeline = degree_of("pipeline");
  c.data = degree_of("data");
  c.context = degree_of("context");
  c.context_kind = static_cast<ContextKind>(o.choice("context_kind"));
  c.context_all_to_all = degree_of("context_all_to_all");
  c.expert = degree_of("expert");
  if (o.given("expert_tensor")) c.expert_tensor = degree_of("expert_tensor");
  c.dispatch = static_cast<pcg::Dispatch>(o.choice("dispatch"));
  c.micro_batch = o.whole_number("micro_batch");
  c.chunks = degree_of("chunks");
  // More than one chunk means the interleaved schedule, unless the user names another, which is then refused.
  c.schedule = !o.given("schedule") && c.chunks > 1 ? ScheduleKind::interleaved : static_cast<ScheduleKind>(o.choice("schedule"));
  if (o.given("micro_batch_group")) c.micro_batch_group = degree_of("micro_batch_group");
  c.lean_warm_up = o.choice("warm_up") == 1;
  c.sequence_parallel = o.flag("sequence_parallel");
  take_memory_options(o, c);
  c.zero = degree_of("zero");
  c.shard = degree_of("shard");
  c.overlap = overlap_of(o);
  const NumbersOrWord& layers = o.whole_numbers("layers_per_stage");
  c.layers_per_stage.assign(layers.numbers.begin(), layers.numbers.end());
  c.balanced_stages = !layers.word.empty();
  return c;
}

// A list names every virtual stage.
std::optional<OptionProblem> wrong_list(const GridConfig& c) {
  const auto stages = static_cast<std::size_t>(c.pipeline) * static_cast<std::size_t>(c.chunks);
  if (c.layers_per_stage.empty() || c.layers_per_stage.size() == stages) return std::nullopt;
  if (c.pipeline == 1)
    return OptionProblem{"layers_per_stage", "without a pipeline there are no stages to list",
                         "write e.g. pipeline: 2, or leave the list out"};
  return OptionProblem{"layers_per_stage",
                       c.chunks == 1 ? fmt::format("{} stages are listed, there are {}", c.layers_per_stage.size(), stages)
                                     : fmt::format("{} virtual stages are listed, pipeline {} x chunks {} are {}",
                                                   c.layers_per_stage.size(), c.pipeline, c.chunks, stages),
                       "write one number for each virtual stage, in the order of the layers, or balanced"};
}

std::optional<OptionProblem> wrong_merging(const GridConfig& c) {
  if (c.overlap.experts != true) return std::nullopt;
  if (c.expert == 1)
    return OptionProblem{"overlap", "experts overlaps the exchanges of tokens among ranks that share the experts out, and there are none",
                         "write e.g. expert: 2, or leave experts out"};
  const std::string& name = pcg::name_of(c.schedule);
  if (c.schedule == ScheduleKind::gpipe || c.schedule == ScheduleKind::breadth_first)
    return OptionProblem{"overlap",
                         fmt::format("experts merges forward passes with backward passes, and {} runs all forward passes first", name),
                         "write schedule: 1f1b, or leave experts out"};
  if (c.schedule == ScheduleKind::zero_bubble)
    return OptionProblem{"overlap", "experts merges forward passes with whole backward passes, and zb-h1 has none",
                         "write schedule: dualpipe, or leave experts out"};
  return std::nullopt;
}

std::optional<OptionProblem> wrong_dispatch(const GridConfig& c) {
  if (c.dispatch == pcg::Dispatch::all_to_all || c.expert > 1) return std::nullopt;
  return OptionProblem{"dispatch",
                       fmt::format("{} brings tokens to experts that ranks share out, and there are none", pcg::name_of(c.dispatch)),
                       "write e.g. expert: 8, or leave dispatch out"};
}

std::optional<OptionProblem> wrong_schedule(const GridConfig& c) {
  const bool chunked =
      c.schedule == ScheduleKind::interleaved || c.schedule == ScheduleKind::flexible || c.schedule == ScheduleKind::breadth_first;
  if (c.chunks > 1 && !chunked)
    return OptionProblem{"chunks", fmt::format("{} has one chunk per device", pcg::name_of(c.schedule)),
                         "write schedule: interleaved, flexible or breadth-first"};
  if (c.micro_batch_group > 0 && c.schedule != ScheduleKind::flexible)
    return OptionProblem{"micro_batch_group", "only the flexible schedule has groups of any size", "write schedule: flexible"};
  if (c.lean_warm_up && (c.chunks == 1 || c.schedule == ScheduleKind::breadth_first))
    return OptionProblem{"warm_up", "only schedules that interleave chunks have a warm-up to shorten", "write e.g. chunks: 2"};
  if (c.schedule == ScheduleKind::dual_pipe && c.pipeline % 2 != 0)
    return OptionProblem{"pipeline", fmt::format("dualpipe pairs stages, and {} are not even", c.pipeline), "write e.g. pipeline: 4"};
  return std::nullopt;
}

std::optional<OptionProblem> wrong_context(const OptionValues& o, const GridConfig& c) {
  if (c.context == 1 && (o.given("context_kind") || c.context_all_to_all > 1))
    return OptionProblem{o.given("context_kind") ? "context_kind" : "context_all_to_all", "no ranks share the positions of a sequence",
                         "write e.g. context: 2, or leave it out"};
  if (c.context_kind == ContextKind::ulysses && o.given("context_all_to_all") && c.context_all_to_all != c.context)
    return OptionProblem{"context_all_to_all", fmt::format("ulysses exchanges heads among all {} ranks of context", c.context),
                         "write context_kind: ring, or leave it out"};
  return std::nullopt;
}

std::optional<OptionProblem> contradiction(const OptionValues& o) {
  const GridConfig c = grid_config_of(o);
  if (auto wrong = wrong_schedule(c)) return wrong;
  if (auto wrong = wrong_context(o, c)) return wrong;
  if (auto wrong = wrong_overlap(o, c.zero)) return wrong;
  if (c.zero == 0 && c.shard > 0)
    return OptionProblem{"shard", "without zero nothing is shared out", "write zero: 1, 2 or 3, or leave shard out"};
  if (c.memory.offload.activations && sim::splits_backward(c.schedule))
    return OptionProblem{"offload", "a schedule that leaves gradients of weights for later needs the activations until then",
                         "write schedule: 1f1b, or leave activations out"};
  if (auto wrong = wrong_offload(c.memory.offload)) return wrong;
  if (c.overlap.tensor == true && !c.sequence_parallel)
    return OptionProblem{"overlap", "tensor overlaps the gathers and reduce-scatters of sequence parallelism, and there are none",
                         "write sequence_parallel: true, or leave tensor out"};
  if (auto wrong = wrong_merging(c)) return wrong;
  if (auto wrong = wrong_dispatch(c)) return wrong;
  return wrong_list(c);
}

// Megatron-LM and PyTorch warm up in full; the generic framework does without a warm-up that does not fit.
void shorten_warm_up(const Problem& problem, GridConfig config, SearchResult& result) {
  const bool interleaves = config.chunks > 1 && (config.schedule == ScheduleKind::interleaved || config.schedule == ScheduleKind::flexible);
  if (!interleaves || config.lean_warm_up || problem.training.framework != pcg::Framework::generic) return;
  if (problem.oracle.memory(*result.best).fits()) return;
  config.lean_warm_up = true;
  Attempt<pcg::Plan> lean = megatron_plan(problem, config);
  if (!lean || !problem.oracle.memory(*lean).fits()) return;
  result.best = std::move(lean).value();
  result.notes.emplace_back("lean-warm-up");
}

// A schedule that interleaves nothing is 1F1B, which its asker may not know.
SearchResult plan_by_hand(const Problem& problem, const OptionValues& o) {
  const GridConfig config = grid_config_of(o);
  SearchResult result = result_of_rule(megatron_plan(problem, config));
  if (result.best && !o.given("warm_up")) shorten_warm_up(problem, config, result);
  if (result.best && config.schedule == ScheduleKind::interleaved && config.chunks == 1) result.notes.emplace_back("one-chunk-interleaved");
  return result;
}

}  // namespace

Attempt<pcg::Plan> megatron_plan(GridPlanner& planner, const GridConfig& config, Balance balance) {
  return planner.plan(config, "megatron", balance);
}

Attempt<pcg::Plan> megatron_plan(const Problem& problem, const GridConfig& config) { return grid_plan(problem, config, "megatron"); }

Planner megatron_planner() {
  return {.kind = "megatron",
          .about = "Megatron-LM's grid by hand: tensor, pipeline, data, context and expert parallelism of the given degrees.",
          .needs = "degrees",
          .example = "{tensor: 2, pipeline: 1}",
          .options = options(),
          .contradiction = contradiction,
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext&) { return plan_by_hand(p, o); }};
}

}  // namespace search
