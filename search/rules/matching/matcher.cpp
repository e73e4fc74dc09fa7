#include "search/rules/matching/matcher.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace rules {

Matcher::Matcher(std::span<const Rule> rules, const pcg::Pcg& graph) {
  for (const Rule& rule : rules) patterns_.push_back(compile(rule));
  restart(graph);
}

void Matcher::restart(const pcg::Pcg& graph) {
  const GraphIndex index(graph);
  matches_.clear();
  for (std::size_t r = 0; r < patterns_.size(); ++r)
    if (patterns_[r]) std::ranges::move(occurrences(index, *patterns_[r], r), std::back_inserter(matches_));
}

std::vector<pcg::NodeId> place_of(const Match& m) {
  const std::set<pcg::NodeId> nodes(m.nodes.begin(), m.nodes.end());
  return {nodes.begin(), nodes.end()};
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
