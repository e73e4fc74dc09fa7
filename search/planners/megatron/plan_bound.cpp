#include "search/planners/megatron/plan_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/cost/estimate.hpp"
#include "search/grid/stages.hpp"
#include "search/planners/megatron/megatron.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/model_states.hpp"
#include "sim/schedules/schedule.hpp"

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
  double sent = 0;           // bytes that a device would send to a stage that begins after the first layer
  std::vector<Pass> passes;  // per recomputation
};

double sent_bytes(const pcg::Plan& plan, const sim::FlowGraph& flow) {
  const auto first = static_cast<int>(std::ranges::find_if(plan.pcg.blocks(), &pcg::Block::weighty) - plan.pcg.blocks().begin());
  const auto block_of = [&](std::size_t n) { return plan.pcg.nodes()[n].block; };
  double bytes = 0;
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) {
    if (!plan.pcg.nodes()[n].computes() || block_of(n) > first) continue;
    for (std::size_t j = 0; j < flow.uses[n].size(); ++j)
      if (std::ranges::any_of(flow.uses[n][j], [&](const sim::Use& use) { return block_of(use.consumer) > first; }))
        bytes += pcg::bytes_of(flow.layouts[static_cast<std::uint32_t>(n)].outputs[j].shape.shard(), plan.training.precision).value();
  }
  return bytes;
}

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
  m.sent = sent_bytes(plan, data.flow);
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

// The rest is below zero where layers overlap more with each other than one layer with itself.
PerLayer per_layer(double one, double two, double layers_of_one) {
  const double layer = std::max(0.0, two - one);
  return {layer, one - layers_of_one * layer};
}

PassSketch sketch_of(const Measured::Pass& one, const Measured::Pass& two, double layers_of_one) {
  PassSketch pass;
  pass.times = {per_layer(one.times.first.value(), two.times.first.value(), layers_of_one),
                per_layer(one.times.later.value(), two.times.later.value(), layers_of_one)};
  // The head less the embedding is known better than what both are together.
  const double rest = std::max(0.0, pass.times.seconds.rest);
  pass.tail = std::clamp((rest + two.head - two.embedding) / 2, 0.0, rest);
  pass.kept_bytes = per_layer(one.kept, two.kept, layers_of_one);
  pass.working_bytes = one.working;
  return pass;
}

std::int64_t micro_batches(const GridConfig& c, std::int64_t global_batch) { return global_batch / c.data / c.micro_batch; }

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
  c.overlap.experts = config.overlap.experts;
  c.overlap.tensor = config.overlap.tensor;
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
                two.sent,
                {}};
  for (std::size_t i = 0; i < recomputations_.size(); ++i)
    s.passes[recomputations_[i]] = sketch_of(one.passes[i], two.passes[i], layers_of_one());
  return s;
}

PlanBounds::PlanBounds(const Problem& problem, std::span<const pcg::Recompute> recomputations)
    : problem_(problem), sketcher_(problem, recomputations) {}

const Attempt<LayerSketch>& PlanBounds::sketch(const GridConfig& c) {
  const Cut cut = cut_of(c);
  auto at = sketches_.find(cut);
  // Experts take of data what context does not give.
  if (at == sketches_.end()) at = sketches_.emplace(cut, sketcher_.sketch(c, c.expert / std::gcd(c.expert, c.context))).first;
  return at->second;
}

const Refusal* PlanBounds::refusal(const GridConfig& cut) {
  const Attempt<LayerSketch>& s = sketch(cut);
  return s ? nullptr : &s.refusal();
}

PlanBound PlanBounds::bound(const GridConfig& c) {
  const LayerSketch& s = *sketch(c);
  const PassSketch& pass = s.passes.at(c.recompute);
  const auto m = static_cast<int>(micro_batches(c, problem_.training.global_batch));
  // The first rank keeps most; of DualPipe's micro-batches about as many as there are ranks.
  const double kept = c.schedule == pcg::ScheduleKind::dual_pipe
                          ? std::min(m, c.pipeline)
                          : 1.0 / c.chunks * sim::most_alive({c.schedule, c.pipeline, c.chunks, m, c.overlap.experts == true}, 0);
  const Rank likely = likely_rank(c);
  return {seconds(c, s, pass, even_ranks(c, pass)), seconds(c, s, pass, {&likely, 1}) + messages(c, s),
          bytes(c, s, pass, kept * layers() / c.pipeline)};
}

bool PlanBounds::has_equal_stages(const GridConfig& c) const {
  return c.pipeline == 1 || (!c.balanced_stages && weighty_ % (c.pipeline * c.chunks) == 0);
}

std::vector<PlanBounds::Rank> PlanBounds::even_ranks(const GridConfig& c, const PassSketch& pass) const {
  const double all = pass.times.seconds.of(layers());
  if (all == 0) return {{0, 0}};
  if (has_equal_stages(c)) return {likely_rank(c)};
  // Rank r needs its share x_r of all micro-batches' seconds, and before it the first one passes what lies before: the embedding, and at
  // least a layer for each stage but the first. As the shares add up to 1, the rank that decides needs no less than the average of all.
  double before = 0;
  if (layers_are_all())
    for (int r = 1; r < c.pipeline; ++r) before += (pass.times.seconds.rest - pass.tail + (r - 1) * pass.times.seconds.layer) / all;
  std::vector<Rank> ranks{{1.0 / c.pipeline, before / c.pipeline}};
  if (c.chunks > 1) return ranks;
  // Without chunks what lies before are whole shares, x_0 + ... + x_(r-1) of the first micro-batch's seconds. No rank decides before the
  // others if each share is the one before it times 1 - first / passes, and they add up to 1.
  const double first = pass.times.first.of(layers());
  const double passes = first + static_cast<double>(micro_batches(c, problem_.training.global_batch) - 1) * all;
  ranks.push_back({first / passes / (1 - std::pow(1 - first / passes, c.pipeline)), 0});
  return ranks;
}

PlanBounds::Rank PlanBounds::likely_rank(const GridConfig& c) const {
  const auto layers = std::max<std::int64_t>(1, weighty_);
  const std::int64_t most = (layers + c.pipeline - 1) / c.pipeline;
  return {std::max(1.0 / c.pipeline, static_cast<double>(most) / static_cast<double>(layers)), (1 - 1.0 / c.pipeline) / c.chunks};
}

double PlanBounds::messages(const GridConfig& c, const LayerSketch& s) {
  if (c.pipeline == 1) return 0;
  const int distance = problem_.cluster.device_count() / c.pipeline;
  const auto [seconds, is_new] = sent_.try_emplace({distance, s.sent_bytes});
  if (is_new) {
    // One node's devices send as all others do.
    std::vector<std::vector<base::DeviceId>> pairs;
    for (std::size_t d = 0; d < std::min<std::size_t>(static_cast<std::size_t>(distance), problem_.cluster.node_devices(0).size()); ++d)
      pairs.push_back({base::DeviceId(d), base::DeviceId(d + static_cast<std::size_t>(distance))});
    seconds->second = problem_.oracle.collectives(sim::CollectiveKind::send, base::Bytes(s.sent_bytes), pairs).time.value();
  }
  return 2.0 * static_cast<double>(micro_batches(c, problem_.training.global_batch)) * c.chunks * seconds->second;
}

bool PlanBounds::layers_are_all() const {
  return weighty_ > 1 && sketcher_.layers().unit == 1 && sketcher_.layers().count == static_cast<std::size_t>(weighty_);
}

double PlanBounds::seconds(const GridConfig& c, const LayerSketch& s, const PassSketch& pass, std::span<const Rank> ranks) {
  const auto m = static_cast<double>(micro_batches(c, problem_.training.global_batch));
  const double first = pass.times.first.of(layers()), later = pass.times.seconds.of(layers());
  double passes = 0, slowest = 0;
  for (const Rank& r : ranks) {
    passes = std::max(passes, r.share * (first + (m - 1) * later) + r.before * first);
    slowest = std::max(slowest, r.share * later);
  }
  if (c.data * c.context == 1) return passes;
  const double reduced = all_reduce(c, s, s.gradients.of(layers()) / c.pipeline);
  if (c.zero < 2) return passes + std::max(0.0, reduced - slowest);  // overlapped with the passes of the last micro-batch
  // An all-reduce is a reduce-scatter and an all-gather. Stage 2 scatters after each micro-batch, and stage 3 gathers weights twice.
  const double gathered = c.zero < 3 ? 0 : all_reduce(c, s, s.weights.of(layers()) / c.pipeline);
  return std::max(passes, m * (reduced / 2 + gathered));
}

double PlanBounds::expert_part(const LayerSketch& s) const {
  const double all = s.weights.of(layers());
  return all > 0 ? s.expert_weights.of(layers()) / all : 0;
}

double PlanBounds::bytes(const GridConfig& c, const LayerSketch& s, const PassSketch& pass, double kept_layers) const {
  // Replicas of the experts are as many fewer as experts are shared out.
  const double sharded = (1 - expert_part(s) + expert_part(s) * c.expert) / (c.data * c.context);
  const auto share = [&](int stage) { return c.zero >= stage ? sharded : 1.0; };
  const double states = s.weights.of(layers()) * share(3) + s.gradients.of(layers()) * share(2) + s.optimizer.of(layers()) * share(1);
  // Where no layer repeats, all that a micro-batch keeps is known of the whole model alone.
  const double kept = layers() > 0 ? kept_layers * pass.kept_bytes.layer : pass.kept_bytes.rest / c.pipeline;
  return states / c.pipeline + kept + pass.working_bytes;
}

double PlanBounds::all_reduce(const GridConfig& c, const LayerSketch& s, double bytes) {
  const double experts = expert_part(s);
  double seconds = all_reduce(c.tensor, c.data * c.context, (1 - experts) * bytes);
  // Devices with the same experts lie evenly apart where experts take all tensor ranks that do not cut them, and all of context or a part
  // that divides it; else what they exchange is left out.
  const int cut = c.expert_tensor > 0 ? c.expert_tensor : c.tensor, stride = c.expert * cut, near = c.tensor * c.context;
  const bool is_even = c.expert % (c.tensor / cut) == 0 && std::gcd(stride, near) == std::min(stride, near);
  if (experts > 0 && is_even) seconds += all_reduce(stride, c.tensor * c.data * c.context / stride, experts * bytes);
  return seconds;
}

double PlanBounds::all_reduce(int stride, int members, double bytes) {
  if (members == 1 || bytes == 0) return 0;
  const auto [seconds, is_new_size] = reduced_.try_emplace({stride, members, bytes});
  if (!is_new_size) return seconds->second;
  const auto [groups, is_new] = groups_.try_emplace({stride, members});
  if (is_new)
    for (int first = 0; first < stride; ++first) {
      groups->second.emplace_back();
      for (int m = 0; m < members; ++m) groups->second.back().emplace_back(static_cast<std::size_t>(m * stride + first));
    }
  seconds->second = problem_.oracle.collectives(sim::CollectiveKind::all_reduce, base::Bytes(bytes), groups->second).time.value();
  return seconds->second;
}

}  // namespace search
