#include "search/planners/megatron/plan_bound.hpp"

#include <algorithm>

#include "search/cost/estimate.hpp"
#include "search/grid/stages.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/model_states.hpp"

namespace search {
namespace {

// With three micro-batches there is a first, a last and one between: more are like that one.
constexpr std::int64_t kAllKinds = 3;

// What a model with one number of layers takes and needs.
struct Measured {
  struct Pass {
    PassSeconds times;
    double kept = 0, working = 0;
    double embedding = 0, head = 0;  // seconds of a micro-batch's passes before the first layer and after the last one
  };
  sim::StateBytes states;
  base::Bytes expert_weights;
  std::vector<Pass> passes;  // per recomputation
};

// ZeRO 3 leaves a device `sharded` of its `whole` bytes: of experts a share of expert/replicas, of the rest 1/replicas.
base::Bytes expert_weights(base::Bytes whole, base::Bytes sharded, int expert, int replicas) {
  return expert == 1 ? base::Bytes(0) : std::clamp((sharded * replicas - whole) / (expert - 1), base::Bytes(0), whole);
}

// The first device represents all: in one stage all devices do the same.
Measured measured(const pcg::Plan& plan, int expert, int replicas, const Problem& problem, std::span<const pcg::Recompute> recomputations) {
  const profiles::FrameworkProfile& framework = problem.oracle.framework(plan.training);
  const sim::Dataflow data = sim::dataflow_of(plan);
  Estimator estimator(plan, problem.oracle);
  Measured m;
  m.states = sim::model_states(plan, data, framework, 0).at(0);
  m.expert_weights = expert_weights(m.states.weights, sim::model_states(plan, data, framework, 3).at(0).weights, expert, replicas);
  const std::vector<int> units = units_of_blocks(plan.pcg.blocks());
  const auto last = static_cast<std::size_t>(std::ranges::count_if(plan.pcg.blocks(), &pcg::Block::weighty)) + 1;
  pcg::Plan variant = plan;
  for (const pcg::Recompute r : recomputations) {
    variant.recompute = r;
    const sim::DeviceMemory memory = sim::device_memory(variant, data, problem.cluster, framework).at(0);
    const PassSeconds times = estimator.pass({r, 0});
    estimator.use_units({r, 0}, units, last + 1);
    m.passes.push_back(
        {times, memory.saved.at(0).value(), memory.transient.at(0).value(), estimator.unit_s(0, 0), estimator.unit_s(last, 0)});
  }
  return m;
}

PerLayer per_layer(double one, double two, double layers_of_one) {
  const double layer = std::max(0.0, two - one);
  return {layer, std::max(0.0, one - layers_of_one * layer)};
}

PassSketch sketch_of(const Measured::Pass& one, const Measured::Pass& two, double layers_of_one) {
  PassSketch pass;
  pass.times = {per_layer(one.times.first.value(), two.times.first.value(), layers_of_one),
                per_layer(one.times.later.value(), two.times.later.value(), layers_of_one)};
  // The head less the embedding is known better than what both are together.
  const double rest = pass.times.seconds.rest;
  pass.tail = std::clamp((rest + two.head - two.embedding) / 2, 0.0, rest);
  pass.kept_bytes = per_layer(one.kept, two.kept, layers_of_one);
  pass.working_bytes = one.working;
  return pass;
}

}  // namespace

LayerSketcher::LayerSketcher(const Problem& problem, std::span<const pcg::Recompute> recomputations)
    : problem_(problem), recomputations_(recomputations.begin(), recomputations.end()), run_(repeated_layers(problem.model)) {
  one_ = run_.count > 1 ? with_layers(problem.model, run_, 1) : problem.model;
  two_ = run_.count > 1 ? with_layers(problem.model, run_, 2) : problem.model;
}

Attempt<LayerSketcher::Cut> LayerSketcher::cut(const pcg::Graph& model, const GridConfig& config, int data) const {
  GridConfig c;
  c.tensor = config.tensor;
  c.context = config.context;
  c.expert = config.expert;
  c.expert_tensor = config.expert_tensor;
  c.dispatch = config.dispatch;
  c.sequence_parallel = config.sequence_parallel;
  c.micro_batch = config.micro_batch;
  c.data = data;
  Problem problem{model, problem_.model_section, problem_.cluster, problem_.training, problem_.oracle};
  problem.training.global_batch = std::min(problem.training.global_batch / data / c.micro_batch, kAllKinds) * data * c.micro_batch;
  GridPlanner planner(problem, data * c.context * c.tensor);
  Attempt<pcg::Plan> plan = megatron_plan(planner, c);
  if (!plan) return plan.refusal();
  return Cut{problem, std::move(plan).value()};
}

Attempt<LayerSketch> LayerSketcher::sketch(const GridConfig& config, int data) const {
  const auto measure = [&](const Cut& c) { return measured(c.plan, config.expert, data * config.context, c.problem, recomputations_); };
  const Attempt<Cut> shorter = cut(one_, config, data);
  if (!shorter) return shorter.refusal();
  const Measured one = measure(*shorter);
  Measured two = one;
  if (run_.count > 1) {
    const Attempt<Cut> longer = cut(two_, config, data);
    if (!longer) return longer.refusal();
    two = measure(*longer);
  }
  const auto bytes = [&](base::Bytes a, base::Bytes b) { return per_layer(a.value(), b.value(), layers_of_one()); };
  LayerSketch s{bytes(one.states.weights, two.states.weights),
                bytes(one.states.gradients, two.states.gradients),
                bytes(one.states.optimizer, two.states.optimizer),
                bytes(one.expert_weights, two.expert_weights),
                {}};
  for (std::size_t i = 0; i < recomputations_.size(); ++i)
    s.passes[recomputations_[i]] = sketch_of(one.passes[i], two.passes[i], layers_of_one());
  return s;
}

}  // namespace search
