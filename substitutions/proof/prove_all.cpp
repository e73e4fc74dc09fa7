#include "substitutions/proof/prove_all.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/worker_pool.hpp"

namespace substitutions {
namespace {

using Json = nlohmann::json;

// So many equations at once: some 0.3 s of work, beside which a process costs nothing, and few enough that no worker is left alone for long
// at the end.
constexpr std::size_t kBatch = 100;

Json to_json(const Proof& p) {
  return {{"verdict", p.verdict},
          {"axioms", p.axioms},
          {"instances", p.instances},
          {"counterexample", p.counterexample ? Json(p.counterexample->text) : Json()},
          {"seconds", p.seconds}};
}

Proof proof_from(const Json& j) {
  Proof p{.verdict = j.at("verdict").get<Verdict>(),
          .axioms = j.at("axioms").get<std::vector<std::string>>(),
          .instances = j.at("instances").get<int>(),
          .counterexample = {},
          .seconds = j.at("seconds").get<double>()};
  if (const Json& c = j.at("counterexample"); !c.is_null()) p.counterexample = Counterexample{c.get<std::string>()};
  return p;
}

}  // namespace

std::vector<Proof> prove_all(const Axioms& axioms, const ProofLimits& limits, std::span<const TypedEquation> equations, int processes,
                             const std::function<void(std::size_t)>& progress) {
  Prover prover(axioms, limits);  // the axioms are compiled once: workers inherit them
  const auto prove_batch = [&](std::size_t batch) {
    Json proofs = Json::array();
    const std::size_t first = batch * kBatch;
    for (const TypedEquation& e : equations.subspan(first, std::min(kBatch, equations.size() - first)))
      proofs.push_back(to_json(prover.prove(e)));
    return proofs;
  };
  std::size_t done = 0;
  const auto finished = [&](std::size_t) {
    done = std::min(done + kBatch, equations.size());
    if (progress) progress(done);
  };
  std::vector<Proof> proofs;
  for (const Json& batch : base::run_workers((equations.size() + kBatch - 1) / kBatch, processes, prove_batch, finished))
    for (const Json& proof : batch) proofs.push_back(proof_from(proof));
  return proofs;
}

}  // namespace substitutions
