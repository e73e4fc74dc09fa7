#include "search/rules/proof/saturation.hpp"

#include <algorithm>
#include <functional>

#include "base/hash.hpp"
#include "search/rules/language/typing.hpp"

namespace rules {

namespace {

std::uint64_t key_of(std::size_t pattern, const Binding& b, const EGraph& graph) {
  base::Hash h(pattern);
  for (const Index v : b.variables) h(v == Binding::kUnbound ? v : graph.find(v));
  for (const auto& d : b.degrees)
    if (d) h(static_cast<std::uint64_t>(d->powers[0]) << 16U | static_cast<std::uint64_t>(d->powers[1]) << 8U | d->powers[2]);
    else h(~std::uint64_t{0});
  for (const auto& l : b.letters) h(l ? static_cast<std::uint64_t>((*l)[0] * 31 + (*l)[1]) : 0);
  return h.value();
}

// combine(partition(x)) = x, which one degree makes whole.
bool undoes_layouts(const AxiomPattern& p) {
  const Node& right = p.sides[1].nodes[p.sides[1].outputs[0]];
  return right.kind == Kind::variable && std::ranges::all_of(p.sides[0].nodes, [](const Node& n) {
           return n.kind == Kind::variable || (is_layout(n.kind) && n.degree.powers[1] == 0);
         });
}

// Variables of the other side that a match leaves open stand for any term.
void complete(const AxiomPattern& p, const EGraph& graph, const Binding& b, const std::function<void(const Binding&)>& then) {
  for (std::size_t v = 0; v < p.variables[0].size(); ++v) {
    if (!p.variables[0][v].used || b.variables[v] != Binding::kUnbound) continue;
    for (Index n = 0; n < graph.size(); ++n) {
      if (graph.find(n) != n || graph.types(n)[0].rank != p.variables[0][v].dims.size()) continue;
      Binding more = b;
      more.variables[v] = n;
      complete(p, graph, more, then);
    }
    return;
  }
  then(b);
}

struct Drafted {
  EOperator op;
  Types types;
  std::optional<Index> known;
};
// A side's nodes under a binding; nullopt: ill typed, or a new operator that is not of `kinds`.
std::optional<std::vector<Drafted>> draft(const AxiomPattern& p, int side, const EGraph& graph, const Binding& b,
                                          const std::bitset<kKinds>& kinds) {
  const Term& t = p.sides[side];
  std::vector<Drafted> drafted;
  drafted.reserve(t.nodes.size());
  for (std::size_t i = 0; i < t.nodes.size(); ++i) {
    const Node& n = t.nodes[i];
    if (n.kind == Kind::variable) {
      drafted.push_back({{}, graph.types(b.variables[n.variable]), b.variables[n.variable]});
      continue;
    }
    const EOperator op = operator_of(p, side, static_cast<std::uint8_t>(i), b);
    std::array<Index, 3> children{};
    std::array<const Types*, 3> types{};
    bool known = true;
    for (std::size_t c = 0; c < n.inputs.size(); ++c) {
      const Drafted& d = drafted[n.inputs[c]];
      known = known && d.known;
      if (known) children[c] = *d.known;
      types[c] = &d.types;
    }
    // A node that the graph has already needs no typing.
    if (const auto node = known ? graph.look_up(op, std::span(children).first(n.inputs.size())) : std::nullopt) {
      drafted.push_back({op, graph.types(*node), node});
      continue;
    }
    // A new node must be of an operator that the proof may use, and well typed: this is what keeps every instance sound.
    if (!kinds[static_cast<std::size_t>(op.kind)]) return std::nullopt;
    const auto type = type_of(op, std::span(types).first(n.inputs.size()));
    if (!type) return std::nullopt;
    drafted.push_back({op, *type, std::nullopt});
  }
  return drafted;
}

// The nodes of a term, as they were drafted; variables that are known are nodes already.
std::vector<Index> make(EGraph& graph, const Term& t, const std::vector<Drafted>& drafted) {
  std::vector<Index> made;
  for (std::size_t i = 0; i < t.nodes.size(); ++i) {
    const Node& n = t.nodes[i];
    if (n.kind == Kind::variable && drafted[i].known) {
      made.push_back(*drafted[i].known);
      continue;
    }
    std::array<Index, 3> children{};
    for (std::size_t c = 0; c < n.inputs.size(); ++c) children[c] = made[n.inputs[c]];
    made.push_back(graph.add(drafted[i].op, std::span(children).first(n.inputs.size()), drafted[i].types));
  }
  return made;
}

}  // namespace

Saturation::Saturation(const Patterns& patterns, const TypedEquation& e, std::optional<std::size_t> without)
    : patterns_(patterns), without_(without) {
  const auto insert = [&](const Term& t, const std::vector<Types>& types) {
    std::vector<Drafted> drafted;
    for (std::size_t i = 0; i < t.nodes.size(); ++i) {
      drafted.push_back({t.nodes[i], types[i], std::nullopt});
      drafted.back().op.inputs.clear();
    }
    return make(graph_, t, drafted);
  };
  const std::vector<Index> left = insert(e.left(), e.left_types()), right = insert(e.right(), e.right_types());
  for (std::size_t i = 0; i < e.left().outputs.size(); ++i) goals_.push_back({left[e.left().outputs[i]], right[e.right().outputs[i]]});
}

bool Saturation::merged() const {
  return std::ranges::all_of(goals_, [&](const GroundEquation& g) { return graph_.same(g.left, g.right); });
}

std::vector<Saturation::Found> Saturation::matches() {
  std::vector<Found> all;
  for (Index n = 0; n < graph_.size(); ++n) {
    if (!graph_.is_member(n)) continue;
    const EOperator& op = graph_.node(n).op;
    const auto it = patterns_.triggers.find({op.kind, op.function, op.axis});
    if (it == patterns_.triggers.end()) continue;
    for (const Trigger& t : it->second) {
      const AxiomPattern& p = patterns_.all[t.pattern];
      if (p.entry == without_) continue;
      match(p, t, graph_, n, [&](const Binding& b) {
        complete(p, graph_, b, [&](Binding bound) {
          if (fits(p, graph_, bound) && seen_.insert(key_of(t.pattern, bound, graph_)).second) all.push_back({t.pattern, bound});
        });
      });
    }
  }
  return all;
}

// Both sides are drafted before either is made, so that an ill-typed instance leaves nothing behind.
void Saturation::instantiate(const Found& f, const std::bitset<kKinds>& kinds) {
  const AxiomPattern& p = patterns_.all[f.pattern];
  const auto left = draft(p, 0, graph_, f.binding, kinds);
  if (!left) return;
  const auto right = draft(p, 1, graph_, f.binding, kinds);
  if (!right) return;
  const Drafted &l = (*left)[p.sides[0].outputs[0]], &r = (*right)[p.sides[1].outputs[0]];
  if (l.types != r.types) return;
  if (l.known && r.known && graph_.same(*l.known, *r.known)) return;
  const GroundEquation e{make(graph_, p.sides[0], *left)[p.sides[0].outputs[0]], make(graph_, p.sides[1], *right)[p.sides[1].outputs[0]]};
  graph_.merge(e.left, e.right, static_cast<Index>(instances_.size()));
  instances_.push_back({f.pattern, e});
}

bool Saturation::grow(int rounds, std::size_t most_nodes, const std::bitset<kKinds>& kinds) {
  for (int round = 0; round < rounds && !merged(); ++round) {
    const std::size_t before = instances_.size();
    for (const Found& f : matches()) {
      if (graph_.size() >= most_nodes) break;
      instantiate(f, kinds);
    }
    // Without a new instance the next round would find nothing new.
    if (instances_.size() == before || graph_.size() >= most_nodes) break;
  }
  return merged();
}

void Saturation::expand() {
  std::vector<Degree> degrees;
  for (Index n = 0; n < graph_.size(); ++n)
    if (const Degree d = graph_.node(n).op.degree; d != Degree{} && std::ranges::find(degrees, d) == degrees.end()) degrees.push_back(d);
  // Only the terms that were there before are expanded: the new ones would be expanded without end.
  const auto count = static_cast<Index>(graph_.size());
  for (std::size_t i = 0; i < patterns_.all.size(); ++i) {
    const AxiomPattern& p = patterns_.all[i];
    if (p.entry == without_ || !undoes_layouts(p)) continue;
    for (Index n = 0; n < count; ++n)
      for (const Degree& d : degrees) {
        Binding b;
        b.variables[p.sides[1].nodes[p.sides[1].outputs[0]].variable] = graph_.find(n);
        b.degrees[0] = d;
        if (graph_.find(n) == n && fits(p, graph_, b)) instantiate({i, b}, std::bitset<kKinds>().set());
      }
  }
}

std::vector<Instance> Saturation::used() const {
  std::set<Index> reasons;
  for (const GroundEquation& g : goals_) reasons.merge(graph_.explain(g.left, g.right));
  std::vector<Instance> used;
  for (const Index r : reasons) used.push_back(instances_[r]);
  return used;
}

}  // namespace rules
