#pragma once
// Rules, proofs, axioms, and where rules occur in a graph, as text for people and as JSON: the output of `foreshard rules`.

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

#include "search/rules/axioms/axioms.hpp"
#include "search/rules/generation/generate.hpp"
#include "search/rules/matching/matcher.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "search/rules/selection/selection.hpp"

namespace reports {

[[nodiscard]] nlohmann::ordered_json to_json(const rules::Generated& g);
[[nodiscard]] std::string to_text(const rules::Generated& g);

// `reason`: rules::why_not_as_written() of the file.
[[nodiscard]] nlohmann::ordered_json to_json(const rules::RuleFile& file, const std::vector<rules::Proof>& proofs,
                                             const std::string& reason);
[[nodiscard]] std::string to_text(const rules::RuleFile& file, const std::vector<rules::Proof>& proofs, const std::string& reason);

// `redundant`: the names of those that follow from the others.
[[nodiscard]] nlohmann::ordered_json to_json(const rules::Axioms& axioms, const std::vector<std::string>& redundant);
[[nodiscard]] std::string to_text(const rules::Axioms& axioms, const std::vector<std::string>& redundant);

[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<rules::Rule>& rules);
// Whether each axiom of a proof is shown with its statement, or by its name alone.
enum class AxiomDetail { names, statements };
[[nodiscard]] std::string to_text(const std::vector<rules::Rule>& rules, const rules::Axioms& axioms, AxiomDetail detail);

// Returns each rule that occurs with the operators of its first places, most occurrences first; then the totals.
// Requires: the census is of these rules and this graph.
[[nodiscard]] std::string to_text(const rules::Census& c, std::span<const rules::Rule> rules, const pcg::Pcg& graph);
// Returns {"graph","rules":[{..,"count","places","occurrences":[..]}],"totals":{..},"untouched":[{"name","kind"}]}, all occurrences.
[[nodiscard]] nlohmann::ordered_json to_json(const rules::Census& c, std::span<const rules::Rule> rules, const pcg::Pcg& graph);

// Returns {"layout": 5638, "never": 319, ..}: how many rules a selection left out, by reason.
[[nodiscard]] nlohmann::ordered_json left_out_json(const rules::Selection& s);

}  // namespace reports
