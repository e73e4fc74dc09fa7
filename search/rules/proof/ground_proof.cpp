#include "search/rules/proof/saturation.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <z3++.h>

#include <algorithm>
#include <map>

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

}  // namespace rules
