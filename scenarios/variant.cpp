#include "scenarios/variant.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "pcg/models/load.hpp"
#include "profiles/device_profile.hpp"
#include "scenarios/training.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::Yaml;

constexpr std::array<std::string_view, 3> kSections = {"model", "cluster", "training"};

// Keys that a section may have and that a document need not spell out. What is no key at all is found when the variant is loaded.
bool may_add(std::string_view path) {
  return path.starts_with("model.") || path.starts_with("training.") || path.starts_with("cluster.node.gpus.") ||
         path.starts_with("cluster.network.");
}

bool names_section(std::string_view path) {
  return std::ranges::any_of(kSections, [&](std::string_view s) { return path == s || path.starts_with(std::string(s) + "."); });
}

// One way of giving the batch replaces the other.
void drop_other_batch(Yaml& document, std::string_view path) {
  Yaml* training = document.find("training");
  if (training == nullptr) return;
  if (path == "training.global_batch") training->erase("batch_per_gpu");
  if (path == "training.batch_per_gpu") training->erase("global_batch");
}

// A what-if may change any key of the framework's profile, so all of them have to be there; another profile replaces the one before.
// False: the framework as it is written has problems of its own, which are told there.
bool prepare_framework(Yaml& document, std::string_view path, const Yaml& value, const std::filesystem::path& directory) {
  constexpr std::string_view kPath = "training.framework";
  Yaml* training = document.find("training");
  Yaml* written = training != nullptr ? training->find("framework") : nullptr;
  if (written == nullptr) return true;
  if (path == kPath && (value.find("name") != nullptr || value.find("file") != nullptr)) training->erase("framework");
  if (!path.starts_with(std::string(kPath) + ".")) return true;
  Diagnostics told_elsewhere;
  Framework f = read_framework(*written, std::string(kPath), directory, told_elsewhere);
  if (told_elsewhere.empty()) *written = std::move(f.section);
  return told_elsewhere.empty();
}

template <class Load>
auto collected(Diagnostics& sink, Load&& load) -> std::optional<decltype(load())> {
  try {
    return load();
  } catch (const base::InputError& e) {
    sink.add_all(e);
    return std::nullopt;
  }
}

// Where a GPU type is written, as far as it can be told: then a message can point at it.
const Yaml* find_type(const Yaml& y, const std::string& type) {
  if (y.is_map())
    for (const Yaml::Entry& e : y.entries) {
      if (e.key == "type" && e.value.is_scalar() && e.value.scalar == type) return &e.value;
      if (const Yaml* found = find_type(e.value, type)) return found;
    }
  for (const Yaml& item : y.items)
    if (const Yaml* found = find_type(item, type)) return found;
  return nullptr;
}

void check_network(const Yaml& document, const topology::Cluster& cluster, Diagnostics& sink) {
  const std::string& name = cluster.network_profile();
  const auto known = profiles::network_names();
  if (name.empty() || std::ranges::find(known, name) != known.end()) return;
  const Yaml& section = *document.find("cluster");
  const Yaml* written = section.find("network_profile");
  sink.add(written != nullptr ? written->mark : section.mark, "cluster.network_profile",
           fmt::format("unknown network profile \"{}\"", name), base::suggest(name, known));
}

void check_devices(const Yaml& document, const topology::Cluster& cluster, pcg::Precision precision, Diagnostics& sink) {
  std::set<std::string> types;
  for (const topology::Device& d : cluster.devices()) types.insert(d.type);
  const Yaml& section = *document.find("cluster");
  for (const std::string& type : types) {
    const Yaml* written = find_type(section, type);
    const base::Mark mark = written != nullptr ? written->mark : section.mark;
    const auto known = profiles::device_names();
    if (std::ranges::find(known, type) == known.end()) {
      sink.add(mark, "cluster.node.gpus.type", fmt::format("unknown GPU \"{}\"", type), base::suggest(type, known));
    } else if (const auto why = profiles::unsupported(profiles::device_profile(type), precision)) {
      const Yaml* said = document.find("training")->find("precision");
      sink.add(said != nullptr ? said->mark : mark, "training.precision", *why);
    }
  }
}

// Each is absent when the document does not have it or has it wrong.
struct Sections {
  std::optional<topology::Cluster> cluster;
  std::optional<pcg::Graph> model;
  std::optional<Training> training;
};

// A transformer that says nothing of dropout has what its framework gives it by default; the document says so from then on.
void add_framework_defaults(Yaml& document, const profiles::FrameworkProfile& framework, std::vector<std::string>& notes) {
  const double rate = framework.transformer_dropout;
  Yaml* model = document.find("model");
  if (rate == 0 || model == nullptr || !model->is_map() || model->find("dropout") != nullptr) return;
  const Yaml* transformer = model->find("transformer");
  if (transformer == nullptr || !transformer->is_map() || transformer->find("dropout") != nullptr) return;
  model->set("dropout", Yaml::make_scalar(fmt::format("{}", rate), model->mark));
  notes.push_back(fmt::format("trained with dropout {}, {}'s default; write dropout: 0 beside transformer to train without", rate,
                              pcg::framework_names()[static_cast<std::size_t>(framework.framework)]));
}

Sections load_sections(const Yaml& document, const std::filesystem::path& directory, Diagnostics& sink) {
  Sections s;
  if (const Yaml* y = document.find("cluster")) s.cluster = collected(sink, [&] { return topology::load_cluster(*y, "cluster"); });
  if (const Yaml* y = document.find("model")) s.model = collected(sink, [&] { return pcg::models::load_model(*y, "model", directory, 1); });
  const std::size_t before = sink.size();
  if (const Yaml* y = document.find("training"))
    s.training = read_training(*y, "training", directory, s.cluster ? s.cluster->device_count() : 0, sink);
  if (s.cluster) check_network(document, *s.cluster, sink);
  if (s.cluster && s.training && sink.size() == before) check_devices(document, *s.cluster, s.training->config.precision, sink);
  return s;
}

}  // namespace

Yaml patched(Yaml document, const WhatIf& what_if, const std::string& path, const std::filesystem::path& directory, Diagnostics& sink) {
  for (const auto& [target, value] : what_if.set) {
    const std::string place = fmt::format("{}.set[{}]", path, target);
    if (!names_section(target)) {
      sink.add(value.mark, place, fmt::format("\"{}\" is no part of model, cluster or training", target),
               "write the path from the top, e.g. cluster.nodes");
    } else if (target == "cluster.preset") {
      sink.add(value.mark, place, "a what-if cannot change the preset itself", "write a second scenario, or set the keys that differ");
    } else {
      drop_other_batch(document, target);
      if (prepare_framework(document, target, value, directory)) base::patch_yaml(document, target, value, sink, place, may_add(target));
    }
  }
  return document;
}

void check_sections(const Yaml& document, const std::filesystem::path& directory, Diagnostics& sink) {
  (void)load_sections(document, directory, sink);
}

Variant load_variant(Yaml document, const std::filesystem::path& directory) {
  Diagnostics sink;
  Sections loaded = load_sections(document, directory, sink);
  sink.throw_if_any();
  std::vector<std::string> notes;
  add_framework_defaults(document, loaded.training->framework.profile, notes);
  if (!notes.empty()) loaded.model = pcg::models::load_model(*document.find("model"), "model", directory, 1);
  return {std::move(document),
          std::move(*loaded.cluster),
          std::move(*loaded.model),
          loaded.training->config,
          std::move(loaded.training->framework),
          std::move(notes)};
}

}  // namespace scenarios
