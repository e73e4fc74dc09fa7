#pragma once
// The sections of a scenario (model, cluster, training) with at most one what-if applied, loaded.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/plan/plan.hpp"
#include "scenarios/question/framework.hpp"
#include "topology/cluster.hpp"

namespace scenarios {

// Variants of one scenario share what they have in common. The pointers are never null.
struct Variant {
  base::Yaml document;  // with what was filled in
  std::shared_ptr<const topology::Cluster> cluster;
  std::shared_ptr<const pcg::Graph> model;  // of one sample
  pcg::TrainingConfig training;
  Framework framework;
  std::vector<std::string> notes;  // what was filled in
};

// Returns the variant for a plan that names its own framework. The model stays as it is: what the scenario's framework filled in was said
// of all plans.
[[nodiscard]] Variant under(const Variant& v, const Framework& own);

// Loads variants of one scenario. A model or a cluster whose section equals the first one's, or that of one of the last few, is not loaded
// again: most what-ifs change one of them, or none.
class VariantLoader {
 public:
  explicit VariantLoader(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // Puts every problem of the sections that the document has, and of what they ask of each other, into `sink`.
  // Returns nullopt when there is one, or a section is missing.
  [[nodiscard]] std::optional<Variant> load(base::Yaml document, base::Diagnostics& sink);

 private:
  template <class T>
  using Loaded = std::vector<std::pair<std::string, std::shared_ptr<const T>>>;  // by the section's text

  std::filesystem::path directory_;  // of the scenario: relative paths start here
  Loaded<topology::Cluster> clusters_;
  Loaded<pcg::Graph> models_;
};

}  // namespace scenarios
