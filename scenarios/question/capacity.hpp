#pragma once
// The `capacity:` section of a scenario: its terms, and the machines and plans that have to be simulated for them.

#include <filesystem>
#include <optional>
#include <vector>

#include "base/yaml/tree.hpp"
#include "scenarios/capacity/entries.hpp"
#include "scenarios/capacity/terms.hpp"
#include "scenarios/question/variant.hpp"

namespace scenarios {

struct CapacityQuestion {
  // A candidate with one of its numbers of nodes. Candidates with equal machines share one: owned and rented, say.
  struct Point {
    std::size_t candidate = 0;  // of terms.candidates
    std::size_t machine = 0;    // of machines
    Fleet fleet;
  };
  CapacityTerms terms;
  std::vector<PlanEntry> plans;
  std::vector<Variant> machines;  // the scenario's model and training, or the candidate's, on a candidate's cluster
  std::optional<Variant> base;    // the scenario's training on the first; that machine as it is where the scenario's cannot run there
  std::vector<Point> points;      // in the order of the section
  std::vector<base::Note> notes;
};

// The scenario around a section.
struct CapacityContext {
  const base::Yaml& document;  // model, cluster (if there is one) and training, as they are written
  bool sound;                  // they have no problems; else no candidate is loaded: it would have the same
  const std::vector<PlanEntry>&
      plans;  // for a section without its own; where there are none either, each machine has the best of Megatron's grid
  const std::filesystem::path& directory;
};

// Returns the question of a section. `loader`: the one that loaded the scenario. Every problem goes to `sink`.
[[nodiscard]] CapacityQuestion read_capacity(const base::Yaml& section, const CapacityContext& scenario, VariantLoader& loader,
                                             base::Diagnostics& sink);

}  // namespace scenarios
