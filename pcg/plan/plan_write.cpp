#include "pcg/plan/plan_text.hpp"

#include <fmt/core.h>

#include <functional>

#include "base/yaml/parse.hpp"
#include "pcg/operators/operator_yaml.hpp"

namespace pcg {
namespace {

using base::map_of;
using base::Yaml;

template <class T>
Yaml scalar(const T& value) {
  return Yaml::make_scalar(fmt::format("{}", value));
}
template <class T>
Yaml list(const std::vector<T>& values, auto&& text) {
  Yaml y = Yaml::make_sequence();
  for (const T& value : values) y.items.push_back(scalar(text(value)));
  return y;
}
Yaml list(const std::vector<int>& values) { return list(values, std::identity()); }

Yaml training_of(const TrainingConfig& t) {
  Yaml y = map_of({{"global_batch", scalar(t.global_batch)}, {"precision", scalar(name_of(t.precision))}});
  if (t.precision == Precision::fp8) y.set("fp8_recipe", scalar(name_of(t.fp8_recipe)));
  if (t.fp8_attention) y.set("fp8_attention", scalar(true));
  if (const Bf16Layers& kept = t.bf16_layers; kept != Bf16Layers{}) {
    Yaml layers = Yaml::make_map();
    if (kept.first > 0) layers.set("first", scalar(kept.first));
    if (kept.last > 0) layers.set("last", scalar(kept.last));
    if (kept.mtp) layers.set("mtp", scalar(true));
    y.set("bf16_layers", std::move(layers));
  }
  y.set("optimizer", scalar(name_of(t.optimizer)));
  y.set("framework", scalar(name_of(t.framework)));
  if (t.fp32_gradients) y.set("fp32_gradients", scalar(true));
  if (t.clip_gradients) y.set("clip_gradients", scalar(true));
  if (t.constant_tokens) y.set("constant_tokens", scalar(true));
  return y;
}

Yaml schedule_of(const Plan& plan) {
  Yaml y = map_of({{"kind", scalar(name_of(plan.schedule))},
                   {"stages", scalar(plan.stages)},
                   {"chunks", scalar(plan.chunks)},
                   {"micro_batches", scalar(plan.micro_batches)}});
  if (plan.micro_batch_group > 0) y.set("micro_batch_group", scalar(plan.micro_batch_group));
  if (plan.lean_warm_up) y.set("lean_warm_up", scalar(true));
  return y;
}

void add_zero(const ZeroPolicy& policy, Yaml& y) {
  if (!policy.blocks.empty()) y.set("zero_blocks", list(policy.blocks));
  if (policy.groups > 1) y.set("shard_groups", scalar(policy.groups));
  if (policy.prefetch) y.set("prefetch", scalar(*policy.prefetch));
  if (policy.accumulates) y.set("synchronise", scalar("iteration"));
  if (policy.keeps_weights) y.set("reshard_after_forward", scalar(false));
}

Yaml graphed_of(const GraphedParts& parts) {
  Yaml y = Yaml::make_map();
  for (const auto& [word, part] : kGraphedWords)
    if (parts.*part) y.set(std::string(word), scalar(true));
  return y;
}

Yaml memory_of(const Plan& plan) {
  Yaml y = map_of({{"recompute", scalar(name_of(plan.recompute))}});
  const MemoryPolicy& policy = plan.memory;
  if (policy.recomputed.blocks > 0) y.set("recomputed_blocks", scalar(policy.recomputed.blocks));
  if (!policy.recomputed.only.empty()) y.set("recomputed_only", list(policy.recomputed.only));
  if (!policy.recomputed.modules.empty()) y.set("recomputed_modules", list(policy.recomputed.modules, [](Module m) { return name_of(m); }));
  y.set("zero", scalar(plan.zero));
  add_zero(policy.zero, y);
  if (policy.weights != WeightStorage::bf16) y.set("weights", scalar(name_of(policy.weights)));
  if (policy.bf16_moments) y.set("bf16_moments", scalar(true));
  if (policy.fp8_activation_inputs) y.set("fp8_activation_inputs", scalar(true));
  if (policy.offload != Offload{}) {
    Yaml offload = Yaml::make_map();
    offload.set("activations", scalar(policy.offload.activations));
    if (policy.offload.blocks > 0) offload.set("blocks", scalar(policy.offload.blocks));
    offload.set("optimizer", scalar(policy.offload.optimizer));
    y.set("offload", std::move(offload));
  }
  return y;
}

Yaml overlap_of(const Overlap& overlap) {
  Yaml y = Yaml::make_map();
  for (const auto& [word, choice] : kOverlapWords)
    if (overlap.*choice) y.set(word, scalar(*(overlap.*choice)));
  return y;
}

Yaml padding_of(const Plan& plan) {
  Yaml y = Yaml::make_sequence();
  for (const Padding& p : plan.padding) {
    Yaml item = map_of({{"from", scalar(p.from)}, {"to", scalar(p.to)}});
    if (p.of != Padded::vocabulary) item.set("of", scalar(name_of(p.of)));
    y.items.push_back(std::move(item));
  }
  return y;
}

// To the last digit, so that nothing is lost.
Yaml seconds(base::Seconds s) { return Yaml::make_scalar(fmt::format("{} s", s.value())); }

Yaml rewrites_of(const Plan& plan) {
  Yaml y = Yaml::make_sequence();
  for (const Rewrite& r : plan.rewrites)
    y.items.push_back(
        map_of({{"rule", scalar(r.rule)}, {"up_to", scalar(r.up_to)}, {"before", seconds(r.before)}, {"after", seconds(r.after)}}));
  return y;
}

Yaml blocks_of(const Pcg& pcg) {
  Yaml y = Yaml::make_sequence();
  for (const Block& b : pcg.blocks()) {
    Yaml item = map_of({{"name", scalar(b.name)}});
    if (!b.weighty) item.set("weighty", scalar(false));
    if (b.auxiliary) item.set("auxiliary", scalar(true));
    y.items.push_back(std::move(item));
  }
  return y;
}

void write_parallel(const ParallelOperator& op, Yaml& y) {
  y.set("op", scalar(kind_name(op)));
  std::visit(
      [&](const auto& o) {
        if constexpr (requires { o.dim; }) y.set("dim", scalar(o.dim));
        if constexpr (requires { o.degree; }) y.set("degree", scalar(o.degree));
        if constexpr (requires { o.count; }) y.set("count", scalar(o.count));
      },
      op);
}

// Loops are named rather than numbered, so that a file can be read without the definitions of operators.
// Degrees above 1, by the names of their loops.
Yaml sharding_of(const Pcg& pcg, NodeId id) {
  const PcgNode& node = pcg.node(id);
  const IterationSpace& space = *node.space;
  Yaml y = Yaml::make_map();
  for (std::size_t l = 0; l < space.loops.size(); ++l)
    if (node.sharding.degrees[l] > 1) y.set(space.loops[l].name, scalar(node.sharding.degrees[l]));
  if (node.sharding.copies > 1) y.set("copies", scalar(node.sharding.copies));
  if (node.sharding.sums > 1) y.set("sums", scalar(node.sharding.sums));
  if (node.sharding.through >= 0) y.set("through", scalar(node.sharding.through));
  return y;
}

Yaml view_of(const MachineView& v) {
  Yaml y = Yaml::make_map();
  if (!v.devices.empty()) y.set("devices", list(v.devices, [](DeviceId d) { return d.value; }));
  else y.set("start", scalar(v.start.value));
  if (v.devices.empty() && !v.strides.empty()) y.set("strides", list(v.strides));
  return y;
}

Yaml node_of(const Plan& plan, NodeId id) {
  const PcgNode& node = plan.pcg.node(id);
  Yaml y = map_of({{"name", scalar(node.name)}});
  if (const Operator* op = node.operation()) write_operator(*op, y);
  else write_parallel(*node.parallel_operator(), y);
  const auto tensor_name = [&](TensorRef t) {
    const std::string& from = plan.pcg.node(t.node).name;
    return t.output == 0 ? from : fmt::format("{}:{}", from, t.output);
  };
  if (!node.inputs.empty()) y.set("in", list(node.inputs, tensor_name));
  if (node.operation())
    if (Yaml shard = sharding_of(plan.pcg, id); !shard.entries.empty()) y.set("shard", std::move(shard));
  // Defaults are not written: most nodes of a plan have no view, stage or block of their own.
  if (plan.mapping[id.value] != MachineView{}) y.set("view", view_of(plan.mapping[id.value]));
  if (plan.stage[id.value] != 0) y.set("stage", scalar(plan.stage[id.value]));
  if (node.block != 0) y.set("block", scalar(node.block));
  return y;
}

}  // namespace

base::Yaml plan_settings(const Plan& plan) {
  Yaml p = Yaml::make_map();
  if (!plan.padding.empty()) p.set("padding", padding_of(plan));
  p.set("training", training_of(plan.training));
  p.set("gpus", scalar(plan.gpus));
  p.set("schedule", schedule_of(plan));
  p.set("memory", memory_of(plan));
  if (plan.key_exchange != KeyExchange::gather) p.set("key_exchange", scalar(name_of(plan.key_exchange)));
  if (plan.cuda_graphs) p.set("cuda_graphs", scalar(true));
  if (plan.graphed != GraphedParts{}) p.set("graphed", graphed_of(plan.graphed));
  if (plan.overlap != Overlap{}) p.set("overlap", overlap_of(plan.overlap));
  if (plan.dispatch != Dispatch::all_to_all) p.set("dispatch", scalar(name_of(plan.dispatch)));
  if (plan.between_stages != BetweenStages::local_all_gather) p.set("between_stages", scalar(name_of(plan.between_stages)));
  return p;
}

std::string write_plan(const Plan& plan) {
  Yaml p = map_of({{"name", scalar(plan.name)}});
  if (!plan.summary.empty()) p.set("summary", scalar(plan.summary));
  p.set("model", plan.model);
  for (Yaml settings = plan_settings(plan); Yaml::Entry & e : settings.entries) p.set(e.key, std::move(e.value));
  if (!plan.rewrites.empty()) p.set("rewrites", rewrites_of(plan));
  p.set("graph", scalar(plan.pcg.name()));
  p.set("blocks", blocks_of(plan.pcg));
  Yaml operators = Yaml::make_sequence();
  for (std::size_t n = 0; n < plan.pcg.nodes().size(); ++n) operators.items.push_back(node_of(plan, NodeId(n)));
  p.set("operators", std::move(operators));
  return base::emit_yaml(map_of({{"foreshard", scalar(1)}, {"plan", std::move(p)}}));
}

}  // namespace pcg
