#include "search/rules/proof/saturation.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <z3++.h>

#include <algorithm>
#include <map>

#include "base/hash.hpp"
#include "search/rules/language/typing.hpp"

namespace rules {

// One context serves all proofs of a prover, so that each operator is declared once.
struct GroundProof::State {
  z3::context context;
  z3::sort tensor = context.uninterpreted_sort("T");
  z3::solver solver = z3::solver(context, "QF_UF");
  std::map<std::string, z3::func_decl> functions;

  // An operator with other attributes is another function, of which Z3 knows nothing but that equal arguments give equal results.
  const z3::func_decl& function(const EOperator& op, std::size_t inputs) {
    const std::string name = fmt::format("{}.{}.{}.{}.{}.{}.{}", static_cast<int>(op.kind), static_cast<int>(op.function), op.axis,
                                         op.variable, fmt::join(op.degree.powers, "."), fmt::join(op.at, "."), fmt::join(op.by, "."));
    const auto it = functions.find(name);
    if (it != functions.end()) return it->second;
    z3::sort_vector sorts(context);
    for (std::size_t i = 0; i < inputs; ++i) sorts.push_back(tensor);
    return functions.emplace(name, context.function(name.c_str(), sorts, tensor)).first->second;
  }
};

GroundProof::GroundProof() : state_(std::make_unique<State>()) {
  z3::params p(state_->context);
  p.set("timeout", 2000U);  // ms
  // A fixed seed gives the same core, and so the same names of axioms, every time.
  p.set("random_seed", 1U);
  state_->solver.set(p);
}
GroundProof::~GroundProof() = default;

std::optional<std::vector<std::size_t>> GroundProof::follows(const EGraph& graph, std::span<const GroundEquation> given,
                                                             std::span<const GroundEquation> goals) {
  State& s = *state_;
  std::map<Index, z3::expr> made;
  const auto term = [&](auto&& self, Index n) -> z3::expr {
    if (const auto it = made.find(n); it != made.end()) return it->second;
    const EGraph::Node& node = graph.node(n);
    z3::expr_vector inputs(s.context);
    for (const Index c : node.inputs()) inputs.push_back(self(self, c));
    return made.emplace(n, s.function(node.op, node.count)(inputs)).first->second;
  };
  // Each given equation hangs on a name of its own, so that the unsatisfiable core says which ones were needed.
  s.solver.push();
  z3::expr_vector named(s.context);
  for (std::size_t i = 0; i < given.size(); ++i) {
    named.push_back(s.context.bool_const(fmt::format("axiom{}", i).c_str()));
    s.solver.add(z3::implies(named.back(), term(term, given[i].left) == term(term, given[i].right)));
  }
  z3::expr_vector differ(s.context);
  // The goals follow iff it is contradictory that one of them fails.
  for (const GroundEquation& g : goals) differ.push_back(term(term, g.left) != term(term, g.right));
  s.solver.add(z3::mk_or(differ));
  std::optional<std::vector<std::size_t>> core;
  if (s.solver.check(named) == z3::unsat) {
    core.emplace();
    for (const z3::expr& e : s.solver.unsat_core()) core->push_back(static_cast<std::size_t>(std::stoul(e.decl().name().str().substr(5))));
    std::ranges::sort(*core);
  }
  s.solver.pop();
  return core;
}

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

}  // namespace

Saturation::Saturation(const Patterns& patterns, const TypedEquation& e, std::optional<std::size_t> without)
    : patterns_(patterns), without_(without) {
  const std::vector<Index> left = insert(e.left(), e.left_types()), right = insert(e.right(), e.right_types());
  for (std::size_t i = 0; i < e.left().outputs.size(); ++i) goals_.push_back({left[e.left().outputs[i]], right[e.right().outputs[i]]});
}

std::vector<Index> Saturation::insert(const Term& t, std::span<const Types> types) {
  std::vector<Index> made;
  for (std::size_t i = 0; i < t.nodes.size(); ++i) {
    const Node& n = t.nodes[i];
    std::array<Index, 3> children{};
    for (std::size_t c = 0; c < n.inputs.size(); ++c) children[c] = made[n.inputs[c]];
    EOperator op = n;
    op.inputs.clear();
    made.push_back(graph_.add(op, std::span(children).first(n.inputs.size()), types[i]));
  }
  return made;
}

bool Saturation::merged() const {
  return std::ranges::all_of(goals_, [&](const GroundEquation& g) { return graph_.same(g.left, g.right); });
}

// Variables of the other side that a match leaves open stand for any term.
void Saturation::complete(const AxiomPattern& p, const Binding& b, const std::function<void(const Binding&)>& then) const {
  for (std::size_t v = 0; v < p.variables[0].size(); ++v) {
    if (!p.variables[0][v].used || b.variables[v] != Binding::kUnbound) continue;
    for (Index n = 0; n < graph_.size(); ++n) {
      if (graph_.find(n) != n || graph_.types(n)[0].rank != p.variables[0][v].dims.size()) continue;
      Binding more = b;
      more.variables[v] = n;
      complete(p, more, then);
    }
    return;
  }
  then(b);
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
        complete(p, b, [&](Binding bound) {
          if (fits(p, graph_, bound) && seen_.insert(key_of(t.pattern, bound, graph_)).second) all.push_back({t.pattern, bound});
        });
      });
    }
  }
  return all;
}

std::optional<std::vector<Saturation::Drafted>> Saturation::draft(const AxiomPattern& p, int side, const Binding& b,
                                                                  const std::bitset<kKinds>& kinds) const {
  const Term& t = p.sides[side];
  std::vector<Drafted> drafted;
  drafted.reserve(t.nodes.size());
  for (std::size_t i = 0; i < t.nodes.size(); ++i) {
    const Node& n = t.nodes[i];
    if (n.kind == Kind::variable) {
      drafted.push_back({graph_.types(b.variables[n.variable]), b.variables[n.variable]});
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
    if (known) {
      if (const auto node = graph_.look_up(op, std::span(children).first(n.inputs.size()))) {
        drafted.push_back({graph_.types(*node), node});
        continue;
      }
    }
    // A new node must be of an operator that the proof may use, and well typed: this is what keeps every instance sound.
    if (!kinds[static_cast<std::size_t>(op.kind)]) return std::nullopt;
    const auto type = type_of(op, std::span(types).first(n.inputs.size()));
    if (!type) return std::nullopt;
    drafted.push_back({*type, std::nullopt});
  }
  return drafted;
}

Index Saturation::make(const AxiomPattern& p, int side, const Binding& b, const std::vector<Drafted>& drafted) {
  const Term& t = p.sides[side];
  std::vector<Index> made;
  for (std::size_t i = 0; i < t.nodes.size(); ++i) {
    const Node& n = t.nodes[i];
    if (n.kind == Kind::variable) {
      made.push_back(b.variables[n.variable]);
      continue;
    }
    std::array<Index, 3> children{};
    for (std::size_t c = 0; c < n.inputs.size(); ++c) children[c] = made[n.inputs[c]];
    const EOperator op = operator_of(p, side, static_cast<std::uint8_t>(i), b);
    made.push_back(graph_.add(op, std::span(children).first(n.inputs.size()), drafted[i].types));
  }
  return made[t.outputs[0]];
}

// Both sides are drafted before either is made, so that an ill-typed instance leaves nothing behind.
void Saturation::instantiate(const Found& f, const std::bitset<kKinds>& kinds) {
  const AxiomPattern& p = patterns_.all[f.pattern];
  const auto left = draft(p, 0, f.binding, kinds);
  if (!left) return;
  const auto right = draft(p, 1, f.binding, kinds);
  if (!right) return;
  const Drafted &l = (*left)[p.sides[0].outputs[0]], &r = (*right)[p.sides[1].outputs[0]];
  if (l.types != r.types) return;
  if (l.known && r.known && graph_.same(*l.known, *r.known)) return;
  const GroundEquation e{make(p, 0, f.binding, *left), make(p, 1, f.binding, *right)};
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
