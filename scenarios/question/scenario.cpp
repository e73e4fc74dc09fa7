#include "scenarios/question/scenario.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/yaml/reader.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

// Whether a scenario asks what to buy and nothing else: then it needs neither plans nor a cluster of its own.
bool asks_for_capacity_alone(const MapReader& in) { return in.has("capacity") && !in.has("plans"); }

// The sections that variants patch; without those that are missing, which is reported.
Patchable read_sections(MapReader& in, const std::filesystem::path& directory, Diagnostics& sink) {
  const Yaml* model = in.required("model");
  const Yaml* cluster = asks_for_capacity_alone(in) ? in.optional("cluster") : in.required("cluster");
  const Yaml* training = in.required("training");
  Yaml sections = Yaml::make_map(in.node().mark);
  if (model != nullptr) sections.set("model", with_absolute_files(*model, directory), model->mark);
  if (cluster != nullptr) try {
      sections.set("cluster", topology::expand_cluster(*cluster, "cluster", directory), cluster->mark);
    } catch (const base::InputError& e) { sink.add_all(e); }
  if (training != nullptr) sections.set("training", *training, training->mark);
  return {std::move(sections), cluster != nullptr ? *cluster : Yaml::make_map(in.node().mark), directory};
}

// Without parameters that are at the end of what they may be.
std::vector<Probe> load_probes(const Patchable& sections) {
  std::vector<Probe> probes;
  VariantLoader loader(sections.directory);
  const auto load = [&](const Parameter& p, double factor) -> std::optional<Variant> {
    Diagnostics out_of_bounds;
    Yaml document = patched(sections, changed_by(p, factor), out_of_bounds);
    return out_of_bounds.empty() ? loader.load(std::move(document), out_of_bounds) : std::nullopt;
  };
  for (const Parameter& p : parameters_of(*sections.document.find("cluster"))) {
    Probe probe{p, {}, {}, {}};
    if (!p.is_capacity) {
      probe.down = load(p, 1 / kProbeStep);
      probe.up = load(p, kProbeStep);
    }
    if (auto improved = load(p, improvement(p)); improved && (p.is_capacity || (probe.down && probe.up))) {
      probe.improved = std::move(*improved);
      probes.push_back(std::move(probe));
    }
  }
  return probes;
}

// A saved plan belongs to its model. Of what-ifs, answers say it: the base has its answer all the same.
void check_saved_plans(const Scenario& s, Diagnostics& sink) {
  for (const PlanEntry& entry : s.plans) {
    const auto* saved = std::get_if<FileEntry>(&entry.kind);
    if (saved == nullptr || saved->plan == nullptr) continue;
    if (const auto other = of_another_model(*saved->plan, s.base()))
      sink.add(saved->mark, "plans", *other, "run it with the model that it was made for, or ask a planner for a plan of this one");
  }
}

// Returns the entries; none where capacity alone is asked for, which what-ifs and sensitivities are no part of.
std::vector<PlanEntry> read_plans(MapReader& in, const std::filesystem::path& directory, Diagnostics& sink) {
  if (!asks_for_capacity_alone(in)) {
    const Yaml* plans = in.required("plans");
    return plans != nullptr ? read_plan_entries(*plans, "plans", directory, sink) : std::vector<PlanEntry>();
  }
  for (const char* key : {"what_if", "sensitivity"})
    if (const Yaml* asked = in.node().find(key); asked != nullptr && asked->scalar != "false")
      in.complain(key, "there are no plans to ask about", "add plans, e.g. plans: [data-parallel]; those of capacity are its own");
  (void)in.optional("plans");
  return {};
}

PlanEntry with_changes(const Scenario& s, std::size_t plan, const WhatIf& w, Diagnostics& sink) {
  PlanEntry entry = s.plans[plan];
  for (const auto& [target, value] : w.set)
    if (const auto change = plan_change(s.plans, target); change && change->plan == plan)
      entry = changed_entry(entry, change->key, value, place_of(w, target), s.directory, sink);
  return entry;
}

void check_plan_changes(const Scenario& s, const std::vector<WhatIf>& what_ifs, Diagnostics& sink) {
  std::vector<std::string> names;
  for (const PlanEntry& e : s.plans) names.push_back(e.name);
  for (const WhatIf& w : what_ifs) {
    for (const auto& [target, value] : w.set)
      if (target.starts_with(kPlansPath) && !plan_change(s.plans, target)) {
        const std::string name = target.substr(kPlansPath.size(), target.find('.', kPlansPath.size()) - kPlansPath.size());
        sink.add(
            value.mark, place_of(w, target), fmt::format("no option of a plan is called \"{}\"", target),
            std::ranges::find(names, name) == names.end() ? base::suggest(name, names) : fmt::format("write e.g. plans.{}.tensor", name));
      }
    for (std::size_t p = 0; p < s.plans.size(); ++p) (void)with_changes(s, p, w, sink);
  }
}

}  // namespace

bool Scenario::changes(const WhatIf& w, std::size_t plan) const {
  return std::ranges::any_of(w.set, [&](const auto& set) {
    const auto change = plan_change(plans, set.first);
    return change && change->plan == plan;
  });
}

bool Scenario::asks(const WhatIf& w, std::size_t plan) const {
  const bool plans_alone = !w.set.empty() && std::ranges::all_of(w.set, [](const auto& set) { return set.first.starts_with(kPlansPath); });
  return !plans_alone || changes(w, plan);
}

PlanEntry Scenario::entry(std::size_t plan, const WhatIf& w) const {
  base::Diagnostics sink;
  PlanEntry entry = with_changes(*this, plan, w, sink);
  sink.throw_if_any();  // none: they were found when the scenario was loaded
  return entry;
}

Scenario load_scenario(const Yaml& document, const std::filesystem::path& directory) {
  Diagnostics sink;
  MapReader in(document, "", sink);
  sink.throw_if_any();  // no map at all: nothing else can be said
  Scenario s;
  in.format();
  sink.throw_if_any();  // another version may mean other keys
  s.name = in.text("name").value_or("scenario");
  const Patchable sections = read_sections(in, directory, sink);
  s.directory = directory;
  s.plans = read_plans(in, directory, sink);
  std::vector<WhatIf> what_ifs;
  if (const Yaml* list = in.optional("what_if")) what_ifs = read_what_ifs(*list, sink);
  const bool sensitivity = in.boolean("sensitivity").value_or(false);
  const Yaml* capacity = in.optional("capacity");
  in.finish();
  const auto loader = std::make_shared<VariantLoader>(directory);
  check_plan_changes(s, what_ifs, sink);
  const std::size_t before = sink.size();
  s.variants = VariantList(sections, what_ifs, loader, sink);
  if (capacity != nullptr) {
    const bool sound = !s.variants.empty() || (!in.has("cluster") && sink.size() == before);
    s.capacity = read_capacity(*capacity, {sections.document, sound, s.plans, directory}, *loader, sink);
    if (s.variants.empty() && s.capacity->base) s.variants = VariantList(*s.capacity->base);
  }
  if (!s.variants.empty()) check_saved_plans(s, sink);
  sink.throw_if_any();
  if (sensitivity) s.probes = load_probes(sections);
  sink.throw_if_any();
  s.question = normalised(document, s.base(), directory);
  s.subject = subject_of(s.base(), in.has("cluster"));
  return s;
}

}  // namespace scenarios
