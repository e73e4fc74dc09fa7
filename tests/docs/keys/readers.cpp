#include "tests/docs/keys/readers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "pcg/plan/plan_text.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "profiles/network_profile.hpp"
#include "reports/show/show.hpp"
#include "scenarios/intervals/interval.hpp"
#include "scenarios/question/plan_entries.hpp"
#include "scenarios/question/scenario.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "tests/docs/file_text.hpp"
#include "tests/docs/keys/key_tables.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace test {
namespace {

using base::Yaml;

Yaml yaml(const std::string& text) { return base::parse_yaml(text, "document"); }

std::vector<Yaml> yamls(const std::vector<std::string>& texts) {
  std::vector<Yaml> all;
  all.reserve(texts.size());
  for (const std::string& text : texts) all.push_back(yaml(text));
  return all;
}

// A reader whose values tell whether two documents say the same. `read` takes a document and throws.
template <class Read>
KeyReader compared(std::string table, std::string place, std::vector<Yaml> documents, Read read) {
  return {.table = std::move(table),
          .place = std::move(place),
          .documents = std::move(documents),
          .load = [read](const Yaml& y) { (void)read(y); },
          .same = [read](const Yaml& a, const Yaml& b) { return read(a) == read(b); }};
}

// --- scenarios

constexpr const char* kScenario = R"(
foreshard: 1
model: {builtin: mlp}
cluster: {preset: dgx-a100-80gb, nodes: 1}
training: {global_batch: 64}
plans: [data-parallel]
what_if: [{name: more, set: {training.precision: bf16}, sweep: {training.global_batch: [32, 128]}}]
)";

auto scenario_value(const Yaml& document) {
  const scenarios::Scenario s = scenarios::load_scenario(document, ".");
  const scenarios::Variant& v = s.base();
  return std::make_tuple(s.name, reports::cluster_json(*v.cluster), *v.model, v.training, v.framework.profile, s.probes.size(),
                         s.variants[s.variants.size() - 1].replan, s.variants.size());
}

constexpr const char* kCapacity = R"(
foreshard: 1
model: {builtin: gpt3-125m}
cluster: {preset: dgx-a100-80gb, nodes: 1}
training: {global_batch: 64}
plans: [data-parallel]
capacity:
  train: {UNIT: 1000}
  candidates:
    - {cluster: {preset: dgx-h100}, nodes: 2, power: 10 kW/node, pue: 1.5,
       owned: {nodes: 1, capex: 300 kUSD/node, years: 4, electricity: 0.1 USD/kWh}}
  reliability: {checkpoint: {bandwidth: 2 GB/s/node}}
)";

// What candidates come to if an iteration takes a second everywhere.
auto capacity_value(const Yaml& document) {
  const scenarios::CapacityQuestion q = *scenarios::load_scenario(document, ".").capacity;
  std::vector<scenarios::CapacityCase> cases;
  for (const auto& p : q.points)
    cases.push_back({.candidate = p.candidate,
                     .fleet = p.fleet,
                     .forecast = scenarios::TrainingForecast{.iteration = base::Seconds(1),
                                                             .low = base::Seconds(1),
                                                             .high = base::Seconds(1),
                                                             .samples_per_s = 1,
                                                             .tokens_per_s = 1,
                                                             .gpus = p.fleet.gpus,
                                                             .states = base::Bytes(1e12)}});
  std::vector<double> figures;
  for (const scenarios::CapacityEntry& e : scenarios::capacity_entries(q.terms, cases)) {
    if (!e.outcome) continue;
    const scenarios::Outcome& o = *e.outcome;
    figures.insert(figures.end(), {o.time.value(), o.owned_cost.value(), o.rented_gpu_hours, o.energy ? o.energy->value() : 0,
                                   o.losses ? o.losses->interval.value() : 0});
  }
  return figures;
}

KeyReader capacity_reader() {
  std::vector<Yaml> documents;
  for (const char* unit : {"tokens", "samples", "iterations"}) {
    std::string text = kCapacity;
    text.replace(text.find("UNIT"), 4, unit);
    documents.push_back(yaml(text));
  }
  return compared("Capacity", "capacity", documents, capacity_value);
}

std::vector<KeyReader> scenario_readers() {
  std::string per_gpu = kScenario;
  per_gpu.replace(per_gpu.find("global_batch"), std::string("global_batch").size(), "batch_per_gpu");
  const std::vector<Yaml> documents = yamls({kScenario, per_gpu});
  return {compared("Scenario", "", documents, scenario_value), compared("Training", "training", documents, scenario_value),
          compared("What-ifs", "what_if[0]", documents, scenario_value), capacity_reader()};
}

// --- planners with tables: one reader for each kind, and for each word that stands behind a kind

void load_entries(const Yaml& document) {
  base::Diagnostics sink;
  (void)scenarios::read_plan_entries(*document.find("plans"), "plans", ".", sink);
  sink.throw_if_any();
}

std::vector<KeyReader> planner_readers() {
  std::vector<KeyReader> readers;
  for (const search::Planner& p : search::planners()) {
    if (p.options.empty() || !test::has_option_tables(p.kind)) continue;
    const std::string form = p.form.empty() ? "" : fmt::format("{}: true", p.form), name = p.form.empty() ? p.kind : p.kind + ": " + p.form;
    readers.push_back({.table = fmt::format("`{}`", name),
                       .place = fmt::format("plans[0].{}", p.kind),
                       .documents = yamls({fmt::format("plans: [{{\"{}\": {{{}}}}}]", p.kind, form)}),
                       .load = load_entries,
                       .elsewhere = p.form.empty() ? std::vector<std::string>{} : std::vector<std::string>{p.form}});
  }
  return readers;
}

// --- models

constexpr const char* kTransformer = R"(
model:
  transformer: {layers: 2, hidden: 64, heads: 4, vocab: 1000, sequence_length: 32)";

pcg::Graph model_value(const Yaml& document) { return pcg::models::load_model(*document.find("model"), "model", ".", 2); }

std::vector<KeyReader> model_readers() {
  std::vector<Yaml> transformers;
  for (const char* more :
       {"", ", ffn: 128, experts: 4", ", kv_rank: 16, rope_dim: 8, value_dim: 16, head_dim: 16", ", window: 8", ", rope: true",
        ", biases: false", ", gated: true", ", expert_groups: 2, groups_per_token: 1, experts: 4, top_k: 1"})
    transformers.push_back(yaml(std::string(kTransformer) + more + "}"));
  const std::vector<Yaml> builtin = yamls({"model: {builtin: gpt3-125m}"}),
                          onnx = yamls({"model: {onnx: missing.onnx, sizes: {a: 1}, outputs: [a]}"});
  std::vector<Yaml> sources = yamls({"model: {huggingface: missing}", "model: {graph: missing}"});
  sources.insert(sources.end(), {builtin[0], onnx[0], transformers[0]});
  KeyReader of_source = compared("Model", "model", sources, model_value);
  KeyReader beside = compared("Model: Beside a source these override its numbers:", "model", builtin, model_value);
  KeyReader of_onnx = compared("ONNX", "model", onnx, model_value);
  KeyReader adapters = compared(
      "Model: Low-rank adapters (LoRA), beside any source:", "model",
      yamls({"model: {builtin: gpt3-125m, lora: {rank: 4}}", "model: {builtin: gpt3-125m, lora: {rank: 4, on: [up]}}"}), model_value);
  const std::vector<std::string> source_keys = {"builtin", "transformer", "huggingface", "onnx", "graph"},
                                 onnx_keys = {"sizes", "outputs", "loss"},
                                 overrides = {"sequence_length", "attention", "dropout", "expert_imbalance", "lora"};
  of_source.elsewhere = onnx_keys;
  of_source.elsewhere.insert(of_source.elsewhere.end(), overrides.begin(), overrides.end());
  beside.elsewhere = source_keys;
  beside.elsewhere.push_back("lora");
  adapters.elsewhere = source_keys;
  adapters.elsewhere.insert(adapters.elsewhere.end(), overrides.begin(), overrides.end() - 1);
  of_onnx.elsewhere = source_keys;
  of_onnx.elsewhere.insert(of_onnx.elsewhere.end(), overrides.begin(), overrides.end());
  return {of_source, beside, adapters, of_onnx,
          compared("Transformer: The map of `transformer`:", "model.transformer", transformers, model_value)};
}

// --- clusters

constexpr const char* kCluster = R"(
cluster:
  nodes: 2
  links:
    pcie: {bandwidth: 16 GB/s, latency: 1 us}
    ib: {bandwidth: 12.5 GB/s, latency: 2 us}
  node:
    gpus: {type: a100-sxm-80gb, count: 2}
    components: [cpu0, NICS]
    wires:
      - {between: ["gpu[0-1]", cpu0], link: pcie}
      - {all_pairs: [NICS, cpu0], link: pcie}
)";

auto cluster_value(const Yaml& document) {
  const topology::Cluster c = topology::load_cluster(topology::expand_cluster(*document.find("cluster"), "cluster"), "cluster");
  const bool is_assumed = std::ranges::any_of(c.links(), [&](const topology::Link& l) { return c.is_assumed(l.type); });
  return std::make_tuple(is_assumed, reports::cluster_json(c), topology::kind_of(c.devices()[0]), c.network_profile(),
                         c.in_network_switch(base::DeviceId(0)).has_value(), c.route(base::DeviceId(0), base::DeviceId(1)).links);
}

// The cluster with so many nodes, of so many NICs each.
std::string cluster_of(int nodes, const std::string& nics) {
  std::string text = kCluster;
  text.replace(text.find("nodes: 2"), std::string("nodes: 2").size(), fmt::format("nodes: {}", nodes));
  while (text.find("NICS") != std::string::npos) text.replace(text.find("NICS"), std::string("NICS").size(), nics);
  return text;
}

std::vector<KeyReader> cluster_readers() {
  const std::string cluster = cluster_of(2, "nic0");
  std::vector<Yaml> clusters = yamls({
      cluster + "  network: {type: switch, link: ib}",
      cluster + "  network: {type: fat-tree, link: ib}",
      cluster + "  network: {type: fat-tree, link: ib, nodes_per_leaf: 1, leaves_per_pod: 1}",
      cluster + "  network: {type: rail, link: ib}",
      cluster_of(40, "nic0") + "  network: {type: fat-tree, link: ib}",
      cluster + "  network: {type: dragonfly, link: ib, nodes_per_router: 1, routers_per_group: 1}",
      cluster_of(8, "nic0, nic1") + "  network: {type: dragonfly, link: ib, nodes_per_router: 2, routers_per_group: 2}",
      cluster + "  network: {type: torus, link: ib, dimensions: [2]}",
      cluster + "  network: {type: custom, link: ib, switches: [a, b], attach: [{nodes: 0, to: a}, {nodes: 1, to: b}], links: [{between: "
                "[a, b]}]}",
      cluster + "    domain: {nodes: 2, link: ib, in_network: true}",
      cluster_of(2, "switch0, nic0") + "      - {between: [\"gpu[0-1]\", switch0], link: pcie}\n  network: {type: switch, link: ib}",
  });
  Yaml typed = yaml(cluster + "  network: {type: switch, link: ib}");
  Yaml& section = *typed.find("cluster");
  Yaml node = *section.find("node");
  node.set("count", yaml("2"));
  Yaml types = Yaml::make_sequence();
  types.items.push_back(std::move(node));
  section.set("node_types", std::move(types));
  section.erase("node");
  section.erase("nodes");
  clusters.push_back(std::move(typed));
  KeyReader all = compared("Cluster", "cluster", clusters, cluster_value);
  all.alike = {{"cluster.node_types[]", "cluster.node"}};
  return {all, compared("Networks", "cluster.network", clusters, cluster_value)};
}

// --- plans, rules, graphs

constexpr const char* kPlan = R"(
foreshard: 1
plan:
  name: p
  model: {builtin: mlp}
  training: {global_batch: 4, bf16_layers: {}}
  gpus: 1
  padding: [{from: 1, to: 2}]
  schedule: {micro_batches: 1}
  memory: {offload: {}}
  overlap: {}
  graphed: {}
  rewrites: [{rule: r, up_to: y, before: 2 ms, after: 1 ms}]
  blocks: [{name: b}]
  operators:
    - {name: x, op: input, shape: [4, 8], shard: {}}
    - {name: w, op: weight, shape: [8, 8]}
    - {name: y, op: linear, out: 8, in: [x, w], shard: {}, view: {}}
)";

constexpr const char* kRules = R"(
foreshard: 1
generator: by hand
axioms: none
rules:
  - name: inner
    kind: hybrid
    variables: ["x: [m, k]", "w: [k, n]"]
    source: linear(x, w)
    target: reduce[d](linear(partition[1, d](x), partition[0, d](w)))
    axioms: []
digest: none
)";

constexpr const char* kGraph = R"(
foreshard: 1
graph:
  name: g
  blocks:
    - name: b
      nodes:
        - {name: x, op: input, shape: [4, 8]}
        - {name: w, op: weight, shape: [8, 8]}
        - {name: y, op: linear, out: 8, inputs: [x, w]}
)";

void load_rules(const Yaml& document) { (void)rules::parse_rules(base::emit_yaml(document), "rules"); }

std::vector<KeyReader> file_readers(const std::vector<std::string>& of_operators) {
  KeyReader plan = compared("Plan file", "plan", yamls({kPlan}), pcg::read_plan);
  KeyReader operators = compared("Plan file: An operator, computing or parallel:", "plan.operators[2]", yamls({kPlan}), pcg::read_plan);
  operators.elsewhere = of_operators;
  KeyReader rules{.table = "Rule file", .place = "", .documents = yamls({kRules}), .load = load_rules, .all_required = true};
  KeyReader rule{.table = "Rule file: Each rule:",
                 .place = "rules[0]",
                 .documents = yamls({kRules}),
                 .load = load_rules,
                 .elsewhere = {"proof_s"},
                 .all_required = true};
  KeyReader graph = compared("Graph file", "graph", yamls({kGraph}), [](const Yaml& y) { return pcg::models::read_graph(y, ""); });
  graph.elsewhere = of_operators;
  return {plan, operators, rules, rule, graph};
}

// --- profiles

constexpr const char* kFitted = R"(
products:
  - kind: matmul
    precision: fp32
    source: table
    parameters: {peak_share: 1, half_ratio: 1, tail: 1, step_s: 1, round_s: 1, store_share: 1, bandwidth_share: 1, launch_s: 1, split_s: 1,
                 split_store_share: 1, overlap: 1}
    correction: {rows: 0 1, columns: 0 1, inner: 0 1, thousandths: [0 0 0 0 0 0 0 0]}
attentions:
  - {kind: attention_gradient, precision: bf16, source: table, parameters: {peak_share: 1, fixed_keys: 1, score_dims: 1, launch_s: 1}}
rates:
  - {kind: softmax, source: table, max: 0.5, half: 0 B, smallest: 1 B, largest: 1 MB}
table: []
)";

auto provenance_of(const profiles::DeviceProfile& d) {
  std::vector<profiles::Provenance> all;
  for (const auto& [what, product] : d.fitted.products) all.push_back(product.provenance);
  for (const auto& [what, attention] : d.fitted.attentions) all.push_back(attention.provenance);
  for (const auto& [what, rate] : d.fitted.rates) all.push_back(rate.provenance);
  return all;
}

auto device_value(const Yaml& document) {
  const profiles::DeviceProfile d = profiles::load_device_profile(document);
  return std::make_tuple(d.name, d.vendor_name, d.memory, d.reserved, d.product_workspace, d.memory_bandwidth, d.peak, d.vector_peak,
                         d.launch_overhead, d.kernel_floor, d.overlap_slowdown, d.ceiling, d.sustained, d.sustained_spread,
                         d.sustained_assumed, d.split_accumulation, d.transposes_fp8, d.power, d.compute, d.vector_compute, d.traffic,
                         provenance_of(d));
}

std::vector<KeyReader> profile_readers() {
  Yaml device = yaml(std::string(profiles::device_text("titan-xp-12gb"))),
       whole = yaml(std::string(profiles::device_text("h100-sxm-80gb")));
  whole.find("device")->set("fitted", yaml(kFitted));
  std::vector<Yaml> frameworks;
  for (const char* more :
       {"",
        "  overlapped_bucket: {parameters: 100}\n  attention: {a100: 1}\n  attention_gradient: {a100: 1}\n  sustained: {a100: 1}\n  "
        "attention_block_keys: 1\n"
        "  attention_gradient_block_keys: 1",
        "  fallback_softmax: {heads: 1, keys: 1, forward_kernels: 1, backward_kernels: 1, forward_bytes: 1 B, backward_bytes: 1 B}",
        "  unit_copies: {gathered_bytes: 1 B, reduced_bytes: 1 B, reduced_strided_bytes: 1 B}\n  unfused_scores: {forward: 1, backward: 1, "
        "masked: 1}",
        "  loss: {forward_kernels: 1, backward_kernels: 1, forward_bytes: 1 B, backward_bytes: 1 B}\n"
        "  loss_casts: {forward_bytes: 1 B, backward_bytes: 1 B}",
        "  expert_bias: {forward_bytes: 1 B, backward_bytes: 1 B, forward_kernels: 2, backward_kernels: 2,\n"
        "    forward_strided_bytes: 1 B, backward_strided_bytes: 1 B}\n"
        "  rotation: {forward_bytes: 1 B, backward_bytes: 1 B, forward_kernels: 2, backward_kernels: 2}\n"
        "  rms_norm: {forward_bytes: 1 B, backward_bytes: 1 B, forward_kernels: 2, backward_kernels: 2}",
        "  context_merge: {forward_bytes: 1 B, backward_bytes: 1 B, forward_kernels: 2, backward_kernels: 2}\n  context_copy: "
        "{forward_bytes: 1 B, backward_bytes: 1 B, forward_kernels: 2, backward_kernels: 2}",
        "  compiled: true\n  adam_bytes: 72 B\n  unfused_experts: true",
        "  memory: {rms_norm: 1 B, loss_kept: 1 B, loss_temporaries: 1 B, gradient_placeholders: true, half_gradients: true, "
        "adam_temporaries: 1 "
        "B, fp32_shards: true, "
        "weighed_activations: true, "
        "copied_attention_output: {a100: true}, product_workspaces: 1, product_workspace: 1 B, library_workspaces: 1, "
        "expert_workspaces: 1, allocator_share: 0.1, reduce_buffer: 1, reuse_distance: 1, live_parameters: 1}"})
    frameworks.push_back(yaml(std::string("foreshard: 1\nframework:\n  name: generic\n  gradient_bucket: 1 MB\n  host: {}\n") + more));
  std::vector<Yaml> networks = yamls({std::string(profiles::network_text("a100-nvswitch"))});
  scenarios::IntervalModel intervals = scenarios::shipped_intervals();
  intervals.pairs.spread.fill(0.1);
  const std::string with_pairs = scenarios::write_intervals(intervals, "a test");
  KeyReader accuracy{.table = "Accuracy file",
                     .place = "accuracy",
                     .documents = yamls({with_pairs}),
                     .load = [](const Yaml& y) { (void)scenarios::read_intervals(y); },
                     .all_required = true};
  const auto of_framework = [](const Yaml& y) { return profiles::load_framework_profile(y); };
  const auto of_network = [](const Yaml& y) { return profiles::to_yaml(profiles::load_network_profile(y)); };
  return {compared("Device profile", "device", {device, whole}, device_value),
          compared("Framework profile", "framework", frameworks, of_framework),
          compared("Network profile", "network", networks, of_network), accuracy};
}

}  // namespace

std::vector<KeyReader> key_readers(const std::vector<std::string>& of_operators) {
  std::vector<KeyReader> all;
  for (std::vector<KeyReader> some :
       {scenario_readers(), planner_readers(), model_readers(), cluster_readers(), file_readers(of_operators), profile_readers()})
    std::ranges::move(some, std::back_inserter(all));
  return all;
}

}  // namespace test
