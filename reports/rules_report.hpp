#pragma once
// Rules, proofs and axioms as text for people and as JSON: the output of `foreshard rules`.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "substitutions/axioms/validate.hpp"
#include "substitutions/generation/generate.hpp"
#include "substitutions/published/compare.hpp"
#include "substitutions/rule_files/rule_file.hpp"

namespace reports {

[[nodiscard]] nlohmann::ordered_json to_json(const substitutions::Generated& g);
[[nodiscard]] std::string to_text(const substitutions::Generated& g);

// `reason`: substitutions::why_not_as_written() of the file.
[[nodiscard]] nlohmann::ordered_json to_json(const substitutions::RuleFile& file, const std::vector<substitutions::Proof>& proofs,
                                             const std::string& reason);
[[nodiscard]] std::string to_text(const substitutions::RuleFile& file, const std::vector<substitutions::Proof>& proofs,
                                  const std::string& reason);

[[nodiscard]] nlohmann::ordered_json to_json(const substitutions::Axioms& axioms, const std::vector<substitutions::Validation>& validations,
                                             const std::vector<std::string>& redundant);
[[nodiscard]] std::string to_text(const substitutions::Axioms& axioms, const std::vector<substitutions::Validation>& validations,
                                  const std::vector<std::string>& redundant);

[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<substitutions::PublishedRule>& rules,
                                             const std::vector<substitutions::Compared>& results);
[[nodiscard]] std::string to_text(const std::vector<substitutions::PublishedRule>& rules,
                                  const std::vector<substitutions::Compared>& results);

[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<substitutions::Rule>& rules);
// Whether each axiom that a proof rests on stands there with its statement, or by its name alone.
enum class AxiomDetail { names, statements };
[[nodiscard]] std::string to_text(const std::vector<substitutions::Rule>& rules, const substitutions::Axioms& axioms, AxiomDetail detail);

}  // namespace reports
