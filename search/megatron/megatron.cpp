#include "search/megatron/megatron.hpp"

#include <array>

#include "search/grid/grid_options.hpp"
#include "search/grid/grid_plan.hpp"

namespace search {
namespace {

using pcg::ScheduleKind;

constexpr std::int64_t kLargestDegree = 1 << 24;  // no cluster has so many devices; products of a few degrees stay within 64 bits
constexpr std::array kSchedules = {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::interleaved};

Option degree(std::string key, int by_default, std::string help, std::string otherwise = {}) {
  return {std::move(key), WholeNumber{.least = 1, .most = kLargestDegree, .by_default = by_default}, std::move(help), std::move(otherwise)};
}

std::vector<Option> options() {
  const GridConfig c;
  return {degree("tensor", c.tensor, "devices that share each layer"),
          degree("pipeline", c.pipeline, "stages"),
          degree("data", c.data, "replicas", "what is left of the GPUs"),
          degree("context", c.context, "devices that share the positions of a sequence"),
          degree("expert", c.expert, "devices that share the experts, out of those of data and context"),
          micro_batch_option("samples per replica and micro-batch", "1 with a pipeline, else all of a replica's samples"),
          {"schedule", Choice{.words = {"gpipe", "1f1b", "interleaved"}, .by_default = 1, .later = {"zb-h1", "2bw"}},
           "the order in which a stage runs its micro-batches", "`1f1b`; `interleaved` if `chunks` is above 1"},
          degree("chunks", c.chunks, "virtual stages per device, `interleaved` only"),
          {"sequence_parallel", Flag{c.sequence_parallel}, "norms and dropouts are cut along the sequence among tensor ranks"},
          recompute_option(),
          {"zero", WholeNumber{.least = 0, .most = 3, .by_default = c.zero},
           "what the replicas share out: optimizer state (1), and gradients (2), and weights (3)"}};
}

GridConfig grid_config_of(const OptionValues& o) {
  const auto degree_of = [&](std::string_view key) { return static_cast<int>(o.whole_number(key)); };
  GridConfig c;
  c.tensor = degree_of("tensor");
  c.pipeline = degree_of("pipeline");
  c.data = degree_of("data");
  c.context = degree_of("context");
  c.expert = degree_of("expert");
  c.micro_batch = o.whole_number("micro_batch");
  c.chunks = degree_of("chunks");
  // More than one chunk means the interleaved schedule, unless the user names another, which is then refused.
  c.schedule = !o.given("schedule") && c.chunks > 1 ? ScheduleKind::interleaved : kSchedules.at(o.choice("schedule"));
  c.sequence_parallel = o.flag("sequence_parallel");
  c.recompute = static_cast<pcg::Recompute>(o.choice("recompute"));
  c.zero = degree_of("zero");
  return c;
}

std::optional<OptionProblem> contradiction(const OptionValues& o) {
  if (grid_config_of(o).chunks == 1 || grid_config_of(o).schedule == ScheduleKind::interleaved) return std::nullopt;
  return OptionProblem{"chunks", "only the interleaved schedule has more than one chunk per device", "write schedule: interleaved"};
}

}  // namespace

Attempt<pcg::Plan> megatron_plan(GridPlanner& planner, const GridConfig& config) { return planner.plan(config, "megatron"); }

Attempt<pcg::Plan> megatron_plan(const Problem& problem, const GridConfig& config) {
  GridPlanner planner(problem);
  return megatron_plan(planner, config);
}

Planner megatron_planner() {
  return {.kind = "megatron",
          .about = "Megatron-LM's grid by hand: tensor, pipeline, data, context and expert parallelism of the given degrees.",
          .needs = "degrees",
          .example = "{tensor: 2, pipeline: 1}",
          .options = options(),
          .contradiction = contradiction,
          .plan = [](const Problem& p, const OptionValues& o, const SearchContext&) {
            return result_of_rule(megatron_plan(p, grid_config_of(o)));
          }};
}

}  // namespace search
