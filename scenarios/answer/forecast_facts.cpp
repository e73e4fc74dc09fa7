#include "scenarios/answer/forecast_facts.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/hash.hpp"
#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "pcg/plan/plan_text.hpp"

namespace scenarios {
namespace {

using base::Yaml;

std::string short_digest(const std::string& text) { return fmt::format("{:016x}", base::hash_text(text)); }

std::string work_of(const Variant& v) {
  const pcg::TrainingConfig& t = v.training;
  return short_digest(fmt::format("{}\n{} {} {} {} {}\n{}", pcg::models::write_graph(*v.model), pcg::name_of(t.optimizer), t.fp32_gradients,
                                  t.clip_gradients, t.constant_tokens, v.framework.name(),
                                  v.framework.section.is_map() ? base::emit_yaml(v.framework.section) : ""));
}

std::string precision_of(const pcg::TrainingConfig& t) {
  return fmt::format("{} {} {} {} {} {}", pcg::to_text(t.precision), pcg::name_of(t.fp8_recipe), t.fp8_attention, t.bf16_layers.first,
                     t.bf16_layers.last, t.bf16_layers.mtp);
}

// Of the loop of samples the block of a shard: more replicas of equal ones are the same plan on another scale.
void add_cuts(const pcg::PcgNode& node, base::Hash& hash) {
  for (std::size_t l = 0; l < node.sharding.degrees.size(); ++l) {
    const pcg::Loop& loop = node.space->loops[l];
    const int degree = node.sharding.degrees[l];
    hash(static_cast<std::uint64_t>(loop.name == "b" ? loop.size / degree : degree));
  }
  hash(static_cast<std::uint64_t>(node.sharding.copies))(static_cast<std::uint64_t>(node.sharding.sums));
}

// What pcg::Plan holds besides numbers of GPUs and of micro-batches, their places, and what other facts say.
std::string plan_digest(const pcg::Plan& p) {
  base::Hash cuts(1);
  for (std::size_t n = 0; n < p.pcg.nodes().size(); ++n) {
    const pcg::PcgNode& node = p.pcg.nodes()[n];
    if (!node.computes()) continue;
    add_cuts(node, cuts);
    cuts(static_cast<std::uint64_t>(n < p.stage.size() ? p.stage[n] : 0));
  }
  Yaml settings = pcg::plan_settings(p);
  for (const char* key : {"padding", "training", "gpus"}) settings.erase(key);
  if (Yaml* schedule = settings.find("schedule")) schedule->erase("micro_batches");
  return fmt::format("{:016x} {}", cuts.value(), short_digest(base::emit_yaml(settings)));
}

// How much memory there is changes what fits, not how long a plan takes.
void drop_memory(Yaml& node) {
  if (Yaml* gpus = node.find("gpus"); gpus != nullptr && gpus->is_map()) gpus->erase("memory");
}

Yaml without_scale(const std::string& key, Yaml section) {
  if (key == "node") drop_memory(section);
  if (key != "node_types") return section;
  for (Yaml& type : section.items) {
    drop_memory(type);
    type.erase("count");
  }
  return section;
}

std::map<std::string, std::string> machine_of(const Variant& v) {
  std::map<std::string, std::string> parts;
  const Yaml* cluster = v.document.find("cluster");
  if (cluster == nullptr) return parts;
  for (const Yaml::Entry& e : cluster->entries) {
    if (e.key == "nodes" || e.key == "name") continue;
    if (e.key != "links") parts[e.key] = short_digest(base::emit_yaml(without_scale(e.key, e.value)));
    else
      for (const Yaml::Entry& link : e.value.entries) parts[std::string(kLinkPart) + link.key] = short_digest(base::emit_yaml(link.value));
  }
  return parts;
}

}  // namespace

ForecastFacts facts_of(const Variant& variant, const pcg::Plan& plan, const sim::SimulationResult& s, const Workload& w) {
  ForecastFacts facts{.work = work_of(variant),
                      .plan = plan_digest(plan),
                      .gpus = plan.gpus,
                      .samples = static_cast<double>(plan.training.global_batch),
                      .precision = precision_of(plan.training),
                      .machine = machine_of(variant),
                      .links = {},
                      .shares = w.shares};
  for (const auto& [type, bytes] : s.bytes.by_link)
    if (bytes > base::Bytes(0)) facts.links[type] = 0;
  for (const auto& [type, waiting] : s.breakdown.exposed_by_link)
    if (s.iteration_time > base::Seconds(0)) facts.links[type] = waiting / s.iteration_time;
  return facts;
}

}  // namespace scenarios
