#include "search/rules/matching/matcher.hpp"

#include <algorithm>
#include <set>

namespace rules {

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
