#pragma once
// The scenario file: a question as a value, with everything that it names loaded.
// Start here: load_scenario() makes a Scenario of PlanEntries (plan_entries.hpp), Variants (variant.hpp: model, cluster and training, with
// a what-if of what_if.hpp applied), probes and a CapacityQuestion (capacity.hpp). training.hpp reads training and framework.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/yaml/tree.hpp"
#include "scenarios/question/capacity.hpp"
#include "scenarios/question/plan_entries.hpp"
#include "scenarios/question/subject.hpp"
#include "scenarios/question/variant.hpp"
#include "scenarios/question/what_if.hpp"

namespace scenarios {

// A parameter of the base's cluster, with what it is probed by (scenarios/answer/run.hpp).
struct Probe {
  Parameter parameter;
  std::optional<Variant> down, up;  // of a capacity none
  Variant improved;
};

struct Scenario {
  std::string name;
  std::vector<PlanEntry> plans;  // none where capacity alone is asked for
  VariantList variants;          // without plans the base may be the first machine of capacity
  std::vector<Probe> probes;     // where sensitivities are asked for
  std::optional<CapacityQuestion> capacity;
  base::Yaml question;  // the whole of it, normalised (subject.hpp)
  Subject subject;
  std::filesystem::path directory;  // files that the scenario names start there

  [[nodiscard]] const Variant& base() const { return variants.base(); }
  // Whether a what-if changes options of the plan.
  [[nodiscard]] bool changes(const WhatIf& what_if, std::size_t plan) const;
  // Whether a what-if asks about the plan: one that changes plans alone asks about these.
  [[nodiscard]] bool asks(const WhatIf& what_if, std::size_t plan) const;
  // Returns the entry with the options that a what-if gives it.
  [[nodiscard]] PlanEntry entry(std::size_t plan, const WhatIf& what_if) const;
};

// Returns the question that a file asks. Throws: base::InputError with every problem of every section, and of every what-if where the base
// has none; another version of the format is said alone.
[[nodiscard]] Scenario load_scenario(const base::Yaml& document, const std::filesystem::path& directory);

}  // namespace scenarios
