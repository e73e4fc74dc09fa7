#pragma once
// The sections of a scenario (model, cluster, training) with at most one what-if applied, loaded.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pcg/graph/graph.hpp"
#include "pcg/plan/plan.hpp"
#include "scenarios/question/plan_entries.hpp"
#include "scenarios/question/training.hpp"
#include "scenarios/question/what_if.hpp"
#include "topology/cluster.hpp"

namespace scenarios {

// Variants of one scenario share what they have in common. The pointers are never null.
struct Variant {
  base::Yaml document;  // with what was filled in
  std::shared_ptr<const topology::Cluster> cluster;
  std::shared_ptr<const pcg::Graph> model;  // of one sample
  pcg::TrainingConfig training;
  double memory_margin = 0;  // Training::memory_margin
  Framework framework;
  std::vector<std::string> notes;  // what was filled in
};

// Returns the variant as a plan entry sees it: under its own framework where it names one. The model stays as it is: what the scenario's
// framework filled in was said of all plans.
[[nodiscard]] Variant seen_by(const PlanEntry& entry, Variant v);

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

// Returns a sentence that says so where a plan was made for another model than the variant's: another graph. Dropout may differ, because
// frameworks have their own defaults. nullopt: the same model, or one that cannot be read any more, as its file has gone.
// Cost: reads the plan's model.
[[nodiscard]] std::optional<std::string> of_another_model(const pcg::Plan& plan, const Variant& variant);

// The scenario itself among its variants; no what-if may be called so.
inline constexpr std::string_view kBaseName = "base";

class VariantList {
 public:
  VariantList() = default;
  // The base alone, which nothing is asked about.
  explicit VariantList(Variant base);
  // Puts every problem of the base, and of every what-if where the base has none, into `sink`; the list is empty where the base has any.
  // A what-if of a missing section is patched and not loaded: the same problems would come again.
  VariantList(Patchable sections, const std::vector<WhatIf>& what_ifs, std::shared_ptr<VariantLoader> loader, base::Diagnostics& sink);

  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // The base first, which is called kBaseName and changes nothing, then the what-ifs in order.
  [[nodiscard]] const WhatIf& operator[](std::size_t i) const { return all_[i]; }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

  // Requires: !empty().
  [[nodiscard]] const Variant& base() const { return *base_; }
  // Returns the sections of a variant as they are written, with its changes. Requires: i < size(), and a list that was loaded.
  [[nodiscard]] base::Yaml document(std::size_t i) const;
  // Returns a variant. Requires: as document(). Throws: base::InputError where a file of it has changed since. Cost: that of a cluster or a
  // model, unless one of the last few variants has the same.
  [[nodiscard]] Variant load(std::size_t i) const;

 private:
  std::shared_ptr<const Patchable> sections_;
  std::shared_ptr<VariantLoader> loader_;
  std::optional<Variant> base_;
  std::vector<WhatIf> all_;
};

}  // namespace scenarios
