#include "scenarios/question/variant.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "base/yaml/parse.hpp"
#include "pcg/models/load.hpp"
#include "profiles/device_profile.hpp"
#include "profiles/network_profile.hpp"
#include "profiles/profile_files.hpp"
#include "topology/load.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::Yaml;

template <class Load>
auto collected(Diagnostics& sink, Load&& load) -> std::optional<decltype(load())> {
  try {
    return load();
  } catch (const base::InputError& e) {
    sink.add_all(e);
    return std::nullopt;
  }
}

// The first entry anywhere in a tree that is meant, so that a message can point at its value; null: there is none.
template <class IsMeant>
const Yaml* find_value(const Yaml& y, const IsMeant& is_meant) {
  for (const Yaml::Entry& e : y.entries) {
    if (is_meant(e)) return &e.value;
    if (const Yaml* found = find_value(e.value, is_meant)) return found;
  }
  for (const Yaml& item : y.items)
    if (const Yaml* found = find_value(item, is_meant)) return found;
  return nullptr;
}

void check_bf16_layers(const Yaml& document, const pcg::Bf16Layers& kept, const pcg::Graph& model, Diagnostics& sink) {
  const auto layers = std::ranges::count_if(model.blocks(), [](const pcg::Block& b) { return b.weighty && !b.auxiliary; });
  if (kept.first + kept.last > layers)
    sink.add(document.find("training")->find("bf16_layers")->mark, "training.bf16_layers",
             fmt::format("first {} and last {} are more than the {} layers of {}", kept.first, kept.last, layers, model.name()));
}

// The profile that `load` gives; nullopt: its problems are reported, at `mark` where the file is not there at all.
template <class Load>
auto profile_of(const std::string& name, base::Mark mark, const char* path, Diagnostics& sink, Load&& load)
    -> std::optional<decltype(load())> {
  std::error_code refused;
  if (!profiles::is_file(name) || std::filesystem::exists(name, refused)) return collected(sink, load);
  sink.add(std::move(mark), path, fmt::format("no file is called \"{}\"", name), "a path starts at the folder of the file that has it");
  return std::nullopt;
}

void check_network(const Yaml& document, const topology::Cluster& cluster, Diagnostics& sink) {
  const std::string& name = cluster.network_profile();
  if (profiles::is_file(name)) {
    const Yaml* map = document.find("cluster")->find("network_profile");
    const Yaml* file = map != nullptr ? map->find("file") : nullptr;
    (void)profile_of(name, file != nullptr ? file->mark : base::Mark{}, "cluster.network_profile.file", sink,
                     [&] { return &profiles::network_profile(name); });
    return;
  }
  const auto known = profiles::network_names();
  if (name.empty() || std::ranges::find(known, name) != known.end()) return;
  const Yaml& section = *document.find("cluster");
  const Yaml* written = section.find("network_profile");
  sink.add(written != nullptr ? written->mark : section.mark, "cluster.network_profile",
           fmt::format("unknown network profile \"{}\"", name), base::suggest(name, known));
}

void check_devices(const Yaml& document, const topology::Cluster& cluster, pcg::Precision precision, Diagnostics& sink) {
  std::set<std::string> types;
  std::set<std::pair<std::string, base::Watts>> limits;
  for (const topology::Device& d : cluster.devices()) {
    types.insert(d.type);
    if (d.speed.power_limit.value() > 0) limits.emplace(d.type, d.speed.power_limit);
  }
  const Yaml& section = *document.find("cluster");
  for (const std::string& type : types) {
    const Yaml* written = find_value(section, [&](const Yaml::Entry& e) {
      return (e.key == "type" || e.key == "file") && e.value.is_scalar() && e.value.scalar == type;
    });
    const base::Mark mark = written != nullptr ? written->mark : section.mark;
    const auto known = profiles::device_names();
    if (!profiles::is_file(type) && std::ranges::find(known, type) == known.end()) {
      sink.add(mark, "cluster.node.gpus.type", fmt::format("unknown GPU \"{}\"", type), base::suggest(type, known));
      continue;
    }
    const auto profile = profile_of(type, mark, "cluster.node.gpus.file", sink, [&] { return &profiles::device_profile(type); });
    if (const auto why = profile ? profiles::unsupported(**profile, precision) : std::nullopt) {
      const Yaml* said = document.find("training")->find("precision");
      sink.add(said != nullptr ? said->mark : mark, "training.precision", *why);
    }
    for (const auto& [limited, limit] : limits)
      if (const auto why = profile && limited == type ? profiles::limit_problem(**profile, limit) : std::nullopt)
        sink.add(find_value(section, [](const Yaml::Entry& e) { return e.key == "power_limit"; })->mark, "cluster.node.gpus.power_limit",
                 *why);
  }
}

// A transformer that says nothing of dropout has what its framework gives it by default; the document says so from then on.
void add_framework_defaults(Yaml& document, const profiles::FrameworkProfile& framework, std::vector<std::string>& notes) {
  const double rate = framework.transformer_dropout;
  Yaml* model = document.find("model");
  if (rate == 0 || model == nullptr || !model->is_map() || model->find("dropout") != nullptr) return;
  const Yaml* transformer = model->find("transformer");
  if (transformer == nullptr || !transformer->is_map() || transformer->find("dropout") != nullptr) return;
  model->set("dropout", Yaml::make_scalar(fmt::format("{}", rate), model->mark));
  notes.push_back(fmt::format("the transformer trains with dropout {}, {}'s default; write dropout: 0 beside transformer to train without",
                              rate, pcg::name_of(framework.framework)));
}

// Beside the first one, which is the base's: a point of a sweep is asked for once by each plan.
constexpr std::size_t kRecent = 2;

// Returns the value that an equal section gave before, else the one that load() gives.
template <class T, class Load>
std::shared_ptr<const T> kept(std::vector<std::pair<std::string, std::shared_ptr<const T>>>& loaded, const Yaml& section, Diagnostics& sink,
                              Load&& load) {
  std::string text = base::emit_yaml(section);
  for (const auto& [known, value] : loaded)
    if (known == text) return value;
  auto fresh = collected(sink, load);
  if (!fresh) return nullptr;
  auto value = std::make_shared<const T>(std::move(*fresh));
  if (loaded.size() > kRecent) loaded.erase(loaded.begin() + 1);
  loaded.emplace_back(std::move(text), value);
  return value;
}

base::Yaml without_dropout(base::Yaml model) {
  model.erase("dropout");
  if (base::Yaml* transformer = model.find("transformer"); transformer != nullptr && transformer->is_map()) transformer->erase("dropout");
  return model;
}

pcg::Graph graph_of(const base::Yaml& model) { return pcg::models::load_model(model, "model", {}, 1); }

}  // namespace

Variant seen_by(const PlanEntry& entry, Variant v) {
  if (!entry.framework) return v;
  v.framework = *entry.framework;
  run_under(v.framework, *v.document.find("training"), v.training);
  return v;
}

std::optional<Variant> VariantLoader::load(Yaml document, Diagnostics& sink) {
  const std::size_t before = sink.size();
  std::shared_ptr<const topology::Cluster> cluster;
  std::optional<Training> training;
  std::shared_ptr<const pcg::Graph> model;
  std::vector<std::string> notes;
  if (const Yaml* y = document.find("cluster")) cluster = kept(clusters_, *y, sink, [&] { return topology::load_cluster(*y, "cluster"); });
  const std::size_t before_training = sink.size();
  if (const Yaml* y = document.find("training")) training = read_training(*y, "training", directory_, cluster.get(), sink);
  const bool sound = sink.size() == before_training;
  if (cluster) check_network(document, *cluster, sink);
  if (cluster && training && sound) check_devices(document, *cluster, training->config.precision, sink);
  if (training && sound) add_framework_defaults(document, training->framework.profile, notes);
  if (const Yaml* y = document.find("model"))
    model = kept(models_, *y, sink, [&] { return pcg::models::load_model(*y, "model", directory_, 1); });
  if (training && sound && model) {  // planners take any part of the batch, so the whole has to be countable
    try {
      (void)pcg::with_batch(*model, training->config.global_batch);
    } catch (const pcg::ShapeError& e) {
      sink.add(document.find("training")->mark, "training", fmt::format("with {} samples {}", training->config.global_batch, e.what()));
    }
  }
  if (training && sound && model) check_bf16_layers(document, training->config.bf16_layers, *model, sink);
  if (!cluster || !training || !model || sink.size() != before) return std::nullopt;
  const std::vector<std::string> of_model = pcg::models::model_notes(*document.find("model"), directory_);
  notes.insert(notes.end(), of_model.begin(), of_model.end());
  return Variant{std::move(document), std::move(cluster),      std::move(model),
                 training->config,    training->memory_margin, std::move(training->framework),
                 std::move(notes)};
}

std::optional<std::string> of_another_model(const pcg::Plan& plan, const Variant& variant) {
  const base::Yaml of_plan = without_dropout(plan.model), here = without_dropout(*variant.document.find("model"));
  if (base::emit_yaml(of_plan) == base::emit_yaml(here)) return std::nullopt;
  try {
    const pcg::Graph a = graph_of(of_plan), b = graph_of(here);
    if (a == b) return std::nullopt;
    return fmt::format("the saved plan \"{}\" is of another model: {}, here {}", plan.name, a.name(), b.name());
  } catch (const base::InputError&) { return std::nullopt; }
}

VariantList::VariantList(Variant base) : base_(std::move(base)) { all_.push_back({.name = std::string(kBaseName)}); }

VariantList::VariantList(Patchable sections, const std::vector<WhatIf>& what_ifs, std::shared_ptr<VariantLoader> loader,
                         base::Diagnostics& sink)
    : sections_(std::make_shared<const Patchable>(std::move(sections))), loader_(std::move(loader)) {
  base_ = loader_->load(sections_->document, sink);
  if (base_) all_.push_back({.name = std::string(kBaseName)});
  const bool complete = sections_->document.entries.size() == 3;
  for (std::size_t i = 0; complete && i < what_ifs.size(); ++i) {
    const std::size_t unpatched = sink.size();
    base::Yaml changed = patched(*sections_, what_ifs[i], sink);
    if (!base_ || sink.size() != unpatched) continue;
    if (loader_->load(std::move(changed), sink)) all_.push_back(what_ifs[i]);
  }
}

base::Yaml VariantList::document(std::size_t i) const {
  base::Diagnostics sink;
  base::Yaml document = patched(*sections_, all_[i], sink);
  sink.throw_if_any();
  return document;
}

Variant VariantList::load(std::size_t i) const {
  if (i == 0) return *base_;
  base::Diagnostics sink;
  std::optional<Variant> variant = loader_->load(document(i), sink);
  sink.throw_if_any();
  BASE_CHECK(variant.has_value(), "{} was loaded before, and is no variant now", all_[i].name);
  return std::move(*variant);
}

}  // namespace scenarios
