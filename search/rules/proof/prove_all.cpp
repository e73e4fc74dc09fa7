#include "search/rules/proof/prove.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/processes/worker_pool.hpp"

namespace rules {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Counterexample, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Proof, verdict, axioms, instances, counterexample, seconds)

namespace {

using Json = nlohmann::json;

// So many equations at once: some 0.3 s of work, beside which a process costs nothing, and few enough that no worker is left alone for long
// at the end.
constexpr std::size_t kBatch = 100;

}  // namespace

std::vector<Proof> prove_all(const Axioms& axioms, const ProofLimits& limits, std::span<const TypedEquation> equations, int processes,
                             const std::function<void(std::size_t)>& progress) {
  Prover prover(axioms, limits);  // the axioms are compiled once: workers inherit them
  const auto prove_batch = [&](std::size_t batch) {
    Json proofs = Json::array();
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
  for (const Json& batch : base::run_workers((equations.size() + kBatch - 1) / kBatch, processes, prove_batch, finished))
    for (const Json& proof : batch) proofs.push_back(proof.get<Proof>());
  return proofs;
}

}  // namespace rules
