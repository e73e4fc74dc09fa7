#include "search/rules/matching/matcher.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "search/rules/matching/pattern.hpp"

namespace rules {
namespace {

bool comes_before(const Match& a, const Match& b) {
  return std::tie(a.rule, a.nodes, a.variables, a.row, a.views) < std::tie(b.rule, b.nodes, b.variables, b.row, b.views);
}

// The codes of what makes a node's inputs in one word, so that most candidates are refused by one comparison.
std::uint64_t word_of(Code a, Code b, Code c) { return std::uint64_t{a} << 32U | std::uint64_t{b} << 16U | c; }
std::uint64_t word_of(const NodeFacts& f, bool swapped) {
  const auto& p = f.producers;
  return swapped ? word_of(p[1], p[0], p[2]) : word_of(p[0], p[1], p[2]);
}

// Which nodes of `after` have to be looked at again: fresh ones, and old ones that read other tensors or are read by others.
std::vector<std::uint8_t> find_changed(const GraphIndex& before, const GraphIndex& after, std::span<const pcg::NodeId> fresh,
                                       std::span<const std::optional<pcg::NodeId>> renumbered) {
  std::vector<std::uint8_t> changed(after.size());
  for (pcg::NodeId n : fresh) changed[n.value] = 1;
  const auto same_tensor = [&](TensorId old, TensorId now) {
    const TensorFacts &a = before.tensor(old), &b = after.tensor(now);
    return renumbered[a.node] && renumbered[a.node]->value == b.node && a.output == b.output;
  };
  const auto same_readers = [&](TensorId old, TensorId now) {
    const auto a = before.readers(old), b = after.readers(now);
    return a.size() == b.size() && std::ranges::all_of(a, [&](std::uint32_t reader) {
             return renumbered[reader] && std::ranges::find(b, renumbered[reader]->value) != b.end();
           });
  };
  for (std::uint32_t n = 0; n < renumbered.size(); ++n) {
    if (!renumbered[n]) continue;
    const std::uint32_t now = renumbered[n]->value;
    bool same = std::ranges::equal(before.inputs(n), after.inputs(now), same_tensor);
    for (int o = 0; same && o < before.outputs(n); ++o) same = same_readers(before.output(n, o), after.output(now, o));
    if (!same) changed[now] = 1;
  }
  return changed;
}

// Whether all that a match names is still there and unchanged; gives it the new numbers.
bool survives(Match& m, std::span<const std::optional<pcg::NodeId>> renumbered, std::span<const std::uint8_t> changed,
              const Pattern& pattern) {
  for (pcg::NodeId& n : m.nodes) {
    if (!renumbered[n.value] || changed[renumbered[n.value]->value] != 0) return false;
    n = *renumbered[n.value];
  }
  for (std::size_t v = 0; v < m.variables.size(); ++v) {
    if (!pattern.variables[v].used && !pattern.variables[v].scalar) continue;
    pcg::TensorRef& t = m.variables[v];
    if (!renumbered[t.node.value]) return false;
    t.node = *renumbered[t.node.value];
  }
  return true;
}

}  // namespace

struct Matcher::State {
  // An operator of a rule's source as a place to begin.
  struct Anchor {
    std::uint32_t rule = 0;
    std::uint8_t at = 0;
    bool commutative = false;
    std::uint64_t word = 0, mask = 0;
    int output = 0;             // of its node
    std::uint64_t readers = 0;  // codes of those that read it in the source; 0: also where they are not known

    [[nodiscard]] bool may_be(const NodeFacts& f, const GraphIndex& index) const {
      if (readers != 0 && (readers & ~index.tensor(f.first_output + static_cast<TensorId>(output)).reader_codes) != 0) return false;
      return (word_of(f, false) & mask) == word || (commutative && (word_of(f, true) & mask) == word);
    }
  };

  // Half of a split may be a slice, whose code and output are others.
  static std::uint64_t readers_of(const Pattern& p, std::uint8_t at) {
    std::uint64_t codes = 0;
    if (p.operators[at].other_code != kNoCode) return codes;
    for (const PatternOperator& reader : p.operators)
      for (std::size_t i = 0; i < reader.slot_count; ++i)
        if (!reader.slots[i].variable && reader.slots[i].index == at && reader.other_code == kNoCode) codes |= bit_of(reader.code);
    return codes;
  }

  static Anchor anchor_of(const Pattern& p, std::size_t rule, std::uint8_t at) {
    const PatternOperator& op = p.operators[at];
    std::array<Code, kMostInputs> code{}, mask{};
    for (std::size_t i = 0; i < kMostInputs; ++i) {
      if (i >= op.slot_count || op.slots[i].variable) continue;
      const PatternOperator& producer = p.operators[op.slots[i].index];
      if (producer.other_code != kNoCode) continue;
      code[i] = producer.code;
      mask[i] = 0xffff;
    }
    return {static_cast<std::uint32_t>(rule),   at,        op.commutative,   word_of(code[0], code[1], code[2]),
            word_of(mask[0], mask[1], mask[2]), op.output, readers_of(p, at)};
  }

  std::vector<std::optional<Pattern>> patterns;             // by rule
  std::vector<std::vector<Anchor>> anchors;                 // by rule
  std::array<std::vector<Anchor>, kCodes> anchors_of_code;  // those of all rules
  GraphIndex graph, before;
  std::vector<Match> matches, spare;  // the memory of the matches before

  // The matches that stay, with their new numbers, and found ones, in order: each is moved once.
  template <class Stays>
  void replace_matches(std::vector<Match> found, const Stays& stays) {
    spare.clear();
    spare.reserve(matches.size() + found.size());
    bool ordered = true;  // old numbers may have changed places
    auto next = found.begin();
    for (Match& m : matches) {
      if (!stays(m)) continue;
      for (; next != found.end() && comes_before(*next, m); ++next) spare.push_back(std::move(*next));
      ordered = ordered && (spare.empty() || !comes_before(m, spare.back()));
      spare.push_back(std::move(m));
    }
    spare.insert(spare.end(), std::make_move_iterator(next), std::make_move_iterator(found.end()));
    if (!ordered) std::sort(spare.begin(), spare.end(), comes_before);
    matches.swap(spare);
  }

  State(std::span<const Rule> rules, const pcg::Pcg& g) : graph(g), before(pcg::Pcg()) {
    for (std::size_t r = 0; r < rules.size(); ++r) {
      base::Attempt<Pattern> p = compile(rules[r]);
      patterns.push_back(p ? std::optional(std::move(*p)) : std::nullopt);
      anchors.emplace_back();
      if (!patterns[r]) continue;
      for (std::uint8_t o = 0; o < patterns[r]->operators.size(); ++o) {
        anchors[r].push_back(anchor_of(*patterns[r], r, o));
        for (Code c : {patterns[r]->operators[o].code, patterns[r]->operators[o].other_code})
          if (c != kNoCode) anchors_of_code[c].push_back(anchors[r].back());
      }
    }
    find_all();
  }

  void find_all() {
    matches.clear();
    OccurrenceSearch search(graph, matches);
    for (std::size_t r = 0; r < patterns.size(); ++r) {
      if (!patterns[r]) continue;
      const std::size_t begin = matches.size();
      const auto candidates = [&](const Anchor& a, bool other) {
        const PatternOperator& op = patterns[r]->operators[a.at];
        const Code c = other ? op.other_code : op.code;
        return c == kNoCode ? std::span<const std::uint32_t>() : graph.of_code(c);
      };
      const Anchor& rarest = *std::ranges::min_element(
          anchors[r], {}, [&](const Anchor& a) { return candidates(a, false).size() + candidates(a, true).size(); });
      for (bool other : {false, true})
        for (std::uint32_t n : candidates(rarest, other))
          if (rarest.may_be(graph.node(n), graph)) search.run(*patterns[r], r, rarest.at, n, {});
      std::sort(matches.begin() + static_cast<std::ptrdiff_t>(begin), matches.end(), comes_before);
    }
  }
};

Matcher::Matcher(std::span<const Rule> rules, const pcg::Pcg& graph) : state_(std::make_unique<State>(rules, graph)) {}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
void Matcher::restart(const pcg::Pcg& graph) {
  state_->graph.index(graph);
  state_->find_all();
}
const std::vector<Match>& Matcher::matches() const { return state_->matches; }

void Matcher::update(const pcg::Pcg& after, std::span<const pcg::NodeId> fresh, std::span<const std::optional<pcg::NodeId>> renumbered) {
  State& s = *state_;
  std::swap(s.graph, s.before);
  s.graph.index(after);
  const std::vector<std::uint8_t> changed = find_changed(s.before, s.graph, fresh, renumbered);

  // Occurrences with a changed node, each once: with the first of them that is looked at.
  std::vector<Match> found;
  OccurrenceSearch search(s.graph, found);
  std::vector<std::uint8_t> done(s.graph.size_with_views());
  const auto visit = [&](std::uint32_t n) {
    const NodeFacts& f = s.graph.node(n);
    if (f.code == kNoCode) return;
    for (const State::Anchor& a : s.anchors_of_code[f.code])
      if (a.may_be(f, s.graph)) search.run(*s.patterns[a.rule], a.rule, a.at, n, done);
    done[n] = 1;
  };
  for (std::uint32_t n = 0; n < changed.size(); ++n) {
    if (changed[n] == 0) continue;
    const auto [first, last] = s.graph.views_of(n);
    if (first == last) visit(n);
    for (std::uint32_t view = first; view < last; ++view) visit(view);
  }
  // Both halves of a split are anchors of the same node.
  std::sort(found.begin(), found.end(), comes_before);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  s.replace_matches(std::move(found), [&](Match& m) { return survives(m, renumbered, changed, *s.patterns[m.rule]); });
}

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
