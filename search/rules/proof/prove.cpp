#include "search/rules/proof/prove.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <z3++.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.hpp"
#include "base/processes/worker_pool.hpp"
#include "search/rules/proof/saturation.hpp"

namespace rules {
namespace {

constexpr std::size_t kMostProofTerms = 4000;  // of the e-graph
constexpr int kRounds = 6;                     // of instantiation
// Equations that a worker proves at once: some 0.3 s of work, against which a process costs nothing, and few enough that no worker is left
// alone for long at the end.
constexpr std::size_t kBatch = 100;

std::bitset<kKinds> kinds_of(const Equation& e) {
  std::bitset<kKinds> kinds;
  for (const Term* t : {&e.left, &e.right})
    for (const Node& n : t->nodes) kinds.set(static_cast<std::size_t>(n.kind));
  return kinds;
}

}  // namespace

struct Prover::State {
  const Axioms& axioms;
  Patterns patterns;
  // One context serves all proofs, so that each operator is declared once.
  z3::context context;
  z3::sort tensor = context.uninterpreted_sort("T");
  z3::solver solver = z3::solver(context, "QF_UF");
  std::map<std::string, z3::func_decl> functions;

  explicit State(const Axioms& a) : axioms(a), patterns(compile(a)) {
    z3::params p(context);
    p.set("timeout", 2000U);  // ms
    // A fixed seed gives the same core, and so the same names of axioms, every time.
    p.set("random_seed", 1U);
    solver.set(p);
  }

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

  // Returns: the numbers of the given instances that Z3 needed (an unsatisfiable core) to make both sides of every goal equal. Nullopt:
  // they do not follow, or the limit was reached.
  std::optional<std::vector<std::size_t>> follows(const EGraph& graph, std::span<const Instance> given,
                                                  std::span<const GroundEquation> goals) {
    std::map<Index, z3::expr> made;
    const auto term = [&](auto&& self, Index n) -> z3::expr {
      if (const auto it = made.find(n); it != made.end()) return it->second;
      const EGraph::Node& node = graph.node(n);
      z3::expr_vector inputs(context);
      for (const Index c : node.inputs()) inputs.push_back(self(self, c));
      return made.emplace(n, function(node.op, node.count)(inputs)).first->second;
    };
    // Each given equation hangs on a name of its own, so that the unsatisfiable core says which ones were needed.
    solver.push();
    z3::expr_vector named(context);
    for (std::size_t i = 0; i < given.size(); ++i) {
      named.push_back(context.bool_const(fmt::format("axiom{}", i).c_str()));
      solver.add(z3::implies(named.back(), term(term, given[i].equation.left) == term(term, given[i].equation.right)));
    }
    z3::expr_vector differ(context);
    // The goals follow iff it is contradictory that one of them fails.
    for (const GroundEquation& g : goals) differ.push_back(term(term, g.left) != term(term, g.right));
    solver.add(z3::mk_or(differ));
    std::optional<std::vector<std::size_t>> core;
    if (solver.check(named) == z3::unsat) {
      core.emplace();
      for (const z3::expr& e : solver.unsat_core()) core->push_back(static_cast<std::size_t>(std::stoul(e.decl().name().str().substr(5))));
    }
    solver.pop();
    return core;
  }

  // The merge of the two sides, checked by Z3.
  bool settle(const Saturation& s, Proof& proof) {
    const std::vector<Instance> used = s.used();
    const auto core = follows(s.graph(), used, s.goals());
    if (!core) return false;
    std::set<std::string> names;
    for (const std::size_t i : *core) names.insert(axioms.entries[patterns.all[used[i].pattern].entry].name);
    proof.axioms.assign(names.begin(), names.end());
    proof.verdict = Verdict::proved;
    return true;
  }
};

Prover::Prover(const Axioms& axioms) : state_(std::make_unique<State>(axioms)) {}
Prover::~Prover() = default;

Proof Prover::prove(const TypedEquation& e, std::optional<std::size_t> without) {
  const auto start = std::chrono::steady_clock::now();
  Proof proof;
  if (std::optional<Difference> found = refute(e)) {
    if (found->opaque.empty()) proof.verdict = Verdict::refuted;
    proof.counterexample = std::move(found->where);
    proof.opaque = std::move(found->opaque);
  } else {
    // First with the operators that the equation has, which is what most proofs need; then with all.
    const auto find = [&](bool expanded, std::size_t most_terms, const std::bitset<kKinds>& kinds) {
      Saturation s(state_->patterns, e, without);
      if (expanded) s.expand();
      return s.grow(kRounds, most_terms, kinds) && state_->settle(s, proof);
    };
    const auto all = std::bitset<kKinds>().set();
    (void)(find(false, kMostProofTerms / 4, kinds_of(e)) || find(false, kMostProofTerms, all) || find(true, kMostProofTerms, all));
  }
  proof.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return proof;
}

std::vector<std::string> redundant(const Axioms& axioms) {
  Prover prover(axioms);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < axioms.entries.size(); ++i) {
    const AxiomEntry& e = axioms.entries[i];
    const bool all = std::ranges::all_of(std::span(axioms.all).subspan(e.first, e.count), [&](const Axiom& a) {
      const auto instance = TypedEquation::make(a.equation);
      return instance && prover.prove(*instance, i).verdict == Verdict::proved;
    });
    if (all) names.push_back(e.name);
  }
  return names;
}

std::string why_not_proved(const Proof& p) {
  if (p.verdict == Verdict::refuted) return "false: " + *p.counterexample;
  if (p.opaque.empty()) return "not proved by the axioms of this version";
  return fmt::format("not proved: {} {} opaque here", p.opaque, p.opaque.find(',') == std::string::npos ? "is" : "are");
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Proof, verdict, axioms, counterexample, opaque, seconds)

std::vector<Proof> prove_all(const Axioms& axioms, std::span<const TypedEquation> equations, int processes,
                             const std::function<void(std::size_t)>& progress) {
  Prover prover(axioms);  // the axioms are compiled once: workers inherit them
  const auto prove_batch = [&](std::size_t batch) {
    nlohmann::json proofs = nlohmann::json::array();
    const std::size_t first = batch * kBatch;
    for (const TypedEquation& e : equations.subspan(first, std::min(kBatch, equations.size() - first))) proofs.push_back(prover.prove(e));
    return proofs;
  };
  std::size_t done = 0;
  const auto finished = [&](std::size_t) {
    done = std::min(done + kBatch, equations.size());
    if (progress) progress(done);
  };
  std::vector<Proof> proofs;
  for (const nlohmann::json& batch : base::run_workers((equations.size() + kBatch - 1) / kBatch, processes, prove_batch, finished))
    for (const nlohmann::json& proof : batch) proofs.push_back(proof.get<Proof>());
  return proofs;
}

}  // namespace rules
