#pragma once
// The scenario file: a question as a value, with everything that it names loaded.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml/tree.hpp"
#include "scenarios/question/capacity.hpp"
#include "scenarios/question/parameters.hpp"
#include "scenarios/question/plan_entries.hpp"
#include "scenarios/question/variant.hpp"

namespace scenarios {

// The scenario itself among its variants; no what-if may be called so.
inline constexpr std::string_view kBaseName = "base";

struct NamedVariant {
  std::string name;  // kBaseName, or a what-if's name
  Variant variant;
  std::string sweep;                                          // whose point it is; empty: of none
  std::vector<std::pair<std::string, std::string>> settings;  // "cluster.nodes" -> "2x": what differs from the base
  bool replan = true;                                         // a what-if is answered with a new plan, too
};

// A parameter of the base's cluster, with what it is probed by (scenarios/sensitivity.hpp).
struct Probe {
  Parameter parameter;
  std::optional<Variant> down, up;  // of a capacity none
  Variant improved;
};

struct Scenario {
  std::string name;
  std::vector<PlanEntry> plans;        // none where capacity alone is asked for
  std::vector<NamedVariant> variants;  // the base first, then the what-ifs in order; without plans the first machine of capacity may be it
  std::vector<Probe> probes;           // where sensitivities are asked for
  std::optional<CapacityQuestion> capacity;

  [[nodiscard]] const Variant& base() const { return variants.front().variant; }
  // Returns the variant as the plan entry sees it, under its own framework where it names one.
  [[nodiscard]] Variant seen_by(std::size_t plan, const Variant& variant) const;
  [[nodiscard]] Variant seen_by(std::size_t plan, std::size_t variant) const { return seen_by(plan, variants[variant].variant); }
};

// Returns the question that a file asks. Throws: base::InputError with every problem of every section, and of every what-if where the base
// has none; another version of the format is said alone.
[[nodiscard]] Scenario load_scenario(const base::Yaml& document, const std::filesystem::path& directory);

}  // namespace scenarios
