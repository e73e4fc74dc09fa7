#include "scenarios/answer/check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/numbers.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/reader.hpp"
#include "pcg/evaluator/equivalence.hpp"
#include "pcg/evaluator/evaluator.hpp"
#include "pcg/models/load.hpp"
#include "pcg/plan/plan_text.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/framework_profile.hpp"
#include "profiles/network_profile.hpp"
#include "scenarios/answer/answer.hpp"
#include "scenarios/intervals/interval.hpp"
#include "scenarios/question/scenario.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace scenarios {
namespace {

constexpr std::array kModelKeys = {"model", "graph", "blocks", "model_type", "architectures"};  // the last two are of Hugging Face
constexpr int kSizes = 3;  // random sizes at which a plan and its model are evaluated

// Requires: a file of ours with one section, and the format's version beside it.
const base::Yaml& section_of(const base::Yaml& document, std::string_view key) {
  base::Diagnostics sink;
  base::MapReader in(document, "", sink);
  const base::Yaml* section = in.required(key);
  in.format();
  in.finish();
  sink.throw_if_any();
  return *section;
}

std::string counted(std::size_t number, const char* noun) { return base::counted(static_cast<std::int64_t>(number), noun); }

CheckResult check_plan(const base::Yaml& document, const std::filesystem::path& directory, std::uint64_t seed) {
  const pcg::Plan plan = pcg::read_plan(document);
  const pcg::Graph model = pcg::models::load_model(plan.model, "plan.model", directory, 1);
  const pcg::EquivalenceResult result = pcg::check_equivalence(plan, model, kSizes, seed);
  return {result.equivalent, result.detail};
}

CheckResult check_scenario(const base::Yaml& document, const std::filesystem::path& directory) {
  const Scenario s = load_scenario(document, directory);
  std::string text = fmt::format("scenario {}: {}, {}", s.name, counted(s.plans.size(), "plan"), counted(s.variants.size() - 1, "what-if"));
  if (s.capacity) text += fmt::format(", {} to buy or rent", counted(s.capacity->points.size(), "machine"));
  bool sound = true;
  for (const PlanEntry& e : s.plans)
    if (const auto why = why_no_plan(e, seen_by(e, s.base()))) {
      text += fmt::format("\n  {}: {}", e.name, *why);
      sound = false;
    }
  return {sound, text};
}

CheckResult check_cluster(const base::Yaml& document, const std::filesystem::path& directory) {
  const base::Yaml& section = section_of(document, "cluster");
  const topology::Cluster c = topology::load_cluster(topology::expand_cluster(section, "cluster", directory), "cluster");
  return {true, fmt::format("cluster {}: {}, {}", c.name(), base::counted(c.nodes(), "node"), base::counted(c.device_count(), "GPU"))};
}

CheckResult check_model(const base::Yaml& document, const std::filesystem::path& file) {
  if (document.is_map() && std::ranges::none_of(kModelKeys, [&](const char* key) { return document.find(key) != nullptr; }))
    base::refuse(document.mark, "", "none of its keys tells what file it is",
                 "a scenario has \"plans\" or \"training\"; others \"plan\", \"cluster\", \"model\", \"graph\", \"device\", \"framework\", "
                 "\"network\", \"rules\"");
  // A file of ours; graphs and configs of Hugging Face judge their keys themselves.
  if (document.find("model") != nullptr) (void)section_of(document, "model");
  const pcg::Graph model = pcg::models::load_model_argument(file.string(), 1);
  return {true, fmt::format("model {}: {} parameters", model.name(), model.parameters())};
}

CheckResult check_rules(const std::filesystem::path& file, int processes) {
  rules::RuleFile rules = rules::read_rules(file);
  const std::string reason = rules::why_not_as_written(rules, rules::axioms());
  const std::size_t count = rules::load_rules(std::move(rules), processes).size();
  return {true, fmt::format("{}, all proved{}", counted(count, "rule"), reason.empty() ? "" : "; of the file: " + reason)};
}

}  // namespace

// Keys that only one kind of file has come first; a graph or a config of Hugging Face has no key of its own that is sure.
CheckResult check_file(const std::filesystem::path& file, std::uint64_t seed, int processes) {
  const base::Yaml document = base::read_yaml(file);
  const std::filesystem::path directory = file.parent_path();
  const auto has = [&](std::string_view key) { return document.find(key) != nullptr; };
  if (has("plans") || has("training")) return check_scenario(document, directory);
  if (has("plan")) return check_plan(document, directory, seed);
  if (has("device")) return {true, fmt::format("device profile {}", profiles::load_device_profile(document).name)};
  if (has("framework"))
    return {true, fmt::format("framework profile {}", pcg::name_of(profiles::load_framework_profile(document).framework))};
  if (has("network")) return {true, fmt::format("network profile {}", profiles::load_network_profile(document).name)};
  if (has("accuracy")) return {true, fmt::format("accuracy file: {} groups", read_intervals(document).groups.size())};
  if (has("rules")) return check_rules(file, processes);
  return has("cluster") ? check_cluster(document, directory) : check_model(document, file);
}

}  // namespace scenarios
