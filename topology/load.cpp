#include "topology/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/files/text_file.hpp"
#include "base/yaml/parse.hpp"
#include "base/yaml/patch.hpp"
#include "base/yaml/reader.hpp"
#include "topology/description.hpp"
#include "topology/profile_keys.hpp"
#include "topology/routing.hpp"

namespace topology {
namespace {

// A network of another type keeps nothing that this type has not.
void change_type(base::Yaml& cluster, const base::Yaml::Entry& entry) {
  if (entry.key != "network" && entry.key != "network.type") return;
  const base::Yaml* type = entry.key == "network" ? entry.value.find("type") : &entry.value;
  if (type != nullptr && cluster.find("network") != nullptr) adopt_network_type(cluster, type->scalar);
}

// Puts one key that stands beside `preset:` or `file:` over what these say.
void override_key(base::Yaml& cluster, const base::Yaml::Entry& entry, const std::string& path, base::Diagnostics& sink) {
  if (entry.key == "file") return;  // it is read
  if (cluster.find(entry.key) == nullptr && entry.key.find_first_of(".[") == std::string::npos) {
    cluster.set(entry.key, entry.value, entry.key_mark);
    return;
  }
  // A path may give a key that a preset leaves out (network.oversubscription), but not make up a link: that is a slip of the pen.
  adopt_profiles(cluster, entry.key, entry.value);
  const bool may_add = !entry.key.starts_with("links.") || entry.key.ends_with(".half_duplex");
  const auto unknown = may_add ? base::UnknownKey::add : base::UnknownKey::refuse;
  base::patch_yaml(cluster, entry.key, entry.value, sink, path + "." + entry.key, unknown);
}

// GPUs per node that the section's preset has by itself; 0 without a preset.
int gpus_of_preset(const base::Yaml& section) {
  const auto* name = section.find("preset");
  return name != nullptr ? preset_gpus(name->scalar) : 0;
}

// The place where a checked node says how many GPUs it has: beside a preset, this number is what left some without wires.
base::Mark mark_of_count(const base::Yaml& node) { return node.find("gpus")->find("count")->mark; }

// The cluster section of a file: a cluster file, or a scenario, whose other keys are not ours to judge.
base::Yaml section_of_file(const std::filesystem::path& file) {
  auto document = base::read_yaml(file);
  base::Diagnostics sink;
  base::MapReader map(document, "", sink);
  const auto* section = map.required("cluster");
  map.format();
  sink.throw_if_any();
  return *section;
}

// What the section's other keys override: its preset, or the cluster of the file that it names. nullopt: it has neither.
std::optional<base::Yaml> what_it_starts_from(const base::Yaml& section, const std::string& path, const std::filesystem::path& directory) {
  base::Diagnostics sink;
  base::MapReader map(section, path, sink);
  const bool has_preset = map.has("preset"), has_file = map.has("file");
  const auto name = map.text("preset"), file = map.text("file");
  if (has_preset && has_file) map.complain("file", "the cluster has a preset, too", "leave one of the two out");
  sink.throw_if_any();
  if (has_preset) {
    const base::Yaml* preset = preset_section(*name);
    if (preset == nullptr) map.complain("preset", unknown_preset(*name), base::suggest(*name, preset_names()));
    sink.throw_if_any();
    return *preset;
  }
  if (!has_file) return std::nullopt;
  const base::Yaml named = section_of_file(directory / *file);
  // Files that name files could name each other in a circle.
  if (named.find("file") != nullptr) map.complain("file", "its cluster is another file's in turn", "name that file here");
  sink.throw_if_any();
  return expand_cluster(named, path, (directory / *file).parent_path());
}

}  // namespace

void adopt_network_type(base::Yaml& cluster, std::string_view type) {
  base::Yaml* network = cluster.find("network");
  if (network != nullptr) drop_keys_of_other_types(*network, type);
}

base::Yaml expand_cluster(const base::Yaml& written, const std::string& path, const std::filesystem::path& directory) {
  base::Yaml section = written;
  complete_profile_files(section, "", directory);
  std::optional<base::Yaml> start = what_it_starts_from(section, path, directory);
  if (!start) return section;
  base::Diagnostics sink;
  base::Yaml cluster = std::move(*start);
  if (section.find("node_types") != nullptr) {  // they stand instead of these
    cluster.erase("node");
    cluster.erase("nodes");
  }
  for (const auto& entry : section.entries) change_type(cluster, entry);
  for (const auto& entry : section.entries) override_key(cluster, entry, path, sink);
  if (!sink.empty()) {  // what else is wrong is said in the same breath
    try {
      (void)load_cluster(cluster, path);
    } catch (const base::InputError& e) { sink.add_all(e); }
  }
  sink.throw_if_any();
  return cluster;
}

Cluster load_cluster(const base::Yaml& expanded, const std::string& path) {
  auto description = read_description(expanded, path, gpus_of_preset(expanded));
  std::vector<std::pair<base::Mark, std::string>> marks;
  if (const auto* list = expanded.find("node_types")) {
    for (std::size_t i = 0; i < list->items.size(); ++i)
      marks.emplace_back(mark_of_count(list->items[i]), fmt::format("{}.node_types[{}]", path, i));
  } else {
    marks.emplace_back(mark_of_count(*expanded.find("node")), path + ".node");
  }
  return build_cluster(std::move(description), marks);
}

Cluster load_cluster_argument(const std::string& word) {
  if (const base::Yaml* preset = preset_section(word)) return load_cluster(*preset, "cluster");
  std::error_code refused;
  if (!base::is_standard_input(word) && !std::filesystem::exists(word, refused)) {
    base::Diagnostics sink;
    sink.add({}, "", fmt::format("\"{}\" is neither a preset nor a file", word), base::suggest(word, preset_names()));
    sink.throw_if_any();
  }
  const std::filesystem::path file(word);
  return load_cluster(expand_cluster(section_of_file(file), "cluster", file.parent_path()), "cluster");
}

}  // namespace topology
