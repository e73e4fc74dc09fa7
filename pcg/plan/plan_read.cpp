#include "pcg/plan/plan_text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/mp11/algorithm.hpp>
#include <charconv>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/yaml/reader.hpp"
#include "pcg/operators/operator_shapes.hpp"
#include "pcg/operators/operator_yaml.hpp"
#include "pcg/plan/low_precision.hpp"

namespace pcg {
namespace {

using base::MapReader;
using base::Yaml;

constexpr std::int64_t kMostGpus = 1 << 24;
constexpr std::int64_t kMostCount = 1 << 30;

// Names of operators, computing ones before parallel ones.
const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = operator_kind_names();
    all.insert(all.end(), parallel_operator_kind_names().begin(), parallel_operator_kind_names().end());
    return all;
  }();
  return names;
}

int small(MapReader& r, std::string_view key, std::int64_t least, std::int64_t usual, std::int64_t most = kMostCount) {
  return static_cast<int>(r.integer(key, least, most).value_or(usual));
}

int required_small(MapReader& r, std::string_view key, std::int64_t least, std::int64_t usual) {
  r.require(key);
  return small(r, key, least, usual);
}

template <class Enum>
Enum chosen(MapReader& r, std::string_view key, Enum usual) {
  return static_cast<Enum>(r.choice(key, names<Enum>()).value_or(static_cast<std::size_t>(usual)));
}

ParallelOperator read_parallel(std::size_t kind, MapReader& r) {
  ParallelOperator op;
  boost::mp11::mp_with_index<std::variant_size_v<ParallelOperator>>(kind, [&](auto number) { op.emplace<number>(); });
  std::visit(
      [&](auto& o) {
        if constexpr (requires { o.dim; }) o.dim = required_small(r, "dim", 0, 0);
        if constexpr (requires { o.degree; }) o.degree = required_small(r, "degree", 1, 1);
        if constexpr (requires { o.count; }) o.count = required_small(r, "count", 1, 1);
      },
      op);
  return op;
}

// A map under an optional key: an absent one reads as empty.
template <class Read>
void section(MapReader& r, std::string_view key, Read&& read) {
  const Yaml* y = r.optional(key);
  if (!y) return;
  MapReader inner(*y, r.path_of(key), r.sink());
  read(inner);
  inner.finish();
}

// Calls read(item, path) for each item of a sequence under a key.
template <class Read>
void each(MapReader& r, std::string_view key, Read&& read) {
  const Yaml* y = r.optional(key);
  if (!y) return;
  if (!y->is_sequence()) return r.complain(key, "expected a list");
  for (std::size_t i = 0; i < y->items.size(); ++i) read(y->items[i], fmt::format("{}[{}]", r.path_of(key), i));
}

std::vector<std::int64_t> integers(MapReader& r, std::string_view key, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> result;
  each(r, key, [&](const Yaml& y, const std::string& path) {
    const auto v = base::as_integer(y, path, r.sink());
    if (v && (*v < least || *v > most)) r.sink().add(y.mark, path, fmt::format("{} is not one of {} .. {}", *v, least, most));
    result.push_back(std::clamp(v.value_or(0), least, most));
  });
  return result;
}

std::string with_hint(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = base::nearest_name(word, names);
  return near.empty() ? std::string() : fmt::format("did you mean \"{}\"?", near);
}

class NodesSoFar {
 public:
  // Returns false where the name is taken. nullopt: the node is wrong, which was reported.
  bool add(const std::string& name, std::optional<NodeId> id) {
    const bool is_new = nodes_.emplace(name, id).second;
    if (is_new && id) names_.push_back(name);
    return is_new;
  }
  // "name", or "name:1" for output 1; nullopt: there is none, which is reported unless the node itself is wrong.
  [[nodiscard]] std::optional<TensorRef> find(const std::string& word, const PcgBuilder& builder, const Yaml& y, const std::string& path,
                                              base::Diagnostics& sink) const {
    std::string name = word;
    int output = 0;
    if (const std::size_t colon = word.rfind(':'); !nodes_.contains(word) && colon != std::string::npos) {
      const char* end = word.data() + word.size();
      if (std::from_chars(word.data() + colon + 1, end, output).ptr == end && colon + 1 < word.size()) name = word.substr(0, colon);
      else output = 0;
    }
    const auto it = nodes_.find(name);
    if (it == nodes_.end())
      sink.add(y.mark, path, fmt::format("no operator before this one is called \"{}\"", name), with_hint(name, names_));
    if (it == nodes_.end() || !it->second) return std::nullopt;
    const std::size_t outputs = builder.node(*it->second).outputs.size();
    if (output >= 0 && static_cast<std::size_t>(output) < outputs) return TensorRef{*it->second, output};
    sink.add(y.mark, path, fmt::format("\"{}\" has {} outputs, numbered from 0", name, outputs));
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string, std::optional<NodeId>> nodes_;
  std::vector<std::string> names_;  // in order, for hints
};

MachineView read_view(MapReader& r) {
  MachineView view;
  section(r, "view", [&](MapReader& v) {
    view.start = DeviceId(static_cast<std::size_t>(v.integer("start", 0, kMostGpus).value_or(0)));
    for (std::int64_t s : integers(v, "strides", -kMostGpus, kMostGpus)) view.strides.push_back(static_cast<int>(s));
    for (std::int64_t d : integers(v, "devices", 0, kMostGpus)) view.devices.emplace_back(static_cast<std::size_t>(d));
    if (v.has("devices") && (v.has("start") || v.has("strides"))) v.complain("devices", "a view has start and strides, or devices");
  });
  return view;
}

// No cut where `shard` is null; nullopt: it is wrong, and reported.
std::optional<Sharding> read_sharding(MapReader& r, const Yaml* shard, const Operator& op, std::span<const TensorShape> inputs,
                                      std::span<const TensorShape> outputs) {
  const IterationSpace space = iteration_space(op, inputs, outputs);
  Sharding s = unsharded(space);
  if (!shard) return s;
  const std::size_t problems = r.sink().size();
  MapReader in(*shard, r.path_of("shard"), r.sink());
  for (std::size_t l = 0; l < space.loops.size(); ++l) s.degrees[l] = small(in, space.loops[l].name, 1, 1);
  s.copies = small(in, "copies", 1, 1);
  s.sums = small(in, "sums", 1, s.sums);
  s.through = small(in, "through", -1, -1);
  in.finish();
  if (r.sink().size() != problems) return std::nullopt;
  const auto fault = violation(space, s, inputs, outputs);
  if (fault) r.complain("shard", *fault);
  return fault ? std::nullopt : std::optional(s);
}

// Reads the list of operators into a PCG. A node that is wrong is reported and left out; what reads it is then checked less, so that
// one mistake is one message.
class NodeReader {
 public:
  NodeReader(Plan& plan, std::vector<Block> blocks, base::Diagnostics& sink)
      : plan_(plan), blocks_(blocks.size()), builder_(plan.pcg.name(), std::move(blocks)), sink_(sink) {}

  void read(const Yaml& y, const std::string& path) {
    MapReader r(y, path, sink_);
    const std::size_t problems = sink_.size();
    r.require("name");
    const std::string name = r.text("name").value_or("");
    const auto inputs = read_inputs(r);
    const int stage = small(r, "stage", 0, 0, plan_.stages - 1);
    const int block = small(r, "block", 0, 0, std::max<std::int64_t>(static_cast<std::int64_t>(blocks_) - 1, 0));
    r.require("op");
    const auto kind_number = r.choice("op", kind_names());  // nullopt: which keys it should have is not known
    const std::size_t operators = operator_kind_names().size();
    std::optional<NodeId> id;
    MachineView view;
    if (kind_number && *kind_number >= operators) {
      const ParallelOperator op = read_parallel(*kind_number - operators, r);
      r.finish();
      if (inputs && inputs->size() != 1) r.complain("in", fmt::format("{} has {} inputs, expected 1", kind_name(op), inputs->size()));
      if (inputs && sink_.size() == problems) id = added(r, builder_.try_add(name, op, inputs->front(), block));
    } else if (kind_number) {
      const Operator op = read_operator(r);
      view = read_view(r);
      const Yaml* shard = r.optional("shard");
      r.finish();
      if (block < block_)
        r.complain("block", fmt::format("block {} comes after block {}: operators are in the order of their blocks", block, block_));
      block_ = std::max(block_, block);
      if (inputs && sink_.size() == problems) id = add(r, name, op, *inputs, shard, view, block);
    }
    if (id) check_stages(r, *inputs, stage);
    if (!nodes_.add(name, id)) r.complain("name", fmt::format("the name \"{}\" is taken", name));
    if (!id) return;
    plan_.mapping.push_back(std::move(view));
    plan_.stage.push_back(stage);
  }

  Pcg build() && { return std::move(builder_).build(); }

 private:
  // nullopt: one of them is not there, or wrong.
  std::optional<std::vector<TensorRef>> read_inputs(MapReader& r) {
    std::optional<std::vector<TensorRef>> inputs{std::in_place};
    each(r, "in", [&](const Yaml& y, const std::string& path) {
      const auto word = base::as_text(y, path, sink_);
      const auto ref = word ? nodes_.find(*word, builder_, y, path, sink_) : std::nullopt;
      if (!ref) inputs.reset();
      else if (inputs) inputs->push_back(*ref);
    });
    return inputs;
  }

  // The value; a refusal is reported.
  template <class T>
  std::optional<T> added(MapReader& r, const base::Attempt<T>& attempt) {
    if (attempt) return *attempt;
    sink_.add(r.node().mark, r.path(), attempt.refusal().why);
    return std::nullopt;
  }

  std::optional<NodeId> add(MapReader& r, const std::string& name, const Operator& op, const std::vector<TensorRef>& inputs,
                            const Yaml* shard, const MachineView& view, int block) {
    std::vector<TensorShape> wholes;
    for (TensorRef t : inputs) wholes.push_back(builder_.shape(t).whole());
    const auto outputs = added(r, try_infer_shapes(op, wholes));
    const auto sharding = outputs ? read_sharding(r, shard, op, wholes, *outputs) : std::nullopt;
    if (!sharding) return std::nullopt;
    const std::optional<NodeId> id = added(r, builder_.try_add(name, op, inputs, *sharding, block));
    if (!id) return std::nullopt;
    if (is_source(op) && view != MachineView{}) r.complain("view", "data lie where they are used: an input or weight has no view");
    if (!is_source(op))
      if (auto v = violation(view, *sharding, plan_.gpus)) r.complain("view", *v);
    return id;
  }

  void check_stages(MapReader& r, const std::vector<TensorRef>& inputs, int stage) {
    for (TensorRef t : inputs)
      if (const int before = plan_.stage[t.node.value]; before > stage)
        r.complain("stage", fmt::format("stage {} reads \"{}\" of stage {}, which comes later", stage, builder_.node(t.node).name, before));
  }

  Plan& plan_;
  std::size_t blocks_;
  int block_ = 0;  // of the operators so far: what moves tensors may have any
  PcgBuilder builder_;
  base::Diagnostics& sink_;
  NodesSoFar nodes_;
};

void read_training(MapReader& r, TrainingConfig& t) {
  r.require("global_batch");
  t.global_batch = r.integer("global_batch", 1).value_or(1);
  t.precision = chosen(r, "precision", t.precision);
  t.fp8_recipe = chosen(r, "fp8_recipe", t.fp8_recipe);
  if (r.has("fp8_recipe") && t.precision != Precision::fp8)
    r.complain("fp8_recipe", fmt::format("of precision fp8, and the precision is {}", to_text(t.precision)));
  t.fp8_attention = r.boolean("fp8_attention").value_or(false);
  if (t.fp8_attention && !has_fp8_attention(t.precision))
    r.complain("fp8_attention", fmt::format("of fp8 and mxfp8, and the precision is {}", to_text(t.precision)));
  t.bf16_layers = read_bf16_layers(r, t.precision);
  t.optimizer = chosen(r, "optimizer", t.optimizer);
  t.framework = chosen(r, "framework", t.framework);
  t.fp32_gradients = r.boolean("fp32_gradients").value_or(false);
  t.clip_gradients = r.boolean("clip_gradients").value_or(false);
  t.constant_tokens = r.boolean("constant_tokens").value_or(false);
}

void read_padding(MapReader& r, Plan& plan) {
  each(r, "padding", [&](const Yaml& y, const std::string& path) {
    MapReader p(y, path, r.sink());
    p.require("from");
    p.require("to");
    const Padding padding{p.integer("from", 1).value_or(1), p.integer("to", 1).value_or(1), chosen(p, "of", Padded::vocabulary)};
    p.finish();
    plan.padding.push_back(padding);
  });
}

void read_rewrites(MapReader& r, Plan& plan) {
  each(r, "rewrites", [&](const Yaml& y, const std::string& path) {
    MapReader w(y, path, r.sink());
    for (const char* key : {"rule", "up_to", "before", "after"}) w.require(key);
    Rewrite rewrite{w.text("rule").value_or(""), w.text("up_to").value_or(""), w.seconds("before").value_or(base::Seconds()),
                    w.seconds("after").value_or(base::Seconds())};
    w.finish();
    plan.rewrites.push_back(std::move(rewrite));
  });
}

std::vector<Block> read_blocks(MapReader& r) {
  std::vector<Block> blocks;
  each(r, "blocks", [&](const Yaml& y, const std::string& path) {
    MapReader b(y, path, r.sink());
    b.require("name");
    Block block;
    block.name = b.text("name").value_or("");
    block.weighty = b.boolean("weighty").value_or(true);
    block.auxiliary = b.boolean("auxiliary").value_or(false);
    b.finish();
    blocks.push_back(std::move(block));
  });
  if (!r.has("blocks")) blocks.push_back({.name = "model"});
  return blocks;
}

// Numbers of the plan's blocks, of which there are `blocks`. `where_none`: what to write instead of an empty list.
std::vector<int> read_blocks(MapReader& r, const char* key, std::size_t blocks, const char* where_none) {
  std::vector<int> numbers;
  for (const std::int64_t b : integers(r, key, 0, std::max<std::int64_t>(static_cast<std::int64_t>(blocks) - 1, 0)))
    numbers.push_back(static_cast<int>(b));
  if (const Yaml* list = r.optional(key); list && list->is_sequence() && list->items.empty())
    r.complain(key, "no block is listed", fmt::format("write {} where none is meant, or leave {} out where all are", where_none, key));
  return numbers;
}

void read_recomputed(MapReader& r, std::size_t blocks, RecomputedParts& parts) {
  parts.only = read_blocks(r, "recomputed_only", blocks, "recompute: none");
  if (const auto count = r.integer("recomputed_blocks", 0, kMostCount)) parts.blocks = static_cast<int>(*count);
  each(r, "recomputed_modules", [&](const Yaml& y, const std::string& path) {
    const auto m = named<Module>(y.is_scalar() ? std::string_view(y.scalar) : std::string_view());
    if (!m) r.sink().add(y.mark, path, "expected a module", fmt::format("one of: {}", fmt::join(names<Module>(), ", ")));
    else if (std::ranges::find(parts.modules, *m) != parts.modules.end())
      r.sink().add(y.mark, path, fmt::format("{} is listed twice", name_of(*m)));
    else parts.modules.push_back(*m);
  });
  std::ranges::sort(parts.modules);
}

const std::vector<std::string> kSynchronisations = {"micro_batch", "iteration"};

void read_zero(MapReader& r, std::size_t blocks, ZeroPolicy& policy) {
  policy.blocks = read_blocks(r, "zero_blocks", blocks, "zero: 0");
  policy.groups = small(r, "shard_groups", 1, 1);
  if (const auto blocks_ahead = r.integer("prefetch", 0, kMostCount)) policy.prefetch = static_cast<int>(*blocks_ahead);
  policy.accumulates = r.choice("synchronise", kSynchronisations).value_or(0) == 1;
  policy.keeps_weights = !r.boolean("reshard_after_forward").value_or(true);
}

// Everything but the blocks, of which there are `blocks`, and the operators.
void read_head(MapReader& r, std::size_t blocks, Plan& plan) {
  r.require("name");
  plan.name = r.text("name").value_or("");
  plan.summary = r.text("summary").value_or("");
  if (const Yaml* model = r.required("model")) {
    (void)MapReader(*model, r.path_of("model"), r.sink());  // says so where it is no map; its keys are the model's to judge
    plan.model = *model;
  }
  read_padding(r, plan);
  r.require("training");
  section(r, "training", [&](MapReader& t) { read_training(t, plan.training); });
  r.require("gpus");
  plan.gpus = small(r, "gpus", 1, kMostGpus, kMostGpus);  // no second message for every view when it is wrong
  section(r, "schedule", [&](MapReader& s) {
    plan.schedule = chosen(s, "kind", plan.schedule);
    plan.stages = small(s, "stages", 1, 1);
    plan.chunks = small(s, "chunks", 1, 1);
    plan.micro_batches = small(s, "micro_batches", 1, 1);
    plan.micro_batch_group = small(s, "micro_batch_group", 0, 0);
    plan.lean_warm_up = s.boolean("lean_warm_up").value_or(false);
  });
  section(r, "memory", [&](MapReader& m) {
    plan.recompute = chosen(m, "recompute", plan.recompute);
    read_recomputed(m, blocks, plan.memory.recomputed);
    plan.zero = small(m, "zero", 0, 0, 3);
    read_zero(m, blocks, plan.memory.zero);
    plan.memory.weights = chosen(m, "weights", plan.memory.weights);
    plan.memory.bf16_moments = m.boolean("bf16_moments").value_or(false);
    plan.memory.fp8_activation_inputs = m.boolean("fp8_activation_inputs").value_or(false);
    section(m, "offload", [&](MapReader& o) {
      plan.memory.offload.activations = o.boolean("activations").value_or(false);
      plan.memory.offload.blocks = small(o, "blocks", 0, 0);
      plan.memory.offload.optimizer = o.boolean("optimizer").value_or(false);
    });
  });
  plan.key_exchange = chosen(r, "key_exchange", plan.key_exchange);
  plan.cuda_graphs = r.boolean("cuda_graphs").value_or(false);
  section(r, "graphed", [&](MapReader& g) {
    for (const auto& [word, part] : kGraphedWords) plan.graphed.*part = g.boolean(std::string(word).c_str()).value_or(false);
  });
  plan.dispatch = chosen(r, "dispatch", plan.dispatch);
  plan.between_stages = chosen(r, "between_stages", plan.between_stages);
  section(r, "overlap", [&](MapReader& o) {
    for (const auto& [word, choice] : kOverlapWords) plan.overlap.*choice = o.boolean(word);
  });
}

}  // namespace

Plan read_plan(const base::Yaml& document) {
  base::Diagnostics sink;
  MapReader top(document, "", sink);
  top.format();
  Plan plan;
  top.require("plan");
  section(top, "plan", [&](MapReader& r) {
    std::vector<Block> blocks = read_blocks(r);
    read_head(r, blocks.size(), plan);
    read_rewrites(r, plan);
    plan.pcg = PcgBuilder(r.text("graph").value_or(plan.name), {}).build();
    NodeReader nodes(plan, std::move(blocks), sink);
    r.require("operators");
    each(r, "operators", [&](const Yaml& y, const std::string& path) { nodes.read(y, path); });
    plan.pcg = std::move(nodes).build();
    if (sink.empty())
      for (std::string& problem : violations(plan)) sink.add(r.node().mark, r.path(), std::move(problem));
  });
  top.finish();
  sink.throw_if_any();
  return plan;
}

}  // namespace pcg
