#include "search/estimates/estimate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "pcg/sharding/halo.hpp"
#include "pcg/sharding/internal_collectives.hpp"
#include "pcg/work/forward_kernels.hpp"
#include "pcg/work/gradient_kernels.hpp"
#include "pcg/work/kernel.hpp"
#include "pcg/work/shard_operator.hpp"
#include "search/estimates/movements.hpp"
#include "sim/memory/model_states.hpp"

namespace search {
namespace {

using base::Bytes;
using base::DeviceId;
using base::Seconds;

// Bytes that the update of one parameter reads and writes: its optimizer state and what it is computed from (the fp32 weight, in the state
// when training in half precision) both ways, the gradient one way, the half weight besides.
double update_bytes(const pcg::TrainingConfig& t) {
  const sim::ModelStateBytes b = sim::model_state_bytes(t);
  return 2 * b.optimizer + b.gradient + (b.weight < 4 ? b.weight : 2 * b.weight);
}

class Costs {
 public:
  Costs(const pcg::Plan& plan, const sim::Oracle& oracle) : plan_(plan), oracle_(oracle), stages_(static_cast<std::size_t>(plan.stages)) {}

  std::vector<StageCost> run() {
    for (std::size_t n = 0; n < plan_.pcg.nodes().size(); ++n)
      if (plan_.pcg.nodes()[n].computes()) add(pcg::NodeId(n));
    for (std::size_t s = 0; s < stages_.size(); ++s) add_gradients(s);
    return std::move(stages_);
  }

 private:
  struct Node {
    std::vector<pcg::TensorShape> whole_inputs;
    pcg::IterationSpace space;
    std::vector<DeviceId> devices;
  };

  StageCost& stage(pcg::NodeId n) { return stages_[static_cast<std::size_t>(plan_.stage[n.value])]; }

  Node facts(pcg::NodeId id) const {
    const pcg::PcgNode& node = plan_.pcg.node(id);
    Node f;
    f.whole_inputs = plan_.pcg.whole_inputs(id);
    f.space = *node.space;
    f.devices = pcg::devices_of(plan_.mapping[id.value], node.sharding);
    return f;
  }

  Seconds sum(const std::vector<pcg::Kernel>& kernels, DeviceId d) const {
    Seconds t;
    for (const pcg::Kernel& k : kernels) t += oracle_.kernel(k, plan_.training.precision, d);
    return t;
  }

  // The node whose result an edge carries, behind the movements on it.
  pcg::TensorRef origin(pcg::TensorRef t) const {
    while (plan_.pcg.node(t.node).movement() != nullptr) t = plan_.pcg.node(t.node).inputs[0];
    return t;
  }

  void add(pcg::NodeId id) {
    const pcg::PcgNode& node = plan_.pcg.node(id);
    const pcg::Precision p = plan_.training.precision;
    const Node f = facts(id);
    const auto inputs = plan_.pcg.shard_inputs(id);
    const auto outputs = plan_.pcg.shard_outputs(id);
    const pcg::Operator op = pcg::shard_operator(*node.operation(), f.whole_inputs, inputs);
    std::vector<bool> needed;
    for (pcg::TensorRef t : node.inputs) needed.push_back(!plan_.pcg.node(origin(t).node).is_source());
    StageCost& s = stage(id);
    const auto read = pcg::shards_with_halos(*node.operation(), *node.space, node.sharding, f.whole_inputs);
    const Seconds forward = sum(pcg::forward_kernels(op, read, outputs, p), f.devices[0]);
    s.forward += forward;
    if (std::holds_alternative<pcg::Attention>(*node.operation())) s.attention += forward;
    s.backward += sum(pcg::input_gradient_kernels(op, read, outputs, needed, p), f.devices[0]);
    s.backward += sum(pcg::weight_gradient_kernels(op, read, outputs, p), f.devices[0]);
    add_internal(id, f);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) add_edge(id, f, i);
  }

  void add_internal(pcg::NodeId id, const Node& f) {
    const pcg::PcgNode& node = plan_.pcg.node(id);
    for (const pcg::InternalCollective& c : pcg::internal_collectives(*node.operation(), *node.space, node.sharding, f.whole_inputs)) {
      std::vector<DeviceId> group;  // the first points along the loop
      int stride = 1;
      for (std::size_t l = node.sharding.degrees.size(); l-- > static_cast<std::size_t>(c.loop) + 1;) stride *= node.sharding.degrees[l];
      for (int i = 0; i < node.sharding.degrees[static_cast<std::size_t>(c.loop)]; ++i)
        group.push_back(f.devices[static_cast<std::size_t>(i * stride)]);
      constexpr sim::CollectiveKind kinds[] = {sim::CollectiveKind::all_reduce, sim::CollectiveKind::all_gather,
                                               sim::CollectiveKind::reduce_scatter, sim::CollectiveKind::send, sim::CollectiveKind::send};
      const bool halos = c.kind == pcg::InternalCollective::Kind::halo_before || c.kind == pcg::InternalCollective::Kind::halo_behind;
      if (halos) group.resize(2);
      if (halos && group[0] == group[1]) continue;
      const Bytes bytes = pcg::bytes_of(c.shape, c.fp32 ? pcg::Precision::fp32 : plan_.training.precision);
      const Seconds t = oracle_.collective(kinds[static_cast<std::size_t>(c.kind)], bytes, group);
      (c.backward ? stage(id).backward : stage(id).forward) += t;
    }
  }

  // What brings an input to where it is read, and its gradient back.
  void add_edge(pcg::NodeId id, const Node& f, std::size_t i) {
    const pcg::PcgNode& node = plan_.pcg.node(id);
    const pcg::TensorRef from = origin(node.inputs[i]);
    const pcg::PcgNode& producer = plan_.pcg.node(from.node);
    if (producer.is_input()) return;
    const pcg::ParallelShape gradient = pcg::input_gradient_shape(f.space, node.sharding, i, f.whole_inputs[i]);
    const auto gradient_shard = [&](int point) { return pcg::input_gradient_shard(f.space, node.sharding, i, point); };
    if (producer.is_weight()) {
      add_weight(id, f, gradient, gradient_shard, from);
      return;
    }
    const pcg::Precision p = plan_.training.precision;
    const Node source = facts(from.node);
    const auto j = static_cast<std::size_t>(from.output);
    const pcg::ParallelShape& made = producer.outputs[j];
    const pcg::ParallelShape& wanted = plan_.pcg.shape(node.inputs[i]);
    // Readers that want the same share one movement, forwards and backwards.
    if (!seen_.insert({from, pcg::to_text(wanted), pcg::to_text(gradient)}).second) return;
    const auto made_shard = [&](int point) { return pcg::output_shard(source.space, producer.sharding, j, point); };
    if (const auto m = movement(made, wanted, p, source.devices, made_shard))
      stage(id).forward += oracle_.collective(m->kind, m->bytes, m->group);
    const pcg::ParallelShape back = pcg::output_gradient_shape(source.space, producer.sharding, j, made.whole());
    if (const auto m = movement(gradient, back, p, f.devices, gradient_shard))
      stage(id).backward += oracle_.collective(m->kind, m->bytes, m->group);
    if (plan_.stage[from.node.value] == plan_.stage[id.value]) return;
    const std::vector<DeviceId> pair = {source.devices[0], f.devices[0]};
    const Seconds hop =
        pair[0] == pair[1] ? Seconds() : oracle_.collective(sim::CollectiveKind::send, pcg::bytes_of(made.shard(), p), pair);
    stage(id).forward += hop;
    stage(from.node).backward += hop;
  }

  void add_weight(pcg::NodeId id, const Node& f, const pcg::ParallelShape& gradient, const std::function<int(int)>& shard,
                  pcg::TensorRef weight) {
    StageCost& s = stage(id);
    if (!weights_.insert({plan_.stage[id.value], weight}).second) return;  // a tied weight is updated once per stage
    const auto parameters = static_cast<double>(gradient.shard().elements());
    s.parameters += parameters;
    pcg::Kernel k;
    k.kind = pcg::KernelKind::optimizer;
    k.bytes = Bytes(parameters * update_bytes(plan_.training));
    s.update += oracle_.kernel(k, plan_.training.precision, f.devices[0]);
    pcg::ParallelShape summed = gradient;
    summed.sum = 1;
    const pcg::Precision p = plan_.training.fp32_gradients ? pcg::Precision::fp32 : plan_.training.precision;
    if (const auto m = movement(gradient, summed, p, f.devices, shard)) {
      gradients_[plan_.stage[id.value]][m->group] += m->bytes;
      s.replicas = std::max(s.replicas, static_cast<int>(m->group.size()));
    }
  }

  void add_gradients(std::size_t s) {
    for (const auto& [group, bytes] : gradients_[static_cast<int>(s)])
      stages_[s].gradients += oracle_.collective(sim::CollectiveKind::all_reduce, bytes, group);
  }

  const pcg::Plan& plan_;
  const sim::Oracle& oracle_;
  std::vector<StageCost> stages_;
  std::set<std::tuple<pcg::TensorRef, std::string, std::string>> seen_;
  std::set<std::pair<int, pcg::TensorRef>> weights_;
  std::map<int, std::map<std::vector<DeviceId>, Bytes>> gradients_;  // by stage and group: buckets of one group go one after another
};

}  // namespace

std::vector<StageCost> stage_costs(const pcg::Plan& plan, const sim::Oracle& oracle) { return Costs(plan, oracle).run(); }

Seconds estimate(const std::vector<StageCost>& costs, const pcg::Plan& plan) {
  const int groups = plan.stages / plan.chunks;
  Seconds slowest, slowest_end;
  for (int g = 0; g < groups; ++g) {
    Seconds micro_batch, end;
    for (int v = g; v < plan.stages; v += groups) {
      const StageCost& c = costs[static_cast<std::size_t>(v)];
      micro_batch += c.forward + c.backward;
      if (plan.recompute == pcg::Recompute::full) micro_batch += c.forward;
      if (plan.recompute == pcg::Recompute::selective) micro_batch += c.attention;
      // ZeRO 3 gathers the weights for forward and again for backward: two halves of an all-reduce (arXiv 1910.02054, section 7).
      if (plan.zero == 3) micro_batch += c.gradients;
      end += c.gradients + c.update / (plan.zero > 0 ? c.replicas : 1);
    }
    slowest = std::max(slowest, micro_batch);
    slowest_end = std::max(slowest_end, end);
  }
  const double rounds = plan.micro_batches + static_cast<double>(groups - 1) / plan.chunks;
  return slowest * rounds + slowest_end;
}

Bytes model_states(const std::vector<StageCost>& costs, const pcg::Plan& plan) {
  const sim::ModelStateBytes each = sim::model_state_bytes(plan.training);
  const int groups = plan.stages / plan.chunks;
  double most = 0;
  for (int g = 0; g < groups; ++g) {
    double bytes = 0;
    for (int v = g; v < plan.stages; v += groups) {
      const StageCost& c = costs[static_cast<std::size_t>(v)];
      const auto share = [&](int stage) { return plan.zero >= stage ? 1.0 / c.replicas : 1.0; };
      bytes += c.parameters * (each.weight * share(3) + each.gradient * share(2) + each.optimizer * share(1));
    }
    most = std::max(most, bytes);
  }
  return Bytes(most);
}

}  // namespace search
