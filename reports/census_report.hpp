#pragma once
// Where rules occur in a graph, as text for people and as JSON: the output of `foreshard rules match`.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "search/rules/matching/matcher.hpp"
#include "search/rules/selection/selection.hpp"

namespace reports {

// Returns each rule that occurs with the operators of its first places, most occurrences first; then the totals.
// Requires: the census is of these rules and this graph.
[[nodiscard]] std::string to_text(const rules::Census& c, std::span<const rules::Rule> rules, const pcg::Pcg& graph);
// Returns {"graph","rules":[{..,"count","places","occurrences":[..]}],"totals":{..},"untouched":[{"name","kind"}]}, all occurrences.
[[nodiscard]] nlohmann::ordered_json to_json(const rules::Census& c, std::span<const rules::Rule> rules, const pcg::Pcg& graph);

// Returns {"layout": 5638, "never": 319, ..}: how many rules a selection left out, by reason.
[[nodiscard]] nlohmann::ordered_json left_out_json(const rules::Selection& s);

}  // namespace reports
