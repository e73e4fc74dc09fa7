#pragma once
// Substitutions, generated: graphs of up to three operators over a family of variables are enumerated and compared by layout and by value
// at unrelated sizes; pairs of equal graphs are pruned, then proved (../proof/prove.hpp). Start here:
//   generate.hpp   generate(): the whole, from settings to proved rules
//   families.hpp   settings(): the variables and operators of each Setting (families.yaml); enumerate(): all its graphs, and the equal ones
//   prune.hpp      prune(): the most general of the equations

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "search/rules/language/rule.hpp"
#include "search/rules/proof/prove.hpp"

namespace rules {

inline constexpr std::string_view kGeneratorVersion = "4";

struct GenerateConfig {
  int operators = 3;                                 // of each side, at most, and Setting::more; 4 is possible and slow
  int processes = 1;                                 // that prove
  std::vector<std::string> families;                 // of family_names(); empty: all
  std::function<void(const std::string&)> progress;  // may be empty
};
[[nodiscard]] std::vector<std::string> family_names();  // "matrix", "batched", "image", "embedding", "layout", ...

struct GenerateStatistics {
  std::int64_t graphs = 0;   // enumerated
  std::int64_t classes = 0;  // of equal graphs, with two members or more
  std::int64_t pairs = 0;    // candidates before pruning
  // Pairs that were dropped: equal to a kept one up to names; a kept one on operators' results; a kept one with variables equal, or with
  // operators that coincide. A graph with a part that a smaller equation would rewrite is not even built (families.hpp).
  std::int64_t renamed = 0, common = 0, implied = 0;
  std::int64_t refuted = 0, unproved = 0;  // false at sizes that it was not found with; no proof was found
  double enumerate_s = 0, prove_s = 0;
};

struct Generated {
  std::vector<Rule> rules;
  std::vector<TypedEquation> unproved;  // equal wherever evaluated; no proof was found: an axiom is missing, or a limit was met
  GenerateStatistics statistics;
};
// Returns: all rules of the families. Deterministic but for the seconds.
// Cost: docs/substitutions.md.
[[nodiscard]] Generated generate(const GenerateConfig& config);

}  // namespace rules
