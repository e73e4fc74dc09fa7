#pragma once
// What a published rule is worth: implied by the axioms, refuted, or open.

#include <string>
#include <vector>

#include "search/rules/proof/prove.hpp"
#include "search/rules/published/published_rule.hpp"

namespace rules {

struct Compared {
  Verdict verdict = Verdict::open;  // proved: implied
  std::vector<std::string> axioms;  // implied
  std::string why;                  // refuted: the counterexample; open: the reason
};
// Returns `proved` where the axioms prove one of the rule's interpretations, `refuted` where the rule is false as its own file means it.
[[nodiscard]] Compared compare(const PublishedRule& r, Prover& prover);

}  // namespace rules
