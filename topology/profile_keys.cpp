#include "topology/profile_keys.hpp"

#include <fmt/core.h>

#include "base/yaml/patch.hpp"

namespace topology {
namespace {

using base::Yaml;

constexpr std::string_view kGpus = "gpus.", kNetwork = "network_profile";

// The keys of a section that may be its GPUs' ("node.gpus.file"), without the last one; nullopt: another key.
std::optional<std::string> gpus_of(const std::string& path, std::string_view key) {
  const std::string end = std::string(kGpus) + std::string(key);
  if (path == end) return "gpus";  // of a node type by itself
  if (!path.ends_with("." + end)) return std::nullopt;
  return path.substr(0, path.size() - key.size() - 1);
}

bool is_file_of_profile(const std::string& path) { return gpus_of(path, "file") || path == std::string(kNetwork) + ".file"; }

// Calls visit(path, value) for everything in `value`, itself included.
template <class Tree, class Visit>
void walk(Tree& value, const std::string& path, const Visit& visit) {
  visit(path, value);
  for (auto& entry : value.entries) walk(entry.value, path.empty() ? entry.key : path + "." + entry.key, visit);
  for (std::size_t i = 0; i < value.items.size(); ++i) walk(value.items[i], fmt::format("{}[{}]", path, i), visit);
}

void erase_at(Yaml& section, const std::string& path, const char* key) {
  Yaml* map = base::find_at(section, path);
  if (map != nullptr && map->is_map()) map->erase(key);
}

// A name that looks like a file is one in the wrong place.
bool is_name(const std::string& text) { return text.find('/') == std::string::npos && !text.ends_with(".yaml"); }

}  // namespace

void complete_profile_files(Yaml& value, const std::string& path, const std::filesystem::path& directory) {
  walk(value, path, [&](const std::string& at, Yaml& found) {
    if (found.is_scalar() && is_file_of_profile(at))
      found.scalar = std::filesystem::absolute(directory / found.scalar).lexically_normal().string();
  });
}

void adopt_profiles(Yaml& section, const std::string& path, const Yaml& value) {
  walk(value, path, [&](const std::string& at, const Yaml&) {
    if (const auto gpus = gpus_of(at, "file")) erase_at(section, *gpus, "type");
    if (const auto gpus = gpus_of(at, "type")) erase_at(section, *gpus, "file");
    const Yaml* network = section.find(kNetwork);
    if (at == std::string(kNetwork) + ".file" && network != nullptr && !network->is_map()) section.erase(kNetwork);
  });
}

std::optional<std::string> read_gpu_profile(base::MapReader& gpus) {
  const auto name = gpus.text("type"), file = gpus.text("file");
  if (gpus.has("type") && gpus.has("file")) gpus.complain("file", "the GPUs have a type, too", "leave one of the two out");
  if (!gpus.has("file")) gpus.require("type");
  if (!name) return file;
  if (is_name(*name)) return name;
  gpus.complain("type", fmt::format("\"{}\" is a file", *name), fmt::format("write file: {} in place of type", *name));
  return std::nullopt;
}

std::optional<std::string> read_network_profile(base::MapReader& section) {
  const Yaml* written = section.optional(kNetwork);
  if (written == nullptr) return std::nullopt;
  if (written->is_map()) {
    base::MapReader map(*written, section.path_of(kNetwork), section.sink());
    auto file = map.text("file");
    map.require("file");
    map.finish();
    return file;
  }
  auto name = section.text(kNetwork);
  if (!name || is_name(*name)) return name;
  section.complain(kNetwork, fmt::format("\"{}\" is a file", *name), fmt::format("write {{file: {}}}", *name));
  return std::nullopt;
}

}  // namespace topology
