#include "scenarios/question/scenario.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/yaml/reader.hpp"
#include "scenarios/question/plan_entries.hpp"
#include "scenarios/question/saved_plan.hpp"
#include "scenarios/question/what_if.hpp"
#include "topology/cluster.hpp"
#include "topology/load.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

void refuse_later(MapReader& in, std::string_view key, std::string_view what) {
  if (in.has(key) && in.optional(key) != nullptr) in.complain(key, fmt::format("this version does not have {} yet", what));
}

std::optional<WhatIf> read_what_if(const Yaml& item, const std::string& path, std::set<std::string>& names, Diagnostics& sink) {
  MapReader in(item, path, sink);
  if (!item.is_map()) return std::nullopt;
  in.require("name");
  WhatIf w;
  w.name = in.text("name").value_or("");
  if (w.name == kBaseName) in.complain("name", "\"base\" is the scenario itself", "choose another name");
  else if (in.has("name") && !names.insert(w.name).second)
    in.complain("name", fmt::format("another what-if is called \"{}\" too", w.name), "choose another name");
  refuse_later(in, "sweep", "sweeps");
  if (!in.has("sweep")) in.require("set");
  if (const Yaml* set = in.optional("set")) {
    MapReader keys(*set, in.path_of("set"), sink);
    for (const Yaml::Entry& e : set->entries) w.set.emplace_back(e.key, e.value);
    if (set->is_map() && set->entries.empty()) in.complain("set", "it changes nothing", "write e.g. {cluster.nodes: 2x}");
  }
  in.finish();
  return w;
}

std::vector<WhatIf> read_what_ifs(const Yaml& list, Diagnostics& sink) {
  std::vector<WhatIf> result;
  if (!list.is_sequence()) {
    sink.add(list.mark, "what_if", "expected a list", "write e.g. - {name: twice the nodes, set: {cluster.nodes: 2x}}");
    return result;
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.items.size(); ++i)
    if (auto w = read_what_if(list.items[i], fmt::format("what_if[{}]", i), names, sink)) result.push_back(std::move(*w));
  return result;
}

// The sections that variants patch; without those that are missing, which is reported.
Patchable read_sections(MapReader& in, const std::filesystem::path& directory, Diagnostics& sink) {
  const Yaml* model = in.required("model");
  const Yaml* cluster = in.required("cluster");
  const Yaml* training = in.required("training");
  Yaml sections = Yaml::make_map(in.node().mark);
  if (model != nullptr) sections.set("model", with_absolute_files(*model, directory), model->mark);
  if (cluster != nullptr) try {
      sections.set("cluster", topology::expand_cluster(*cluster, "cluster"), cluster->mark);
    } catch (const base::InputError& e) { sink.add_all(e); }
  if (training != nullptr) sections.set("training", *training, training->mark);
  return {std::move(sections), cluster != nullptr ? *cluster : Yaml::make_map(in.node().mark), directory};
}

// The base and every what-if. What-ifs of sections that are missing or have problems of their own are patched and not loaded: the same
// problems would come again.
std::vector<NamedVariant> load_variants(const Patchable& sections, const std::vector<WhatIf>& what_ifs, VariantLoader& loader,
                                        Diagnostics& sink) {
  std::vector<NamedVariant> variants;
  const auto base = loader.load(sections.document, sink);
  if (base) variants.push_back({std::string(kBaseName), *base});
  const bool complete = sections.document.entries.size() == 3;
  for (std::size_t i = 0; complete && i < what_ifs.size(); ++i) {
    const std::size_t unpatched = sink.size();
    Yaml changed = patched(sections, what_ifs[i], fmt::format("what_if[{}]", i), sink);
    if (!base || sink.size() != unpatched) continue;
    if (auto variant = loader.load(std::move(changed), sink)) variants.push_back({what_ifs[i].name, std::move(*variant)});
  }
  return variants;
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

}  // namespace

Variant Scenario::seen_by(std::size_t plan, std::size_t variant) const {
  const Variant& v = variants[variant].variant;
  return plans[plan].framework ? under(v, *plans[plan].framework) : v;
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
  if (const Yaml* plans = in.required("plans")) s.plans = read_plan_entries(*plans, "plans", directory, sink);
  std::vector<WhatIf> what_ifs;
  if (const Yaml* list = in.optional("what_if")) what_ifs = read_what_ifs(*list, sink);
  refuse_later(in, "sweep", "sweeps");
  refuse_later(in, "sensitivity", "sensitivities");
  const Yaml* capacity = in.optional("capacity");
  in.finish();
  VariantLoader loader(directory);
  s.variants = load_variants(sections, what_ifs, loader, sink);
  if (capacity != nullptr)
    s.capacity = read_capacity(*capacity, {sections.document, s.variants.empty() ? nullptr : &s.base(), s.plans, directory}, loader, sink);
  if (!s.variants.empty()) check_saved_plans(s, sink);
  sink.throw_if_any();
  return s;
}

}  // namespace scenarios
