#pragma once
// The scenario file: a question as a value. Sections that what-ifs patch (model, cluster, training) stay trees, and are loaded
// anew for every variant.

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/yaml.hpp"
#include "search/grid/grid_plan.hpp"

namespace scenarios {

struct DataParallelEntry {};
struct MegatronEntry {
  search::MegatronConfig config;
};
struct MegatronSearchEntry {
  search::MegatronSearchConfig config;
};
struct FsdpEntry {
  search::FsdpConfig config;
};
struct FileEntry {
  std::filesystem::path file;
};
using PlanKind = std::variant<DataParallelEntry, MegatronEntry, MegatronSearchEntry, FsdpEntry, FileEntry>;

struct PlanEntry {
  std::string name;  // unique: the entry's `name:`, else its kind, "#2" for repeats
  PlanKind kind;
  base::Mark mark;
};

struct WhatIf {
  std::string name;
  std::vector<std::pair<std::string, base::Yaml>> set;  // "cluster.links.infiniband.bandwidth" -> 4x
};

struct Scenario {
  std::string name;
  std::filesystem::path directory;  // of the file: relative paths start here
  base::Yaml document;              // model, cluster (expanded), training: what a variant patches
  std::vector<PlanEntry> plans;
  std::vector<WhatIf> what_if;
};

// Throws: base::InputError with every problem of every section, what-ifs applied and loaded once to find theirs.
[[nodiscard]] Scenario load_scenario(const base::Yaml& document, const std::filesystem::path& directory);

}  // namespace scenarios
