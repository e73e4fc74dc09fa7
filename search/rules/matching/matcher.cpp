#include "search/rules/matching/matcher.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "search/rules/matching/pattern.hpp"

namespace rules {
namespace {

// The nodes that an operator of a source may be, by the two codes that it accepts.
std::array<std::span<const std::uint32_t>, 2> candidates(const PatternOperator& op, const GraphIndex& graph) {
  const auto of = [&](Code c) { return c == kNoCode ? std::span<const std::uint32_t>() : graph.of_code(c); };
  return {of(op.code), of(op.other_code)};
}

}  // namespace

struct Matcher::State {
  std::vector<std::optional<Pattern>> patterns;  // by rule
  std::vector<Match> matches;

  explicit State(std::span<const Rule> rules) {
    for (const Rule& rule : rules) {
      base::Attempt<Pattern> p = compile(rule);
      patterns.push_back(p ? std::optional(std::move(*p)) : std::nullopt);
    }
  }

  // Each rule is looked for from the operator of its source that the graph has fewest of.
  void find_all(const pcg::Pcg& g) {
    const GraphIndex graph(g);
    matches.clear();
    OccurrenceSearch search(graph, matches);
    for (std::size_t r = 0; r < patterns.size(); ++r) {
      if (!patterns[r]) continue;
      const auto begin = static_cast<std::ptrdiff_t>(matches.size());
      const std::vector<PatternOperator>& operators = patterns[r]->operators;
      const auto rarest = std::ranges::min_element(operators, {}, [&](const PatternOperator& op) {
        const auto [some, others] = candidates(op, graph);
        return some.size() + others.size();
      });
      const auto anchor = static_cast<std::uint8_t>(rarest - operators.begin());
      for (const std::span<const std::uint32_t> nodes : candidates(*rarest, graph))
        for (std::uint32_t n : nodes) search.run(*patterns[r], r, anchor, n);
      std::sort(matches.begin() + begin, matches.end());
    }
  }
};

Matcher::Matcher(std::span<const Rule> rules, const pcg::Pcg& graph) : state_(std::make_unique<State>(rules)) { restart(graph); }
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
void Matcher::restart(const pcg::Pcg& graph) { state_->find_all(graph); }
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
