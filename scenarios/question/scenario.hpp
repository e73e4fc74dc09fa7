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

  [[nodiscard]] const Variant& base() const { return variants.base(); }
  // Returns the variant as the plan entry sees it, under its own framework where it names one.
  [[nodiscard]] Variant seen_by(std::size_t plan, const Variant& variant) const;
};

// Returns the question that a file asks. Throws: base::InputError with every problem of every section, and of every what-if where the base
// has none; another version of the format is said alone.
[[nodiscard]] Scenario load_scenario(const base::Yaml& document, const std::filesystem::path& directory);

}  // namespace scenarios
