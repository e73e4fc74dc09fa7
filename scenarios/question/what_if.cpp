#include "scenarios/question/what_if.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/yaml/patch.hpp"
#include "profiles/device_profile.hpp"
#include "scenarios/question/framework.hpp"
#include "topology/profile_keys.hpp"
#include "topology/load.hpp"

namespace scenarios {
namespace {

using base::Diagnostics;
using base::Yaml;

constexpr std::array<std::string_view, 3> kSections = {"model", "cluster", "training"};

// Keys that a section may have and that a document need not spell out. What is no key at all is found when the variant is loaded.
base::UnknownKey when_unknown(std::string_view path) {
  const bool optional = path == "model" || path == "training" || path.starts_with("model.") || path.starts_with("training.") ||
                        (path.starts_with("cluster.node") && path.find(".gpus") != std::string_view::npos) ||
                        path.starts_with("cluster.node.domain.") || path == "cluster.network" || path.starts_with("cluster.network.") ||
                        path == "cluster.network_profile" || path == "cluster.network_profile.file" || path == "cluster.faults";
  return optional ? base::UnknownKey::add : base::UnknownKey::refuse;
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
// Returns false where there is nothing to change: no framework is named, which is reported in `sink`, or the one that is written has
// problems of its own, which are reported there.
bool prepare_framework(Yaml& document, std::string_view path, const Yaml& value, const std::filesystem::path& directory, Diagnostics& sink,
                       const std::string& place) {
  constexpr std::string_view kPath = "training.framework";
  Yaml* training = document.find("training");
  Yaml* written = training != nullptr ? training->find("framework") : nullptr;
  const bool is_key = path.starts_with(std::string(kPath) + ".");
  if (written == nullptr) {
    if (is_key)
      sink.add(value.mark, place, "the scenario names no framework whose key could change", "write e.g. framework: generic in training");
    return !is_key;
  }
  if (path == kPath && (value.find("name") != nullptr || value.find("file") != nullptr)) training->erase("framework");
  if (!is_key) return true;
  Diagnostics reported_elsewhere;
  Framework f = read_framework(*written, std::string(kPath), directory, reported_elsewhere);
  if (reported_elsewhere.empty()) *written = std::move(f.section);
  return reported_elsewhere.empty();
}

// Another type of network leaves the keys behind that it has not.
void adopt_network(Yaml& document, std::string_view path, const Yaml& value) {
  const Yaml* type = path == "cluster.network" ? value.find("type") : path == "cluster.network.type" ? &value : nullptr;
  Yaml* cluster = document.find("cluster");
  if (type != nullptr && cluster != nullptr) topology::adopt_network_type(*cluster, type->scalar);
}

// Keys of a model's section that say where the model comes from; the others say how it is trained.
constexpr std::array<std::string_view, 5> kModelSources = {"builtin", "transformer", "huggingface", "onnx", "graph"};

bool is_another_model(std::string_view target, const Yaml& value) {
  return target == "model" && std::ranges::any_of(kModelSources, [&](std::string_view k) { return value.find(k) != nullptr; });
}

bool is_another_machine(std::string_view target, const Yaml& value) {
  return target == "cluster.preset" || target == "cluster.file" ||
         (target == "cluster" && (value.find("preset") != nullptr || value.find("file") != nullptr));
}

// Another preset or file (`key`) beside the keys of the scenario's, its number of nodes among them; of a cluster that has neither the nodes
// alone stay.
Yaml with_another_start(const Patchable& base, std::string_view key, const Yaml& name) {
  Yaml cluster = base.written_cluster;
  if (cluster.find("preset") == nullptr && cluster.find("file") == nullptr) {
    const Yaml* nodes = base.document.find("cluster")->find("nodes");
    cluster = Yaml::make_map(name.mark);
    if (nodes != nullptr) cluster.set("nodes", *nodes, nodes->mark);
  }
  for (const char* other : {"preset", "file"}) cluster.erase(other);
  cluster.set(std::string(key), name, name.mark);
  return cluster;
}

// Whether the what-if's entry replaced a section as a whole.
bool replaced(const Patchable& base, Yaml& document, std::string_view target, const Yaml& value, const std::string& place,
              Diagnostics& sink) {
  if (is_another_model(target, value)) {
    document.set("model", with_absolute_files(value, base.directory), value.mark);
    return true;
  }
  if (!is_another_machine(target, value)) return false;
  try {
    const Yaml cluster = target == "cluster" ? value : with_another_start(base, target.substr(std::string_view("cluster.").size()), value);
    document.set("cluster", topology::expand_cluster(cluster, place, base.directory), value.mark);
  } catch (const base::InputError& e) { sink.add_all(e); }
  return true;
}

// What a GPU has where nothing is said of it, so that "2x" of it can be asked for. `path`: "cluster.node.gpus.memory".
void spell_out_gpus(Yaml& document, std::string_view path) {
  constexpr std::string_view kGpus = ".gpus.";
  const std::size_t at = path.rfind(kGpus);
  if (at == std::string_view::npos) return;
  const std::string_view key = path.substr(at + kGpus.size());
  Yaml* gpus = base::find_at(document, path.substr(0, at + kGpus.size() - 1));
  if (gpus == nullptr || !gpus->is_map()) return;
  Yaml* written = gpus->find(key);
  if (key == "compute_speed" || key == "memory_speed" || key == "host_speed") {
    if (written == nullptr) gpus->set(key, Yaml::make_scalar("1.0", gpus->mark));
    // A speed is no count: half of 1 is a half.
    else if (written->scalar.find_first_not_of("0123456789") == std::string::npos) written->scalar += ".0";
    return;
  }
  if (written != nullptr) return;
  const Yaml* type = gpus->find(gpus->find("file") != nullptr ? "file" : "type");
  if (key != "memory" || type == nullptr || !type->is_scalar()) return;
  try {
    gpus->set(key, Yaml::make_scalar(fmt::format("{:.0f} B", profiles::device_profile(type->scalar).memory.value()), gpus->mark));
  } catch (const base::InputError&) {}  // no such profile: reported where the variant is loaded
}

// A value that may name profiles: their files are whole paths, and take the place of what the cluster names.
Yaml with_profiles(Yaml& document, const std::string& target, Yaml value, const std::filesystem::path& directory) {
  constexpr std::string_view kCluster = "cluster";
  Yaml* cluster = document.find(kCluster);
  if (cluster == nullptr || (target != kCluster && !target.starts_with("cluster."))) return value;
  const std::string path = target.substr(std::min(target.size(), kCluster.size() + 1));
  topology::complete_profile_files(value, path, directory);
  topology::adopt_profiles(*cluster, path, value);
  return value;
}

void patch(Yaml& document, const std::string& target, const Yaml& value, const std::filesystem::path& directory, const std::string& place,
           Diagnostics& sink) {
  if (!names_section(target)) {
    sink.add(value.mark, place, fmt::format("\"{}\" is no part of model, cluster or training", target),
             "write the path from the top, e.g. cluster.nodes");
    return;
  }
  drop_other_batch(document, target);
  adopt_network(document, target, value);
  spell_out_gpus(document, target);
  if (prepare_framework(document, target, value, directory, sink, place))
    base::patch_yaml(document, target, with_profiles(document, target, value, directory), sink, place, when_unknown(target));
}

}  // namespace

Yaml with_absolute_files(Yaml model, const std::filesystem::path& directory) {
  for (const char* key : {"huggingface", "onnx", "graph"})
    if (Yaml* file = model.find(key); file != nullptr && file->is_scalar())
      file->scalar = std::filesystem::absolute(directory / file->scalar).lexically_normal().string();
  return model;
}

Yaml patched(const Patchable& base, const WhatIf& what_if, Diagnostics& sink) {
  Yaml document = base.document;
  std::vector<const std::pair<std::string, Yaml>*> keys;
  const auto place = [&](const std::string& target) {
    return fmt::format("{}.{}[{}]", what_if.place, what_if.sweep.empty() ? "set" : "sweep", target);
  };
  for (const auto& set : what_if.set)
    if (!replaced(base, document, set.first, set.second, place(set.first), sink)) keys.push_back(&set);
  for (const auto* key : keys) patch(document, key->first, key->second, base.directory, place(key->first), sink);
  return document;
}

}  // namespace scenarios
