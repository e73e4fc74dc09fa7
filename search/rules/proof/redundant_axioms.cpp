#include "search/rules/proof/redundant_axioms.hpp"

#include "search/rules/proof/prove.hpp"

namespace rules {

std::vector<std::string> redundant(const Axioms& axioms) {
  Prover prover(axioms, {});
  std::vector<std::string> names;
  for (std::size_t i = 0; i < axioms.entries.size(); ++i) {
    const AxiomEntry& e = axioms.entries[i];
    prover.leave_out(i);
    bool all = true;
    for (std::size_t a = e.first; a < e.first + e.count && all; ++a) {
      const auto instance = TypedEquation::make(axioms.all[a].equation);
      all = instance && prover.prove(*instance).verdict == Verdict::proved;
    }
    prover.take_back(i);
    if (all) names.push_back(e.name);
  }
  return names;
}

}  // namespace rules
