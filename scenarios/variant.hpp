#pragma once
// The scenario's document with one what-if applied, loaded. Private to this folder.

#include <filesystem>

#include "pcg/graph/graph.hpp"
#include "pcg/plan/plan.hpp"
#include "scenarios/framework.hpp"
#include "scenarios/scenario.hpp"
#include "topology/cluster.hpp"

namespace scenarios {

struct Variant {
  base::Yaml document;
  topology::Cluster cluster;
  pcg::Graph model;  // of one sample
  pcg::TrainingConfig training;
  Framework framework;
  std::vector<std::string> notes;  // what was filled in
};

// The document with every `set` of a what-if applied; problems go to `sink`. `path` is the what-if's place ("what_if[0]"),
// `directory` the scenario's.
[[nodiscard]] base::Yaml patched(base::Yaml document, const WhatIf& what_if, const std::string& path,
                                 const std::filesystem::path& directory, base::Diagnostics& sink);

// Reports every problem of the sections that the document has.
void check_sections(const base::Yaml& document, const std::filesystem::path& directory, base::Diagnostics& sink);

// Requires: the document has all three sections. Throws: base::InputError with every problem of model, cluster and training, and of what
// they ask of each other.
[[nodiscard]] Variant load_variant(base::Yaml document, const std::filesystem::path& directory);

}  // namespace scenarios
