#pragma once
// Many proofs at once, in child processes.

#include <functional>
#include <span>
#include <vector>

#include "search/rules/proof/prove.hpp"

namespace rules {

// Returns one proof per equation, in order. Each is made by itself (a fresh Prover for each equation would give the same), so that the
// number of processes changes nothing but the time. `progress` is called with how many are done, a hundred at a time; it may be empty.
// Throws: base::InternalError when a process dies.
[[nodiscard]] std::vector<Proof> prove_all(const Axioms& axioms, const ProofLimits& limits, std::span<const TypedEquation> equations,
                                           int processes, const std::function<void(std::size_t done)>& progress);

}  // namespace rules
