#include "scenarios/scenario.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "scenarios/plan_entries.hpp"
#include "scenarios/variant.hpp"
#include "topology/cluster.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::MapReader;
using base::Yaml;

void refuse_later(MapReader& in, std::string_view key, std::string_view what) {
  if (in.has(key) && in.optional(key) != nullptr) in.complain(key, fmt::format("this version does not have {} yet", what));
}

// Files of the model are named from the scenario's folder; a plan that is made from it may be saved anywhere.
Yaml with_absolute_files(Yaml model, const std::filesystem::path& directory) {
  for (const char* key : {"huggingface", "onnx", "graph"})
    if (Yaml* file = model.find(key); file != nullptr && file->is_scalar())
      file->scalar = std::filesystem::absolute(directory / file->scalar).lexically_normal().string();
  return model;
}

std::optional<WhatIf> read_what_if(const Yaml& item, const std::string& path, std::set<std::string>& names, Diagnostics& sink) {
  MapReader in(item, path, sink);
  if (!item.is_map()) return std::nullopt;
  in.require("name");
  WhatIf w;
  w.name = in.text("name").value_or("");
  if (w.name == "base") in.complain("name", "\"base\" is the scenario itself", "choose another name");
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

// The sections that variants patch, cluster expanded; without those that are missing, which is reported.
Yaml read_sections(MapReader& in, const std::filesystem::path& directory, Diagnostics& sink) {
  const Yaml* model = in.required("model");
  const Yaml* cluster = in.required("cluster");
  const Yaml* training = in.required("training");
  Yaml sections = Yaml::make_map(in.node().mark);
  if (model != nullptr) sections.set("model", with_absolute_files(*model, directory), model->mark);
  if (cluster != nullptr) try {
      sections.set("cluster", topology::expand_cluster(*cluster, "cluster"), cluster->mark);
    } catch (const base::InputError& e) { sink.add_all(e); }
  if (training != nullptr) sections.set("training", *training, training->mark);
  return sections;
}

}  // namespace

Scenario load_scenario(const Yaml& document, const std::filesystem::path& directory) {
  Diagnostics sink;
  MapReader in(document, "", sink);
  sink.throw_if_any();  // no map at all: nothing else can be said
  Scenario s;
  in.format();
  sink.throw_if_any();  // another version may mean other keys
  s.name = in.text("name").value_or("scenario");
  s.directory = directory;
  s.document = read_sections(in, directory, sink);
  if (const Yaml* plans = in.required("plans")) s.plans = read_plan_entries(*plans, "plans", directory, sink);
  if (const Yaml* list = in.optional("what_if")) s.what_if = read_what_ifs(*list, sink);
  refuse_later(in, "sweep", "sweeps");
  refuse_later(in, "sensitivity", "sensitivities");
  refuse_later(in, "capacity", "capacity planning");
  in.finish();
  const std::size_t before = sink.size();
  check_sections(s.document, directory, sink);
  const bool base_is_sound = sink.size() == before;
  const bool complete = s.document.entries.size() == 3;
  for (std::size_t i = 0; complete && i < s.what_if.size(); ++i) {
    const std::size_t unpatched = sink.size();
    const Yaml changed = patched(s.document, s.what_if[i], fmt::format("what_if[{}]", i), directory, sink);
    if (base_is_sound && sink.size() == unpatched) check_sections(changed, directory, sink);  // else the base's problems would come again
  }
  sink.throw_if_any();
  return s;
}

}  // namespace scenarios
