#pragma once
// What `foreshard rules` prints and writes as JSON.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "search/substitutions/axioms.hpp"
#include "search/substitutions/generate.hpp"
#include "search/substitutions/published.hpp"
#include "search/substitutions/rules_file.hpp"

namespace cli {

[[nodiscard]] nlohmann::ordered_json to_json(const substitutions::Generated& g);
[[nodiscard]] std::string to_text(const substitutions::Generated& g);

[[nodiscard]] nlohmann::ordered_json to_json(const substitutions::RuleFile& file, const std::vector<substitutions::Proof>& proofs);
[[nodiscard]] std::string to_text(const substitutions::RuleFile& file, const std::vector<substitutions::Proof>& proofs);

[[nodiscard]] nlohmann::ordered_json to_json(const substitutions::Axioms& axioms, const std::vector<substitutions::Validation>& validations,
                                             const std::vector<std::string>& redundant);
[[nodiscard]] std::string to_text(const substitutions::Axioms& axioms, const std::vector<substitutions::Validation>& validations,
                                  const std::vector<std::string>& redundant);

[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<substitutions::PublishedRule>& rules, const std::vector<substitutions::Compared>& results);
[[nodiscard]] std::string to_text(const std::vector<substitutions::PublishedRule>& rules, const std::vector<substitutions::Compared>& results);

[[nodiscard]] std::string to_text(const substitutions::Rule& rule);
[[nodiscard]] nlohmann::ordered_json to_json(const substitutions::Rule& rule);

}  // namespace cli
