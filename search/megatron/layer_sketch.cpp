#include "search/megatron/layer_sketch.hpp"

#include <algorithm>
#include <numeric>

#include "search/estimates/estimate.hpp"
#include "search/grid/layer_costs.hpp"
#include "search/grid/stages.hpp"
#include "search/megatron/megatron.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/model_states.hpp"

namespace search {
namespace {

// With three micro-batches the first one's gradients are neither final nor added to others: more are like the second.
constexpr std::int64_t kAllKinds = 3;

// The model with one number of layers.
struct Measured {
  struct Pass {
    double seconds = 0, tail = 0, kept = 0, working = 0;
    std::vector<double> kernels;  // per layer, the embedding with the first, the head with the last
  };
  sim::StateBytes states;
  base::Bytes expert_weights;
  std::vector<Pass> passes;  // per variant
};

// ZeRO 3 leaves a device `sharded` of its `whole` bytes: of experts a share of expert/replicas, of the rest 1/replicas.
base::Bytes expert_weights(base::Bytes whole, base::Bytes sharded, int expert, int replicas) {
  if (expert == 1) return base::Bytes(0);
  return std::clamp((sharded * replicas - whole) / (expert - 1), base::Bytes(0), whole);
}

// The first device stands for all: in one stage all devices do the same.
Measured measure(const pcg::Plan& plan, int expert, int replicas, const Problem& problem, std::span<const sim::Variant> variants) {
  const profiles::FrameworkProfile& framework = problem.oracle.framework(plan.training);
  const sim::Dataflow data = sim::dataflow_of(plan);
  Estimator estimator(plan, problem.oracle);
  Measured m;
  m.states = sim::model_states(plan, data, framework, 0).at(0);
  m.expert_weights = expert_weights(m.states.weights, sim::model_states(plan, data, framework, 3).at(0).weights, expert, replicas);
  const std::vector<int> layers = layers_of_blocks(plan.pcg.blocks());
  pcg::Plan variant = plan;
  for (const sim::Variant& v : variants) {
    variant.recompute = v.recompute;
    variant.zero = v.zero;
    const sim::DeviceMemory memory = sim::device_memory(variant, data, problem.cluster, framework).at(0);
    const double pass = estimator.pass(v).value(), tail = estimator.time(v).value() - plan.micro_batches * pass;
    m.passes.push_back(
        {pass, tail, memory.saved.at(0).value(), memory.transient.at(0).value(), layer_costs(variant, layers, problem.oracle)});
  }
  return m;
}

double sum(std::span<const double> seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

PerLayer per_layer(double one, double two, double layers_of_one) {
  const double layer = std::max(0.0, two - one);
  return {layer, std::max(0.0, one - layers_of_one * layer)};
}

LayerSketch sketch_of(const Measured& one, const Measured& two, std::span<const sim::Variant> variants, double layers_of_one) {
  const auto bytes = [&](base::Bytes a, base::Bytes b) { return per_layer(a.value(), b.value(), layers_of_one); };
  LayerSketch s{bytes(one.states.weights, two.states.weights),
                bytes(one.states.gradients, two.states.gradients),
                bytes(one.states.optimizer, two.states.optimizer),
                bytes(one.expert_weights, two.expert_weights),
                {}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Measured::Pass &a = one.passes[i], &b = two.passes[i];
    PassSketch& pass = s.passes[{variants[i].recompute, variants[i].zero}];
    pass.seconds = per_layer(a.seconds, b.seconds, layers_of_one);
    pass.first_kernels = b.kernels.front();
    pass.last_kernels = b.kernels.back();
    pass.layer_kernels = per_layer(sum(a.kernels), sum(b.kernels), layers_of_one).layer;
    // The last of two layers with the head, less the first with the embedding, is the head less the embedding.
    pass.behind = std::clamp((pass.seconds.rest + pass.last_kernels - pass.first_kernels) / 2, 0.0, pass.seconds.rest);
    pass.tail = per_layer(a.tail, b.tail, layers_of_one);
    pass.kept_bytes = per_layer(a.kept, b.kept, layers_of_one);
    pass.working_bytes = a.working;
  }
  return s;
}

}  // namespace

LayerSketcher::LayerSketcher(const Problem& problem, std::span<const pcg::Recompute> recomputations)
    : problem_(problem), recomputations_(recomputations.begin(), recomputations.end()), run_(repeated_layers(problem.model)) {
  one_ = run_.count > 1 ? with_layers(problem.model, run_, 1) : problem.model;
  two_ = run_.count > 1 ? with_layers(problem.model, run_, 2) : problem.model;
}

Attempt<LayerSketch> LayerSketcher::sketch(const GridConfig& config, int data, std::span<const int> zero_stages) const {
  GridConfig c;
  c.tensor = config.tensor;
  c.context = config.context;
  c.expert = config.expert;
  c.sequence_parallel = config.sequence_parallel;
  c.micro_batch = config.micro_batch;
  c.data = data;
  std::vector<sim::Variant> variants;
  for (const pcg::Recompute r : recomputations_)
    for (const int zero : zero_stages) variants.push_back({r, zero});
  const auto measured = [&](const pcg::Graph& model) -> Attempt<Measured> {
    Problem problem{model, problem_.model_section, problem_.cluster, problem_.training, problem_.oracle};
    problem.training.global_batch = std::min(problem.training.global_batch / data / c.micro_batch, kAllKinds) * data * c.micro_batch;
    GridPlanner planner(problem, data * c.context * c.tensor);
    const Attempt<pcg::Plan> plan = megatron_plan(planner, c);
    if (!plan) return plan.refusal();
    return measure(*plan, c.expert, data * c.context, problem, variants);
  };
  const Attempt<Measured> one = measured(one_);
  if (!one) return one.refusal();
  if (run_.count < 2) return sketch_of(*one, *one, variants, 0);
  const Attempt<Measured> two = measured(two_);
  if (!two) return two.refusal();
  return sketch_of(*one, *two, variants, 1);
}

}  // namespace search
