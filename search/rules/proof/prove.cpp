#include "search/rules/proof/prove.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
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
  GroundProof ground;

  explicit State(const Axioms& a) : axioms(a), patterns(compile(a)) {}

  // The merge of the two sides, checked by Z3.
  bool settle(const Saturation& s, Proof& proof) {
    const std::vector<Instance> used = s.used();
    std::vector<GroundEquation> given;
    for (const Instance& i : used) given.push_back(i.equation);
    const auto core = ground.follows(s.graph(), given, s.goals());
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
