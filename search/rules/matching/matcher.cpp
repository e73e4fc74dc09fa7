#include "search/rules/matching/matcher.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "search/rules/matching/pattern.hpp"

namespace rules {
struct Matcher::State {
  std::vector<base::Attempt<Pattern>> patterns;  // by rule
  std::vector<Match> matches;

  explicit State(std::span<const Rule> rules) {
    for (const Rule& rule : rules) patterns.push_back(compile(rule));
  }
};

Matcher::Matcher(std::span<const Rule> rules, const pcg::Pcg& graph) : state_(std::make_unique<State>(rules)) { restart(graph); }
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
void Matcher::restart(const pcg::Pcg& graph) {
  const GraphIndex index(graph);
  state_->matches.clear();
  for (std::size_t r = 0; r < state_->patterns.size(); ++r)
    if (state_->patterns[r]) std::ranges::move(occurrences(index, *state_->patterns[r], r), std::back_inserter(state_->matches));
}
const std::vector<Match>& Matcher::matches() const { return state_->matches; }

std::vector<pcg::NodeId> place_of(const Match& m) {
  std::vector<pcg::NodeId> nodes = m.nodes;
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

Census census(std::span<const Rule> rules, const pcg::Pcg& graph) {
  Census c;
  c.matches = Matcher(rules, graph).matches();
  std::vector<bool> touched(graph.nodes().size());
  std::set<std::vector<pcg::NodeId>> places;  // of one rule
  for (std::size_t i = 0; i < c.matches.size(); ++i) {
    const Match& m = c.matches[i];
    if (c.rules.empty() || c.rules.back().rule != m.rule) {
      c.rules.push_back({.rule = m.rule, .first = i});
      places.clear();
    }
    ++c.rules.back().count;
    places.insert(place_of(m));
    c.rules.back().places = places.size();
    for (const pcg::NodeId n : m.nodes) touched[n.value] = true;
  }
  std::ranges::stable_sort(c.rules, std::ranges::greater{}, &RuleOccurrences::count);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].is_source()) continue;
    c.operators.emplace_back(n);
    if (!touched[n]) c.untouched.emplace_back(n);
  }
  return c;
}

}  // namespace rules
